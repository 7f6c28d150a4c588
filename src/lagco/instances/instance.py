"""An instance: the data of one problem to decide on, and what is known about good answers to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.store import canonical_json
from lagco.store.npy import KINDS

Status = Literal["optimal", "best-known", "bound"]


@dataclass(frozen=True, eq=False)
class SweepReference:
    """What the heuristic sweeps of the paper found.

    Attributes:
        best: objective of the best configuration seen; score 1.
        worst: objective of the worst one (or the problem's plain worst case); score 0.
        best_solution: that configuration, in the problem's own form; None where there is none.
        worst_solution: likewise.
        sweeps: how many sweeps were made.
        bounds: lowest and highest value of each term, for problems with terms.
    """

    best: float
    worst: float
    best_solution: Array | None
    worst_solution: Array | None
    sweeps: int
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SolverReference:
    """What a solver says: the best value known, proven, or a bound on it.

    Attributes:
        value: the objective.
        status: ``optimal`` (proven), ``best-known`` or ``bound`` (nothing can be better).
        solver: which solver.
        solution: the configuration, None for a bound.
    """

    value: float
    status: Status
    solver: str
    solution: Array | None = None


@dataclass(frozen=True)
class References:
    """References of one instance; None for those that were not computed."""

    sweeps: SweepReference | None = None
    solver: SolverReference | None = None


@dataclass(frozen=True, eq=False)
class Instance:
    """One instance of a problem.

    Attributes:
        problem: name of the problem, for instance ``"tsp"`` or ``"module:Class"``.
        name: what people call it.
        size: number of decision variables (cities, nodes, VMs, links, demands, hosts).
        arrays: the data, one array per name; read-only, writable ones are copied.
        params: scalars that belong to the data (JSON values).
        references: what is known about good and bad answers.
        origin: where it comes from (generator, seed, index; or a file). No part of its identity.
    """

    problem: str
    name: str
    size: int
    arrays: Mapping[str, Array]
    params: Mapping[str, Any] = field(default_factory=dict)
    references: References = field(default_factory=References)
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            kind = array.dtype.kind
            if kind not in KINDS or (kind == "f" and array.itemsize > 8):
                what = "Python objects" if array.dtype.hasobject else str(array.dtype)
                raise InstanceError(
                    f"instance {self.name!r}: array {name!r} holds {what}; "
                    "use a numeric or a string dtype"
                )
        object.__setattr__(self, "arrays", {n: _frozen(a) for n, a in self.arrays.items()})

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of problem, parameters and arrays: the identity of the data.

        Name, origin and references do not count, so that an instance is recognised wherever it
        comes from and whatever is known about it.
        """
        digest = hashlib.sha256(canonical_json([self.problem, dict(self.params)]).encode())
        for name in sorted(self.arrays):
            array = np.ascontiguousarray(self.arrays[name])
            digest.update(canonical_json([name, array.dtype.str, list(array.shape)]).encode())
            digest.update(array.tobytes())
        return digest.hexdigest()

    def with_references(self, references: References) -> Instance:
        """The same instance with other references."""
        return replace(self, references=references)

    def array(self, name: str) -> Array:
        """The array of that name, or an error that lists the ones there are."""
        try:
            return self.arrays[name]
        except KeyError:
            known = ", ".join(sorted(self.arrays)) or "none"
            raise InstanceError(
                f"instance {self.name!r} of {self.problem!r} has no array {name!r}; it has {known}"
            ) from None


def _frozen(array: Array) -> Array:
    """The array, read-only: a copy if it was not."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array
