"""The problem `placement`."""

from lagco.problems.placement.env import Placement

__all__ = ["Placement"]
