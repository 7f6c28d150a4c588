"""Solutions judged from scratch: what they break, what they are worth, what they change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import Limits, incumbent_of, same
from lagco.errors import LagcoError, UsageError
from lagco.instances import Instance
from lagco.results.measures import improvement
from lagco.results.numbers import of_things

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: differences of objectives up to this share are rounding
_ROUNDING = 1e-12


class Change(NamedTuple):
    """An element of a solution that differs from the incumbent's.

    Attributes:
        element: its number.
        name: as in the instance's file.
        before: value in the incumbent, as plain text.
        after: value in the solution.
    """

    element: int
    name: str
    before: str
    after: str


class Verdict(NamedTuple):
    """Merit of a solution: fewer faults first, then the objective, then fewer changes.

    Attributes:
        faults: what it breaks, by name.
        objective: of the solution.
        changes: elements that differ from the incumbent; 0 without one.
        refused: whether it is inadmissible: it changes fixed elements, exceeds the budget, moves an
            element away from its allowed values, or is no solution.
    """

    faults: tuple[str, ...]
    objective: float
    changes: int
    refused: bool = False

    def beats(self, other: Verdict, *, maximise: bool) -> bool:
        """Whether it is strictly better than another."""
        if self.refused != other.refused:
            return other.refused
        if len(self.faults) != len(other.faults):
            return len(self.faults) < len(other.faults)
        gain = 0.0
        if self.objective != other.objective:  # which may both be infinite
            gain = improvement(self.objective, other.objective, maximise=maximise)
        if abs(gain) > _ROUNDING * max(abs(self.objective), abs(other.objective)):
            return gain > 0.0
        return self.changes < other.changes


def judge(cls: type[Problem], instance: Instance, solution: Array) -> Verdict:
    """Judge a solution from scratch, by its problem's functions on whole solutions.

    If the problem refuses to evaluate it, that is a fault, with the worst possible objective.
    """
    try:
        objective = evaluated(cls, instance, solution)
        soft, hard = _faults(cls, instance, solution)
        changes = len(changed_elements(cls, instance, solution))
    except LagcoError as error:
        worst = -math.inf if cls.maximise else math.inf
        return Verdict((str(error),), worst, 0, refused=True)
    return Verdict((*soft, *hard), objective, changes, refused=bool(hard))


def evaluated(cls: type[Problem], instance: Instance, solution: Array) -> float:
    """Objective of a solution from scratch: by the problem's function, else in its state."""
    if cls.defines("evaluate_solution"):
        return float(cls.evaluate_solution(instance, solution))
    env = cls(instance, rewards=False)
    env.show(solution)
    if not np.array_equal(env.solution(), solution):
        raise UsageError(
            f"{cls.__name__} does not begin at a solution given as start; define "
            "evaluate_solution(cls, instance, solution)"
        )
    return float(env.recompute_objective())


def changed_elements(cls: type[Problem], instance: Instance, solution: Array) -> Array:
    """Numbers of the elements that differ from the incumbent's; none without an incumbent."""
    incumbent = incumbent_of(cls, instance)
    if incumbent is None:
        return np.zeros(0, dtype=np.int64)
    now, before = cls.elements(instance, solution), cls.elements(instance, incumbent)
    if now.shape != before.shape:
        raise UsageError(
            f"{cls.__name__}.elements() has shape {now.shape} for a solution and {before.shape} "
            "for the incumbent; give every element its place in both"
        )
    return np.flatnonzero(~same(now, before))


def changes_of(cls: type[Problem], instance: Instance, solution: Array) -> list[Change]:
    """What a solution changes, by name."""
    incumbent = incumbent_of(cls, instance)
    if incumbent is None:
        return []
    changed = changed_elements(cls, instance, solution)
    names = cls.element_names(instance)
    now, before = cls.elements(instance, solution), cls.elements(instance, incumbent)
    shown = cls.value_text
    return [
        Change(e, names[e], shown(instance, e, before[e]), shown(instance, e, now[e]))
        for e in changed.tolist()
    ]


def _faults(cls: type[Problem], instance: Instance, solution: Array) -> tuple[list[str], list[str]]:
    """What a solution breaks, by name: what an incumbent may break too, and what no answer may."""
    found: list[str] = list(cls.faults(instance, solution))
    refused: list[str] = []
    limits = Limits.of(cls, instance)
    if limits is None:
        return found, refused
    values: Any = cls.elements(instance, solution)
    names = cls.element_names(instance)
    everything = np.arange(len(values))
    excess = cls.excess(instance, everything, values)
    outside = excess > 0.0
    worse = np.zeros(len(values), dtype=bool)
    if limits.before is not None:
        moved = ~same(values, limits.before)
        worse = outside & moved & (excess >= cls.excess(instance, everything, limits.before))
    for element in np.flatnonzero(outside).tolist():
        shown = cls.value_text(instance, element, values[element])
        (refused if worse[element] else found).append(f"{names[element]}: {shown} is not allowed")
    if limits.before is None or limits.fixed is None:
        return found, refused
    refused += [
        f"{names[e]}: may not change" for e in np.flatnonzero(limits.fixed & moved).tolist()
    ]
    count = int(moved.sum())
    if limits.most is not None and count > limits.most:
        refused.append(f"{of_things(count, 'changes')}, at most {limits.most} allowed")
    return found, refused
