"""Declaration of the arrays and parameters of instances, checked when a file is read.

Lengths are numbers or names. A name stands for one length throughout the instance: ``size`` is that
of the instance, the name of a whole-number parameter (``nodes``) is its value, and any other is the
length of the first axis that has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.instance import Instance
from lagco.problem_table import ENTRIES
from lagco.store import Mismatch, Schema, check

#: numbers beyond it are refused, so that sums and products stay finite
MAX_NUMBER = 1e15
_KINDS = {"integer": "iu", "number": "biuf", "text": "U"}
_STATUSES = ("optimal", "best-known", "bound")


@dataclass(frozen=True)
class ArrayForm:
    """Declared type, shape and bounds of an array.

    Attributes:
        kind: ``integer``, ``number`` (finite, at most 1e15) or ``text``.
        shape: length of every axis: a number, a name, or None for any.
        low: no number is smaller.
        below: numbers are smaller than it, a number or a name.
        optional: whether an instance may lack it.
    """

    kind: Literal["integer", "number", "text"]
    shape: tuple[int | str | None, ...]
    low: float | None = None
    below: int | str | None = None
    optional: bool = False


@dataclass(frozen=True)
class InstanceForm:
    """Declared arrays and parameters of the instances of a problem; others may be anything.

    Attributes:
        arrays: by name.
        params: JSON schema of the parameters.
        solution: the form of a configuration, as references carry it.
    """

    arrays: Mapping[str, ArrayForm] = field(default_factory=dict)
    params: Schema = field(default_factory=dict)
    solution: ArrayForm | None = None

    def check(self, instance: Instance) -> None:
        """Raise an :class:`InstanceError` that names what does not fit."""
        who = f"instance {instance.name!r}"
        try:
            check(dict(instance.params), self.params)
        except Mismatch as error:
            place = ".".join(["params", *map(str, error.path)])
            raise InstanceError(f"{who}: {place} {error.reason}") from None
        lengths = {k: v for k, v in instance.params.items() if type(v) is int}
        lengths["size"] = instance.size
        for name, form in self.arrays.items():
            if name in instance.arrays or not form.optional:
                _check_array(f"{who}: {name}", instance.array(name), form, lengths)
        self._check_references(who, instance, lengths)

    def _check_references(self, who: str, instance: Instance, lengths: dict[str, int]) -> None:
        sweeps, solver = instance.references.sweeps, instance.references.solver
        values: dict[str, float] = {}
        solutions: dict[str, Array | None] = {}
        if sweeps is not None:
            values |= {"best": sweeps.best, "worst": sweeps.worst}
            for name, (low, high) in sweeps.bounds.items():
                values |= {f"lower bound of {name}": low, f"upper bound of {name}": high}
            solutions |= {"best": sweeps.best_solution, "worst": sweeps.worst_solution}
        if solver is not None:
            if solver.status not in _STATUSES:
                raise InstanceError(
                    f"{who}: the solver's status is {solver.status!r}, none of "
                    f"{', '.join(_STATUSES)}"
                )
            values["solver's value"] = solver.value
            solutions["solver's"] = solver.solution
        for name, value in values.items():
            if not math.isfinite(value):
                raise InstanceError(f"{who}: the {name} of its references is {value}")
        for name, solution in solutions.items():
            if solution is not None and self.solution is not None:
                owner = f"{who}: the {name} solution of its references"
                _check_array(owner, solution, self.solution, dict(lengths))


def declared_form(problem: str) -> InstanceForm:
    """Declared contents of the instances of a registered problem; for others, no restriction.

    A problem of one's own checks its instances when it is given one: what a file names is never
    imported.
    """
    entry = ENTRIES.get(problem)
    form: InstanceForm = InstanceForm() if entry is None else entry.load().form
    return form


def _check_array(owner: str, array: Array, form: ArrayForm, lengths: dict[str, int]) -> None:
    fits = array.ndim == len(form.shape)
    for length, wanted in zip(array.shape, form.shape, strict=False):
        if isinstance(wanted, str):
            wanted = lengths.setdefault(wanted, length)
        fits = fits and wanted in (None, length)
    if not fits:
        known: dict[int | str | None, int | str] = {None: "any"}
        known.update(lengths)
        spelled = ", ".join(str(known.get(part, part)) for part in form.shape)
        raise InstanceError(f"{owner} has shape {array.shape}, expected ({spelled})")
    if not array.size:
        return
    if array.dtype.kind not in _KINDS[form.kind]:
        raise InstanceError(f"{owner} holds {array.dtype}, expected {form.kind}s")
    if form.kind == "text":
        return
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InstanceError(f"{owner} has a value that is not a finite number")
    if max(-float(low), float(high)) > MAX_NUMBER:
        raise InstanceError(f"{owner} holds {low} to {high}, numbers reach {MAX_NUMBER:g}")
    if form.low is not None and low < form.low:
        raise InstanceError(f"{owner} holds {low}, the smallest allowed is {form.low:g}")
    below = lengths.get(form.below) if isinstance(form.below, str) else form.below
    if below is not None and high >= below:
        raise InstanceError(f"{owner} holds {high}, the largest allowed is {below - 1}")
