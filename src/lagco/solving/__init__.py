"""Answering instances within a time: a portfolio of searches, an agent, a policy or the solver."""

from lagco.solving.answer import Answer
from lagco.solving.instance import solve
from lagco.solving.options import SolveOptions

__all__ = ["Answer", "SolveOptions", "solve"]
