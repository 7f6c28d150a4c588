"""Sections about scores."""
