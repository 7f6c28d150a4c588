"""Instances: the data of one decision problem, with references to good solutions."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.results.described import SelfDescribing
from lagco.store import canonical_json
from lagco.store.npy import KINDS

Status = Literal["optimal", "best-known", "bound"]
#: entry of `origin`: checksum of the instance before a question added to it
ASKED = "asked"


@dataclass(frozen=True, eq=False)
class SweepReference:
    """Best and worst values found by the paper's sweeps.

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
    """Value of a solver: proven optimal, the best known, or a bound.

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


class Params(dict[str, Any]):
    """Parameters of an instance; one that is missing is named, with the ones there are."""

    def __init__(self, owner: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        known = ", ".join(self) or "none"
        raise InstanceError(
            f"instance {self._owner} has no params[{name!r}]; it has {known}: add it where the "
            "instance is made, or read it with params.get()"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Params, (self._owner, dict(self))


@dataclass(frozen=True, eq=False, repr=False)
class Instance(SelfDescribing):
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
        if not isinstance(self.size, int | np.integer):
            raise InstanceError(
                f"instance {self.name!r}: size is {self.size!r}; give the whole number of its "
                "decision variables"
            )
        for name, array in self.arrays.items():
            if not isinstance(array, np.ndarray):
                raise InstanceError(
                    f"instance {self.name!r}: array {name!r} is a {type(array).__name__}; give a "
                    "numpy array"
                )
            kind = array.dtype.kind
            if kind not in KINDS or (kind == "f" and array.itemsize > 8):
                what = "Python objects" if array.dtype.hasobject else str(array.dtype)
                raise InstanceError(
                    f"instance {self.name!r}: array {name!r} holds {what}; "
                    "use a numeric or a string dtype"
                )
        params = {k: self._plain(f"params[{k!r}]", v) for k, v in self.params.items()}
        object.__setattr__(self, "params", Params(f"{self.name!r} of {self.problem!r}", params))
        object.__setattr__(self, "arrays", {n: _frozen(a) for n, a in self.arrays.items()})

    def facts(self) -> dict[str, object]:
        """Problem, name, size, and which references it brings."""
        known = [
            kind for kind in ("sweeps", "solver") if getattr(self.references, kind) is not None
        ]
        about = {"problem": self.problem, "name": self.name, "size": self.size}
        return {**about, "references": " and ".join(known) or "none"}

    def _plain(self, where: str, value: Any) -> Any:
        """A JSON value: numpy's numbers become Python's, anything else is refused by name."""
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise InstanceError(
                        f"instance {self.name!r}: {where} has the key {key!r}; use strings"
                    )
            return {k: self._plain(f"{where}[{k!r}]", v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._plain(f"{where}[{i}]", v) for i, v in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            raise InstanceError(f"instance {self.name!r}: {where} is {value}; use finite numbers")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise InstanceError(
            f"instance {self.name!r}: {where} is a {type(value).__name__}, which no file can hold; "
            "use numbers, texts, lists and mappings, and arrays= for arrays"
        )

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

    @property
    def asked(self) -> str:
        """The checksum that solutions are filed under: without what a question adds.

        Another incumbent, and limits of changes, make another instance, but no other solutions.
        """
        return str(self.origin.get(ASKED, self.checksum))

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
