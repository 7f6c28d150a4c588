"""The problem `ospf`."""

from lagco.problems.ospf.env import OSPF

__all__ = ["OSPF"]
