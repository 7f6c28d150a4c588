"""Answers of lagco beside those of solvers by others, at equal time."""
