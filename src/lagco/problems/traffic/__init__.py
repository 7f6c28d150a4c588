"""The problem `traffic`."""

from lagco.problems.traffic.env import Traffic

__all__ = ["Traffic"]
