"""Observations and actions of fixed width for problems of different sizes."""
