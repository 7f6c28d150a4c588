"""Figures of results: gaps, first and best of several episodes, summaries, statistics."""
