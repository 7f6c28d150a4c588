"""The problem `min-vertex`."""

from lagco.problems.min_vertex.env import MinVertex

__all__ = ["MinVertex"]
