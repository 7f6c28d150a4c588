"""The problem `max-cut`."""

from lagco.problems.max_cut.env import MaxCut

__all__ = ["MaxCut"]
