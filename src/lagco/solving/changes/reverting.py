"""Fewer changes for the same objective: elements of an answer put back as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lagco.core.changes.judging import changed_elements, judge
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.solving.portfolio import Found


def with_fewer_changes(
    cls: type[Problem],
    instance: Instance,
    found: Found,
    over: Callable[[], bool] = lambda: False,
) -> Found:
    """A solution as good as another, from which no single change can be taken back.

    Args:
        cls: class of the problem.
        instance: has an incumbent.
        found: solution to begin from.
        over: whether the time is; what was reached until then is the answer.
    """
    best, verdict = found.solution, judge(cls, instance, found.solution)
    again = True
    while again and not over():
        again = False
        for element in changed_elements(cls, instance, best).tolist():
            if over():
                break
            solution = cls.restored(instance, best, element)
            if solution is None:
                continue
            other = judge(cls, instance, solution)
            if other.beats(verdict, maximise=cls.maximise):
                best, verdict, again = solution, other, True
    if np.array_equal(best, found.solution):
        return found
    return replace(found, objective=verdict.objective, solution=best, trace=None)
