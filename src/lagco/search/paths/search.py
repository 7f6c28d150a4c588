"""Nearest (demand, path) action, without listing the paths."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.errors import UsageError
from lagco.search import metrics
from lagco.search.errors import TooManyActions
from lagco.search.metrics import Batch, Floats, Ints, Metric, Neighbours
from lagco.search.paths.graph_paths import PathSet
from lagco.search.paths.scored import ScoredPaths
from lagco.search.plan import Plan
from lagco.search.products.axes import Axes
from lagco.search.products.scored import ScoredProduct
from lagco.search.search import nearest as search_nearest
from lagco.search.search import none_valid, walk
from lagco.search.validity import Predicate

# So few paths are listed once and scored all together; walking is dearer under cosine.
LISTED = {"l2": 2048, "inner": 2048, "cosine": 8192}


class PathSpace:
    """Actions (leading components ..., demand, simple path), scored position by position.

    paths: which paths there are. node_vectors: (n, d), or (T, n, d) with a table per position
    (so that each position can be standardised by itself); missing positions are zero vectors.
    demand_vectors: (demands, d_e) or None. leading: further free components (n_c, d_c), which
    come first in the index rows and in the vector.

    Index rows: (leading indices ..., demand, p_0, ..., p_{T-1}), padded with n; without demands
    the demand column is absent. Vector: leading vectors, demand vector, T node vectors.
    """

    def __init__(
        self,
        paths: PathSet,
        node_vectors: ArrayLike,
        demand_vectors: ArrayLike | None = None,
        leading: Sequence[ArrayLike] = (),
    ) -> None:
        self.paths = paths
        tables = np.asarray(node_vectors)
        if tables.dtype != np.float32:
            tables = tables.astype(np.float64, copy=False)
        expected = (paths.positions, paths.nodes)
        if not (tables.ndim == 2 and tables.shape[0] == paths.nodes) and not (
            tables.ndim == 3 and tables.shape[:2] == expected
        ):
            raise ValueError(
                f"node vectors must have shape ({paths.nodes}, d) or {(*expected, 'd')}, "
                f"not {tables.shape}"
            )
        self.tables = np.ascontiguousarray(tables)
        self.demand_table = (
            None if demand_vectors is None else metrics.as_table(demand_vectors, "demand vectors")
        )
        if self.demand_table is not None and not paths.has_demands:
            raise ValueError("demand vectors need a path set with sources or targets")
        if self.demand_table is not None and len(self.demand_table) != paths.demands:
            raise ValueError(
                f"there are {paths.demands} demands and {len(self.demand_table)} demand vectors"
            )
        self.leading = [
            metrics.as_table(table, f"leading component {c}") for c, table in enumerate(leading)
        ]
        self.node_width = tables.shape[-1]
        self.width = (
            sum(table.shape[1] for table in self.leading)
            + (0 if self.demand_table is None else self.demand_table.shape[1])
            + paths.positions * self.node_width
        )

    def vectors(self, indices: ArrayLike) -> Floats:
        """Vectors (k, width) of index rows (k, m)."""
        rows = np.asarray(indices, np.int64)
        parts = [table[rows[:, c]] for c, table in enumerate(self.leading)]
        at = len(self.leading)
        if self.demand_table is not None:
            parts.append(self.demand_table[rows[:, at]])
        at += self.paths.has_demands
        for t in range(self.paths.positions):
            table = self.tables[t] if self.tables.ndim == 3 else self.tables
            node = rows[:, at + t]
            there = node < self.paths.nodes
            parts.append(np.where(there[:, None], table[np.where(there, node, 0)], 0.0))
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def list(self, cap: int = 2_000_000) -> Ints:
        """All index rows (N, m) in lexicographic order, or `TooManyActions`."""
        rows = self._public(self.paths.list(cap))
        for table in reversed(self.leading):
            if len(rows) * len(table) > cap:
                raise TooManyActions(f"there are more than {cap} actions, the cap for listing")
            first = np.repeat(np.arange(len(table)), len(rows))
            rows = np.column_stack([first, np.tile(rows, (len(table), 1))])
        return rows

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` index rows drawn uniformly over all actions: (count, m)."""
        rows = self._public(self.paths.sample(rng, count))
        lead = [rng.integers(0, len(table), count) for table in self.leading]
        return np.column_stack([*lead, rows])

    def _public(self, rows: Ints) -> Ints:
        return rows if self.paths.has_demands else rows[:, 1:]

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How :meth:`nearest` searches."""
        metrics.check_metric(metric)
        few = LISTED[metric]
        rows = None if self.leading else self.paths.listed(few)
        if rows is not None:
            reason = f"at most {few} paths: listed once, scored all together"
            return Plan("listed", len(rows), reason)
        return Plan(
            "path",
            None,
            "scores add up along a path: layered shortest-path bound, then best simple paths first",
        )

    def nearest(
        self,
        query: ArrayLike,
        k: int = 1,
        metric: Metric = "cosine",
        valid: Predicate | NDArray[np.bool_] | None = None,
    ) -> Neighbours:
        """The k nearest valid actions to `query` (width,), best first.

        valid: None, or a predicate over index rows (k, m) -> (k,) bool, asked late; or a boolean
        array over the rows of `list()`. Raises `NoValidAction`; returns fewer than k where fewer
        are valid.
        """
        metrics.check_metric(metric)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        vector, square = metrics.as_query(query, self.width)
        predicate: Predicate | None
        if valid is None or callable(valid):
            predicate = valid
        else:
            predicate = _listed_validity(self.list(), valid)
        rows = None if self.leading else self.paths.listed(LISTED[metric])
        if rows is not None:
            found, _ = walk(self._listed_order(rows, vector, metric), k, predicate, math.inf)
        else:
            scored = self._score(vector, square, metric)
            if metric == "cosine" and square == 0.0:
                found = search_nearest(scored.flattened(), "inner", k, predicate, None)
            else:
                found = search_nearest(scored, metric, k, predicate, None)
        if not len(found.linear):
            raise none_valid(len(rows) if rows is not None else math.inf)
        return metrics.neighbours(found, metric, square)

    def _score(self, query: Floats, square: float, metric: str) -> ScoredPaths:
        at = 0
        linear: list[Floats] = []
        norms: list[Floats] = []
        for c, table in enumerate(self.leading):
            part = query[at : at + table.shape[1]]
            a, n = metrics.score_table(table, part, metric, f"leading component {c}")
            linear.append(a)
            norms.append(n)
            at += table.shape[1]
        worst = square * (1 + 1e-9) if metric == "cosine" else None
        leading = None
        if linear:
            axes = Axes([len(table) for table in self.leading], {})
            leading = ScoredProduct(axes, linear, norms, [None] * len(linear), worst)
        if self.demand_table is None:
            demand = demand_norms = np.zeros(self.paths.demands)
        else:
            part = query[at : at + self.demand_table.shape[1]]
            demand, demand_norms = metrics.score_table(
                self.demand_table, part, metric, "demand vectors"
            )
            at += self.demand_table.shape[1]
        loops, code = metrics.listed_kernels(), metrics.CODES[metric]
        node, node_norms, check = loops.position_scores(self._stacked, query[at:], code)
        if not math.isfinite(check):
            raise UsageError(
                "node vectors holds values that are not finite; are weights too large?"
            )
        pad = loops.empty_positions(query[at:], self.paths.positions, code)
        return ScoredPaths(self.paths, demand, demand_norms, node, node_norms, pad, leading, worst)

    @property
    def _stacked(self) -> NDArray[Any]:
        """Node vectors per position: (T, n, d)."""
        if self.tables.ndim == 3:
            return self.tables
        return np.stack([self.tables] * self.paths.positions)

    def _listed_order(
        self, rows: Ints, query: Floats, metric: str
    ) -> Callable[[int], tuple[Batch, Floats]]:
        tables, code, public = self._stacked, metrics.CODES[metric], self.paths.has_demands
        demands = self.demand_table
        if demands is None:
            demands = np.zeros((self.paths.demands, 0), tables.dtype)

        loops = metrics.listed_kernels()
        linear, norms, costs, check = loops.score_rows(rows, demands, tables, query, code)
        if not math.isfinite(check):
            self._score(query, 0.0, metric)  # says where

        def order(count: int) -> tuple[Batch, Floats]:
            which = loops.least(costs, count)
            found = rows[which] if public else rows[which, 1:]
            return Batch(found, linear[which], norms[which]), costs[which]

        return order


def _listed_validity(rows: Ints, mask: NDArray[np.bool_]) -> Predicate:
    if np.shape(mask) != (len(rows),) or np.asarray(mask).dtype != np.bool_:
        raise ValueError(f"a validity array over paths must hold {len(rows)} booleans")
    # Rows compare as byte strings once their integers are big-endian.
    keys = np.ascontiguousarray(rows, ">i8").view(f"V{8 * rows.shape[1]}").ravel()

    def test(indices: Ints) -> NDArray[np.bool_]:
        asked = np.ascontiguousarray(indices, ">i8").view(f"V{8 * rows.shape[1]}").ravel()
        return np.asarray(mask)[np.searchsorted(keys, asked)]

    return test
