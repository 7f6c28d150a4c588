"""Nearest action in a list of vectors."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lagco.search import metrics
from lagco.search.metrics import Batch, Floats, Ints, Metric, Neighbours
from lagco.search.plan import Plan
from lagco.search.products.search import ProductSpace
from lagco.search.search import none_valid, walk
from lagco.search.validity import Validity, as_predicate

Backend = Literal["auto", "product", "faiss"]
BACKENDS = ("auto", "product", "faiss")


class FlatSpace:
    """Listed actions: vectors (N, d), action i is the index tuple (i,).

    backend: "product" multiplies the table with the query (compiled, no copy); "faiss" keeps a
    flat FAISS index, built at the first query per metric; "auto" is the product, because vectors
    that change at every step would need a new index each time, and query plus build was slower
    at every size tried (10^2 to 10^6 rows of width 16 or 32, to 10^5 of 128, one thread).
    An index that is kept can be the faster one for some sizes: measure before choosing it.
    Answers are the same, candidates of the index are scored again in double precision.
    """

    def __init__(self, vectors: ArrayLike, backend: Backend = "auto") -> None:
        if backend not in BACKENDS:
            close = difflib.get_close_matches(str(backend), BACKENDS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"unknown backend {backend!r}: one of {', '.join(BACKENDS)}{hint}")
        self._product = ProductSpace([vectors])
        self.table = self._product.tables[0]
        self.width = self._product.width
        self.backend = backend
        self._indices: dict[str, Any] = {}
        self._largest = 0.0

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.table)

    def vectors(self, indices: ArrayLike) -> Floats:
        """Vectors (k, d) of index tuples (k, 1)."""
        return self._product.vectors(indices)

    def list(self, cap: int | None = None) -> Ints:
        """All index tuples (N, 1)."""
        return self._product.list(self.size if cap is None else cap)

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` index tuples drawn uniformly: (count, 1)."""
        return self._product.sample(rng, count)

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How :meth:`nearest` searches."""
        metrics.check_metric(metric)
        if self.backend == "faiss":
            return Plan("faiss", self.size, "the faiss backend was asked for")
        return Plan("flat", self.size, "the actions are listed: one product with the table")

    def nearest(
        self, query: ArrayLike, k: int = 1, metric: Metric = "cosine", valid: Validity = None
    ) -> Neighbours:
        """The k nearest valid actions to `query` (d,), best first.

        valid: None, a boolean array (N,), or a predicate over index tuples (k, 1) -> (k,) bool.
        """
        if self.backend != "faiss" or not self.size:
            return self._product.nearest(query, k, metric, valid)
        metrics.check_metric(metric)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        vector, square = metrics.as_query(query, self.width)
        predicate = as_predicate(valid, (self.size,))
        found, _ = walk(self._order(vector, metric), k, predicate, math.inf)
        if not len(found.linear):
            raise none_valid(self.size)
        return metrics.neighbours(found, metric, square)

    def _order(self, query: Floats, metric: str) -> Callable[[int], tuple[Batch, Floats]]:
        index = self._index(metric)
        single = query.astype(np.float32)[None]
        length = math.sqrt(float(query @ query))
        # Worst rounding of a single-precision sum of d products, with some room.
        error = 4 * (self.width + 4) * 2.0**-24

        def order(count: int) -> tuple[Batch, Floats]:
            asked = min(count + 8, self.size)
            while True:
                values, found = index.search(single, asked)
                rows = found[0][found[0] >= 0].astype(np.int64)
                part = np.ascontiguousarray(self.table[rows])
                linear, norms = metrics.score_table(part, query, metric)
                batch = Batch(rows[:, None], linear, norms)
                kept, cost = metrics.best(batch, metric, count)
                edge = float(values[0, -1])
                if metric == "l2":
                    unseen = edge - error * (length + self._largest) ** 2
                elif metric == "inner":
                    unseen = -edge - error * length * self._largest
                else:
                    unseen = -edge - error * length
                    unseen *= abs(unseen)
                if asked == self.size or (len(cost) == count and cost[-1] < unseen):
                    return kept, cost
                asked = min(asked * 4, self.size)

        return order

    def _index(self, metric: str) -> Any:
        if metric not in self._indices:
            try:
                import faiss  # type: ignore[import-untyped, unused-ignore]
            except ImportError as missing:
                raise ImportError(
                    "the faiss backend needs the faiss-cpu package; install it, or use "
                    "backend='product'"
                ) from missing
            rows = self.table.astype(np.float32)
            norms = np.linalg.norm(rows.astype(np.float64), axis=1)
            self._largest = float(norms.max(initial=0.0))
            if metric == "cosine":
                rows = (rows / np.where(norms > 0, norms, 1.0)[:, None]).astype(np.float32)
            index = (
                faiss.IndexFlatL2(self.width) if metric == "l2" else faiss.IndexFlatIP(self.width)
            )
            index.add(rows)
            self._indices[metric] = index
        return self._indices[metric]
