"""Limits of covers: nodes that are in or out, a budget of changes, and search within it."""
