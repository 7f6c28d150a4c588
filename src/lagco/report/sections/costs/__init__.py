"""Sections about time."""
