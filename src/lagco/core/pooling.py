"""Poolings: functions from several vectors to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array


@dataclass(frozen=True, repr=False)
class Pooling:
    """A named pooling.

    Called with vectors (k, d), it returns one vector: (d,) for the reductions, (k·d,) for
    `Concat`. Over no vectors at all (k = 0) the reductions give zeros.

    Attributes:
        name: spelling in files and messages.
        reduce: array (k, d) to vector.
        ordered: whether the order of the vectors matters.
    """

    name: str
    reduce: Callable[[Array], Array]
    ordered: bool = False

    def __call__(self, vectors: npt.ArrayLike) -> Array:
        array = np.atleast_2d(np.asarray(vectors, dtype=np.float32))
        if array.shape[0] == 0 and not self.ordered:
            return np.zeros(array.shape[1], dtype=np.float32)
        return self.reduce(array)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles of a named pooling are that pooling."""
        if POOLINGS.get(self.name) is self:
            return _named, (self.name,)
        return Pooling, (self.name, self.reduce, self.ordered)


#: Any callable from (k, d) to a vector of fixed width will do as a pooling.
AnyPooling: TypeAlias = Callable[[Array], Array]

Mean = Pooling("Mean", lambda x: x.mean(axis=0))
Max = Pooling("Max", lambda x: x.max(axis=0))
Min = Pooling("Min", lambda x: x.min(axis=0))
Sum = Pooling("Sum", lambda x: x.sum(axis=0))
#: Sum over the square root of the number of vectors: grows with size, but slowly.
RootSum = Pooling("RootSum", lambda x: x.sum(axis=0) / np.sqrt(np.float32(x.shape[0])))
Concat = Pooling("Concat", lambda x: x.reshape(-1), ordered=True)

POOLINGS: dict[str, Pooling] = {p.name: p for p in (Mean, Max, Min, Sum, RootSum, Concat)}


def spelled_pooling(pooling: AnyPooling) -> str:
    """The name of a pooling in messages."""
    return pooling.name if isinstance(pooling, Pooling) else getattr(pooling, "__name__", "custom")


def _named(name: str) -> Pooling:
    return POOLINGS[name]
