"""Decisions weighed from scratch, apart from the code that found them."""

from __future__ import annotations

from typing import Any, NamedTuple

from lagco.arrays import Array
from lagco.core.changes import Verdict, incumbent_of, judge
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.live.records import written_rows


class Outcome(NamedTuple):
    """What a decision is worth.

    Attributes:
        incumbent: the configuration in force before it.
        held: what that is worth.
        after: what is in force after it is worth: the decision, or the incumbent.
        rows: rows of the configuration that it writes, with their values; none where it is not put
            in force.
        refused: why it is not put in force; empty where it is, or where there is none.
    """

    incumbent: Array
    held: Verdict
    after: Verdict
    rows: tuple[tuple[int, Any], ...] = ()
    refused: str = ""


def weighed(cls: type[Problem], instance: Instance, solution: Any) -> Outcome:
    """What a decision on an instance is worth, compared with changing nothing.

    Args:
        cls: class of the problem.
        instance: with the configuration in force.
        solution: what was decided on; None to leave all as it is.
    """
    incumbent = incumbent_of(cls, instance)
    assert incumbent is not None
    held = judge(cls, instance, incumbent)
    if solution is None:
        return Outcome(incumbent, held, held)
    if getattr(solution, "shape", None) != incumbent.shape:
        return Outcome(incumbent, held, held, refused="not a configuration of the instance")
    if (solution == incumbent).all():
        return Outcome(incumbent, held, held)
    verdict = judge(cls, instance, solution)
    if verdict.faults and len(verdict.faults) > len(held.faults):
        return Outcome(incumbent, held, held, refused=verdict.faults[0])
    if not verdict.beats(held, maximise=cls.maximise):
        return Outcome(incumbent, held, held, refused="no better than to hold")
    return Outcome(incumbent, held, verdict, written_rows(incumbent, solution))
