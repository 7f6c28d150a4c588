"""A product of axes seen from one query."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from lagco.search.metrics import Batch, Floats, Ints, kernels, listed_kernels
from lagco.search.ordered import Bound
from lagco.search.products.axes import Axes

_CHUNK = 65_536


class ScoredProduct:
    """Per axis: linear parts (n_a,), squared norms (n_a,) and which axis elements these are.

    `elements[a]` is None when the axis is whole; restricting keeps axes as ascending subsets.
    """

    def __init__(
        self,
        axes: Axes,
        linear: Sequence[Floats],
        norms: Sequence[Floats],
        elements: Sequence[Ints | None],
        worst: float | None = None,
    ) -> None:
        self.axes = axes
        self.linear = linear
        self.norms = norms
        self.elements = elements
        self._worst = worst

    @property
    def columns(self) -> int:
        return self.axes.columns

    @property
    def total(self) -> float:
        return math.prod([len(part) for part in self.linear])

    @property
    def scale(self) -> float:
        return sum(float(np.abs(part).max()) if len(part) else 0.0 for part in self.linear)

    @property
    def worst(self) -> float:
        return self.scale if self._worst is None else self._worst

    def norm_range(self) -> tuple[float, float]:
        return (
            sum(float(norm.min()) for norm in self.norms),
            sum(float(norm.max()) for norm in self.norms),
        )

    def _named(self, axis: int, positions: Ints) -> Ints:
        subset = self.elements[axis]
        return positions if subset is None else subset[positions]

    def _batch(self, chosen: Sequence[Ints]) -> Batch:
        """Axis positions, each (b,), as a batch; sums run from left to right."""
        linear = self.linear[0][chosen[0]]
        norms = self.norms[0][chosen[0]]
        for axis in range(1, len(chosen)):
            linear = linear + self.linear[axis][chosen[axis]]
            norms = norms + self.norms[axis][chosen[axis]]
        named = [self._named(axis, positions) for axis, positions in enumerate(chosen)]
        return Batch(self.axes.tuples(named), linear, norms)

    def _one(self, positions: Sequence[int]) -> Batch:
        """`_batch` for a single action; for none where a position is -1."""
        if min(positions) < 0:
            return self._batch([np.empty(0, np.int64)] * len(positions))
        linear = norm = 0.0
        for axis, position in enumerate(positions):
            linear += self.linear[axis].item(position)
            norm += self.norms[axis].item(position)
        return Batch(self.one_tuple(positions), np.array([linear]), np.array([norm]))

    def one_tuple(self, positions: Sequence[int]) -> Ints:
        """Axis positions of a single action as an index tuple (1, m)."""
        if self.axes.merged:
            named = [self._named(a, np.array([p])) for a, p in enumerate(positions)]
            return self.axes.tuples(named)
        subsets = zip(self.elements, positions, strict=True)
        return np.array([[p if s is None else s.item(p) for s, p in subsets]], np.int64)

    def top(self, slope: float, count: int) -> Batch:
        """The multi-sequence walk, axis by axis; see `kernels.merge_sums`.

        An action among the best `count` has each of its parts, and each prefix of its parts,
        among the best `count`, so nothing else is kept.
        """
        weights = self._weights(slope)
        select = listed_kernels()
        if count == 1:
            return self._one([select.first_smallest(weight) for weight in weights])
        chosen: list[Ints] = []
        cost = np.empty(0)
        code = np.empty(0, np.int64)
        for axis, weight in enumerate(weights):
            if 4 * count > len(weight):
                positions = np.argsort(weight, kind="stable")[:count]
            else:
                positions = select.smallest(weight, count)
            codes = self.axes.codes(axis, self._named(axis, positions))
            if axis == 0:
                chosen, cost, code = [positions], weight[positions], codes
                continue
            i, j, cost, code = kernels().merge_sums(cost, code, weight[positions], codes, count)
            chosen = [part[i] for part in chosen]
            chosen.append(positions[j])
        return self._batch(chosen)

    def _weights(self, slope: float) -> list[Floats]:
        if slope == 0.0:
            return list(self.linear)
        return [a + slope * n for a, n in zip(self.linear, self.norms, strict=True)]

    def restrict(self, slope: float, limit: float, low: float, high: float) -> ScoredProduct | None:
        loops = kernels()
        least = [
            loops.least_weight(a, n, slope) for a, n in zip(self.linear, self.norms, strict=True)
        ]
        bottom = sum(least)
        if not bottom <= limit:
            return None
        smallest = [float(n.min()) for n in self.norms]
        largest = [float(n.max()) for n in self.norms]
        widest = sum(largest)
        slack = 1e-12 * widest
        linear: list[Floats] = []
        norms: list[Floats] = []
        elements: list[Ints | None] = []
        for axis, (a, n) in enumerate(zip(self.linear, self.norms, strict=True)):
            keep = loops.within(
                a,
                n,
                slope,
                limit - (bottom - least[axis]),
                low - (widest - largest[axis]) - slack,
                high - (sum(smallest) - smallest[axis]) + slack,
            )
            if not len(keep):
                return None
            if len(keep) == len(a):
                linear.append(a)
                norms.append(n)
                elements.append(self.elements[axis])
            else:
                linear.append(a[keep])
                norms.append(n[keep])
                elements.append(self._named(axis, keep))
        return ScoredProduct(self.axes, linear, norms, elements, self._worst)

    def capped(self, count: int) -> ScoredProduct:
        kept: list[Ints] = []
        for a, n in zip(self.linear, self.norms, strict=True):
            order = np.lexsort((n, a))  # stable: equal elements stay in order of their index
            new = np.ones(len(order), np.bool_)
            new[1:] = (np.diff(a[order]) != 0) | (np.diff(n[order]) != 0)
            first = np.flatnonzero(new)
            rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
            kept.append(np.sort(order[rank < count]))
        return ScoredProduct(
            self.axes,
            [a[keep] for a, keep in zip(self.linear, kept, strict=True)],
            [n[keep] for n, keep in zip(self.norms, kept, strict=True)],
            [self._named(axis, keep) for axis, keep in enumerate(kept)],
            self._worst,
        )

    def stream(
        self, slope: float, limit: Bound, floor: float, low: float, high: float
    ) -> Iterator[Batch]:
        weights = self._weights(slope)
        orders = [np.argsort(weight, kind="stable") for weight in weights]
        m = len(orders)
        if not all(map(len, orders)):
            return
        weight = np.concatenate([w[o] for w, o in zip(weights, orders, strict=True)])
        linear = np.concatenate([a[o] for a, o in zip(self.linear, orders, strict=True)])
        norms = np.concatenate([n[o] for n, o in zip(self.norms, orders, strict=True)])
        start = np.concatenate([[0], np.cumsum([len(o) for o in orders])])
        rest = np.zeros(m)
        for axis in range(m - 2, -1, -1):
            rest[axis] = rest[axis + 1] + weight[start[axis + 1]]
        slack = 1e-12 * sum(float(np.abs(w).max()) for w in weights)
        state = np.zeros(m + 1, np.int64)
        cap = int(min(self.total, _CHUNK))
        loops = kernels()
        axes = loops.Axes(weight, linear, norms, start, rest)
        found = loops.Found(np.empty((cap, m), np.int64), np.empty(cap), np.empty(cap))
        while state[m] >= 0:
            n = loops.scan(axes, loops.Band(limit.value, slack, floor, low, high), state, found)
            named = [self._named(axis, orders[axis][found.tuples[:n, axis]]) for axis in range(m)]
            parts = found.linear[:n].copy(), found.norms[:n].copy()
            yield Batch(self.axes.tuples(named), *parts)
