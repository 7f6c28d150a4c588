"""Routing by link weights."""
