"""Scores and tables of a study."""
