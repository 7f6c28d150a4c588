"""Incumbents, budgets of changes, fixed and allowed elements."""

from lagco.core.changes.judging import Change, Verdict, changes_of, evaluated, judge
from lagco.core.changes.limits import FIXED, MAX_CHANGES, Limits, incumbent_of, is_limited
from lagco.core.changes.ordering import Plan

__all__ = [
    "FIXED",
    "MAX_CHANGES",
    "Change",
    "Limits",
    "Plan",
    "Verdict",
    "changes_of",
    "evaluated",
    "incumbent_of",
    "is_limited",
    "judge",
]
