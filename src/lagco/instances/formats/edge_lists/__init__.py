"""Graphs as lists of edges."""
