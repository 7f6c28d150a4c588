"""Observation of a budget of changes, with the feature set `budget`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.changes.limits import Limits, same

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: name of the part of an observation
BUDGET = "budget"
#: what a ranker sees of a candidate in addition
COLUMNS = Columns(
    budgeted="there is a budget of changes",
    changes_left="changes that are left, over the budget",
    next_changes="the same on a logarithmic scale, 1 for 10 changes",
    changed="the element differs from the incumbent's already",
    costs="changes that the action adds: -1, 0 or 1",
)
_MANY = math.log1p(10.0)


def budget_shares(problem: Problem) -> tuple[float, float]:
    """Changes that are left: over the budget, and on a logarithmic scale; 1 without a budget."""
    left, most = problem.changes_left()
    return _share(left, most), _scaled(left)


def budget_columns(problem: Problem, actions: Array) -> Array:
    """`COLUMNS` of raw actions (k,) or (k, m): float32 (k, 5)."""
    records = COLUMNS.records(len(actions))
    records["budgeted"] = problem.changes_left()[1] is not None
    records["changes_left"], records["next_changes"] = budget_shares(problem)
    limits: Limits | None = problem.limits
    if limits is not None and limits.before is not None:
        elements, values = problem.set_by(np.asarray(actions))
        changed = ~same(problem.present_elements()[elements], limits.before[elements])
        records["changed"] = changed
        records["costs"] = (~same(values, limits.before[elements])).astype(int) - changed
    return COLUMNS.matrix(records)


def _share(left: int | None, most: int | None) -> float:
    return 1.0 if left is None or most is None else max(left, 0) / max(most, 1)


def _scaled(left: int | None) -> float:
    return 1.0 if left is None else min(1.0, math.log1p(max(left, 0)) / _MANY)
