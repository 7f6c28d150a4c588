"""Nearest actions in products of components."""
