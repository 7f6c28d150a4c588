"""Paths seen from one query."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lagco.search import metrics
from lagco.search.errors import TooManyActions
from lagco.search.metrics import Batch, Floats, Ints
from lagco.search.ordered import Bound
from lagco.search.paths.graph_paths import PathSet, path_kernels
from lagco.search.products.scored import ScoredProduct

LEADING_CAP = 2_000_000  # most combinations of leading components that a sweep lists


class ScoredPaths:
    """Paths (with demand and leading components) seen from one query.

    units: the (demand, source) pairs that are still looked at, see `path_kernels`.
    demand, demand_norms: (demands,); node, node_norms: (T, n); pad (T + 1,): linear part of the
    empty positions from i on.
    """

    def __init__(
        self,
        paths: PathSet,
        demand: Floats,
        demand_norms: Floats,
        node: Floats,
        node_norms: Floats,
        pad: Floats,
        leading: ScoredProduct | None,
        worst: float | None,
        units: Ints | None = None,
        total: float = math.inf,
    ) -> None:
        self.paths = paths
        self.demand, self.demand_norms = demand, demand_norms
        self.node, self.node_norms = node, node_norms
        self.pad = pad
        self.leading = leading
        self._worst = worst
        self.units = paths.units if units is None else units
        self.total = total
        self.columns = (leading.columns if leading else 0) + paths.has_demands + paths.positions
        self._no_pad = np.zeros_like(pad)

    @property
    def scale(self) -> float:
        own = np.abs(self.demand).max(initial=0.0) + np.abs(self.node).max(1).sum() + self.pad[0]
        return float(own) + (self.leading.scale if self.leading else 0.0)

    @property
    def worst(self) -> float:
        return self.scale if self._worst is None else self._worst

    def flattened(self) -> ScoredPaths:
        """The same actions with nothing to tell them apart but their indices."""
        nothing = None
        if self.leading:
            zeros = [np.zeros_like(part) for part in self.leading.linear]
            nothing = ScoredProduct(self.leading.axes, zeros, zeros, self.leading.elements, 0.0)
        none, empty = np.zeros_like(self.demand), np.zeros_like(self.node)
        return ScoredPaths(self.paths, none, none, empty, empty, self._no_pad, nothing, 0.0)

    def norm_range(self) -> tuple[float, float]:
        low = float(self.demand_norms.min(initial=np.inf))
        high = float(self.demand_norms.max(initial=0.0) + self.node_norms.max(1).sum())
        low = 0.0 if low == np.inf else low + float(self.node_norms[0].min())
        if self.leading:
            a, b = self.leading.norm_range()
            low, high = low + a, high + b
        return low, high

    def batch(self, rows: Ints) -> Batch:
        """Rows (k, 1 + T) of the path set as a batch, without leading components."""
        sums = path_kernels().path_sums
        linear = sums(rows, self.node, self.pad, self.demand)
        norms = sums(rows, self.node_norms, self._no_pad, self.demand_norms)
        return Batch(rows if self.paths.has_demands else rows[:, 1:], linear, norms)

    def _weights(self, slope: float) -> tuple[Floats, Floats]:
        if slope == 0.0:
            return self.node, self.demand
        return self.node + slope * self.node_norms, self.demand + slope * self.demand_norms

    def _bounds(self, weight: Floats, lead: Floats) -> Floats:
        paths = self.paths
        bound: Floats = path_kernels().unit_bounds(
            weight, self.pad, lead, paths.offsets, paths.heads, paths.min_len, self.units
        )
        return bound

    def _slack(self, slope: float) -> float:
        return 1e-12 * (self.scale + abs(slope) * self.norm_range()[1])

    def top(self, slope: float, count: int) -> Batch:
        weight, lead = self._weights(slope)
        paths = self.paths
        rows, cost = path_kernels().best_paths(
            weight, self.pad, lead, paths.offsets, paths.heads, paths.min_len, self.units,
            self._bounds(weight, lead), count, self._slack(slope),
        )  # fmt: skip
        order = np.lexsort((*rows.T[::-1], cost))
        rows, cost = rows[order], cost[order]
        batch = self.batch(rows)
        if self.leading is None:
            return batch
        first = self.leading.top(slope, count)
        first_cost = first.linear + slope * first.norms if slope else first.linear
        span = max(len(rows), 1)
        i, j, _, _ = metrics.kernels().merge_sums(
            first_cost, _ranks(first.indices) * span, cost, _ranks(rows), count
        )
        return _joined(metrics.take(first, i), metrics.take(batch, j))

    def restrict(self, slope: float, limit: float, low: float, high: float) -> ScoredPaths | None:
        weight, lead = self._weights(slope)
        bounds = self._bounds(weight, lead)
        first = 0.0
        if self.leading:
            one = self.leading.top(slope, 1)
            first = float(one.linear[0] + slope * one.norms[0])
        units = self.units[bounds + first <= limit]
        if not len(units):
            return None
        # A few hundred paths below the limit per demand that reaches it: a guess that only
        # decides whether bands are halved further.
        guess = 300.0 * len(units) * (self.leading.total if self.leading else 1.0)
        return ScoredPaths(
            self.paths, self.demand, self.demand_norms, self.node, self.node_norms,
            self.pad, self.leading, self._worst, units, guess,
        )  # fmt: skip

    def capped(self, count: int) -> ScoredPaths:
        return self

    def stream(
        self, slope: float, limit: Bound, floor: float, low: float, high: float
    ) -> Iterator[Batch]:
        weight, lead = self._weights(slope)
        slack = self._slack(slope)
        everything = low == -math.inf and high == math.inf
        if self.leading is None:
            for rows in self.paths.stream(
                weight, self.pad, lead, self.units, lambda: limit.value, slack, floor
            ):
                batch = self.batch(rows)
                if not everything:
                    batch = metrics.take(batch, (batch.norms >= low) & (batch.norms < high))
                yield batch
            return
        first = self._all_leading(slope)
        first_cost = first.linear + slope * first.norms if slope else first.linear
        least = float(first_cost[0])
        for rows in self.paths.stream(
            weight,
            self.pad,
            lead,
            self.units,
            lambda: limit.value - least + slack,
            slack,
            -math.inf,
        ):
            batch = self.batch(rows)
            cost = batch.linear + slope * batch.norms if slope else batch.linear
            stop = np.searchsorted(first_cost, limit.value - cost + slack, side="right")
            start = np.searchsorted(first_cost, floor - cost - slack)
            for part in _expanded(first, batch, start, stop):
                total = part.linear + slope * part.norms if slope else part.linear
                keep = (total <= limit.value) & (total >= floor)
                yield metrics.take(part, keep & (part.norms >= low) & (part.norms < high))

    def _all_leading(self, slope: float) -> Batch:
        if self.leading is None or self.leading.total > LEADING_CAP:
            raise TooManyActions(
                f"the components before the path have more than {LEADING_CAP} combinations"
            )
        return self.leading.top(slope, int(self.leading.total))


def _ranks(rows: Ints) -> Ints:
    """Lexicographic rank of each row."""
    ranks = np.empty(len(rows), np.int64)
    ranks[np.lexsort(rows.T[::-1])] = np.arange(len(rows))
    return ranks


def _joined(first: Batch, second: Batch) -> Batch:
    return Batch(
        np.column_stack([first.indices, second.indices]),
        first.linear + second.linear,
        first.norms + second.norms,
    )


def _expanded(first: Batch, batch: Batch, start: Ints, stop: Ints) -> Iterator[Batch]:
    """Each row of batch with first[start:stop], in pieces of bounded size."""
    counts = np.maximum(stop - start, 0)
    ends = np.cumsum(counts)
    at = 0
    while at < len(counts):
        base = int(ends[at] - counts[at])
        upto = max(int(np.searchsorted(ends, base + 262_144, side="right")), at + 1)
        piece = counts[at:upto]
        which = np.repeat(np.arange(at, upto), piece)
        within = np.arange(len(which)) - np.repeat(np.cumsum(piece) - piece, piece)
        yield _joined(metrics.take(first, start[which] + within), metrics.take(batch, which))
        at = upto
