"""The conformance kit: all requirements on a problem, tested on whole episodes."""

from lagco.core.checker.finding import Finding
from lagco.core.checker.rules import check_rules

__all__ = ["Finding", "check_rules"]
