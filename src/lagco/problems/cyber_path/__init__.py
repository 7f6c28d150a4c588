"""The problem `cyber-path`."""

from lagco.problems.cyber_path.env import CyberPath

__all__ = ["CyberPath"]
