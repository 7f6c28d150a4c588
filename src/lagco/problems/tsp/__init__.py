"""The problem `tsp`."""

from lagco.problems.tsp.env import TSP

__all__ = ["TSP"]
