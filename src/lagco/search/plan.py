"""The interface of a set of actions that is searched, and how the search is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lagco.search.metrics import Floats, Ints, Metric, Neighbours
from lagco.search.validity import Predicate


@dataclass(frozen=True)
class Plan:
    """search: the method; actions: how many there are, None where counting would mean walking
    them; reason: why this method, in a sentence."""

    search: Literal["flat", "faiss", "listed", "product", "pooled-list", "path", "subgraph"]
    actions: int | None
    reason: str


class Space(Protocol):
    """Actions as index rows (k, m) with a vector each; a class per structure.

    width: of the vectors.
    """

    width: int

    def vectors(self, indices: ArrayLike) -> Floats:
        """Vectors (k, width) of index rows (k, m)."""
        ...

    def list(self, cap: int = ...) -> Ints:
        """All index rows (N, m) in lexicographic order, or `TooManyActions` beyond the cap."""
        ...

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` index rows drawn at random: (count, m)."""
        ...

    def nearest(
        self,
        query: ArrayLike,
        k: int = 1,
        metric: Metric = "cosine",
        valid: Predicate | None = None,
    ) -> Neighbours:
        """The k nearest valid actions to `query` (width,), best first; `valid` is asked late."""
        ...

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How :meth:`nearest` searches under a metric."""
        ...
