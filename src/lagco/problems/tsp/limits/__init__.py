"""Limits of tours: what may not change, what may come next, and search that keeps to it."""
