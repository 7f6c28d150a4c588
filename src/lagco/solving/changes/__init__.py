"""Answers beside what runs now: the incumbent, limits from options, fewer changes, trade-offs."""
