"""Nearest actions among simple paths."""
