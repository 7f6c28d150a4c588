"""Starts by name, and references of an instance by name."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lagco.errors import UsageError, suggest
from lagco.instances import Instance, References
from lagco.results.measures import improvement

if TYPE_CHECKING:
    from lagco.core.problem import Problem

STARTS = ("worst", "current", "default")


def named_start(start: Any) -> str:
    """`start` if it is one of the three names, or an error that lists them."""
    if isinstance(start, str) and start in STARTS:
        return start
    raise UsageError(suggest("start", start, STARTS))


def configured_start(instance: Instance, start: Any, current: str) -> Any:
    """The configuration of a start; None for the problem's default.

    Args:
        instance: holds the sweeps' worst configuration, and the one in its array `current`.
        start: a name, or a configuration, which is returned.
        current: name of that array.
    """
    if not isinstance(start, str):
        return start
    if named_start(start) == "worst":
        sweeps = instance.references.sweeps
        return None if sweeps is None else sweeps.worst_solution
    return instance.arrays.get(current) if start == "current" else None


def misplaced_reference(cls: type[Problem], references: References) -> tuple[str, str] | None:
    """Fault of the references of a problem, and the remedy; None if they are right."""
    sweeps, solver = references.sweeps, references.solver
    values = {"best": sweeps.best, "worst": sweeps.worst} if sweeps is not None else {}
    values |= {"value": solver.value} if solver is not None else {}
    for name, value in values.items():
        if not math.isfinite(value):
            return f"has {name}={value}", "use finite numbers"
    if sweeps is None or improvement(sweeps.best, sweeps.worst, maximise=cls.maximise) >= 0:
        return None
    return (
        f"has best={sweeps.best:.6g} and worst={sweeps.worst:.6g}, which is better with "
        f"{cls.__name__}.maximise = {cls.maximise}",
        f"set maximise = {not cls.maximise}, or exchange the two",
    )


def reference_value(references: References, reference: str) -> float | None:
    """Best objective of the reference of that name, None where it is missing."""
    if reference == "sweeps":
        return None if references.sweeps is None else references.sweeps.best
    if reference == "solver":
        return None if references.solver is None else references.solver.value
    raise UsageError(suggest("reference", reference, ["sweeps", "solver"]))
