"""Paths of a graph: the part of a path action that does not change with embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lagco.search.graph_sets import GraphSet, edge_pairs, forward_star
from lagco.search.metrics import Floats, Ints

_CHUNK = 32_768


@cache
def path_kernels() -> ModuleType:
    """The compiled loops, loaded at first use."""
    from lagco.search.paths import kernels as loaded

    return loaded


class PathSet(GraphSet):
    """The simple paths of at most `max_len` hops along directed edges. Build once per instance.

    edges: (2, E) int, from edges[0] to edges[1]; self-loops and repeats are ignored.
    nodes: n. max_len: an int, or (demands,) ints.
    sources, targets: (demands,) ints, -1 for any node; without both, all paths anywhere, with no
    demand column in the index rows.
    min_len: fewest hops of a path whose target is any node.

    An action's row is (demand, p_0, ..., p_{T-1}), T = largest max_len + 1, padded with n.
    """

    noun = "paths"

    def __init__(
        self,
        edges: ArrayLike,
        nodes: int,
        max_len: ArrayLike,
        sources: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        min_len: int = 1,
    ) -> None:
        self.offsets, self.heads = forward_star(edge_pairs(edges, nodes), nodes)
        self.nodes = nodes
        self.min_len = min_len
        self.has_demands = sources is not None or targets is not None
        self.demands = max(np.size(end) for end in (sources, targets, 0) if end is not None)
        self.sources = self._ends(sources, "sources")
        self.targets = self._ends(targets, "targets")
        hops = np.asarray(max_len, np.int64)
        if hops.ndim and hops.shape != (self.demands,):
            raise ValueError(f"max_len must be an int or have shape ({self.demands},)")
        self.hops = np.broadcast_to(hops, (self.demands,))
        if self.demands and self.hops.min() < 0:
            raise ValueError("max_len must not be negative")
        self.positions = int(self.hops.max(initial=0)) + 1
        self.row_width = self.positions + 1
        self.units = self._units()

    def _ends(self, ends: ArrayLike | None, name: str) -> Ints:
        if ends is None:
            return np.full(self.demands, -1)
        array = np.asarray(ends, np.int64)
        if array.shape != (self.demands,):
            raise ValueError(f"{name} must have shape ({self.demands},), not {array.shape}")
        if array.size and (array.min() < -1 or array.max() >= self.nodes):
            raise ValueError(f"{name} must lie in 0 .. {self.nodes - 1}, or be -1 for any")
        return array

    def _units(self) -> Ints:
        """(U, 4): demand, source, target, hops; sorted so that equal bounds stand together."""
        demand = np.arange(self.demands)
        free = self.sources < 0
        repeat = np.where(free, self.nodes, 1)
        unit_demand = np.repeat(demand, repeat)
        start = np.cumsum(repeat) - repeat
        within = np.arange(len(unit_demand)) - start[unit_demand]
        source = np.where(free[unit_demand], within, self.sources[unit_demand])
        units = np.column_stack(
            [unit_demand, source, self.targets[unit_demand], self.hops[unit_demand]]
        )
        order = np.lexsort((source, unit_demand, units[:, 2], units[:, 3]))
        return np.ascontiguousarray(units[order])

    def chunks(self) -> Iterator[Ints]:
        zero = np.zeros((self.positions, self.nodes))
        pad = np.zeros(self.positions + 1)
        lead = np.zeros(self.demands)
        yield from self.stream(zero, pad, lead, self.units, lambda: np.inf, 0.0, -np.inf)

    def stream(
        self,
        weight: Floats,
        pad: Floats,
        lead: Floats,
        units: Ints,
        limit: Callable[[], float],
        slack: float,
        floor: float,
    ) -> Iterator[Ints]:
        """Rows with floor <= weight <= limit, in chunks; see `path_kernels.stream_paths`."""
        loops = path_kernels()
        weights, cursor = loops.PathWeights(weight, pad, lead), self._cursor()
        out = np.empty((_CHUNK, self.positions + 1), np.int64)
        while cursor.state[0] < len(units):
            band = loops.Band(limit(), slack, floor)
            count = loops.stream_paths(weights, self._arrays, units, band, cursor, out, False)
            yield out[:count].copy()

    def count(self) -> int:
        """Number of paths, by walking all of them: some ten million a second."""
        loops = path_kernels()
        weights = loops.PathWeights(
            np.zeros((self.positions, self.nodes)),
            np.zeros(self.positions + 1),
            np.zeros(self.demands),
        )
        band, nothing = loops.Band(np.inf, 0.0, -np.inf), np.empty((0, 0), np.int64)
        total: int = loops.stream_paths(
            weights, self._arrays, self.units, band, self._cursor(), nothing, True
        )
        return total

    @property
    def _arrays(self) -> Any:
        """The graph as compiled loops take it."""
        return path_kernels().PathGraph(self.offsets, self.heads, self.min_len)

    def _cursor(self) -> Any:
        """The beginning of a walk over all paths."""
        pointer, row = np.zeros((2, self.positions + 1), np.int64)
        return path_kernels().Cursor(np.array([0, -1]), pointer, row)

    def sample(self, rng: np.random.Generator, count: int = 1, tries: int = 10_000) -> Ints:
        """`count` rows (count, 1 + T) drawn uniformly over all actions.

        Walks are drawn in proportion to the number of ways to finish; those that visit a node
        twice are drawn again, which leaves simple paths uniform.
        """
        ways: dict[tuple[int, int], Floats] = {}
        for _, _, target, hops in self.units.tolist():
            if (target, hops) not in ways:
                ways[target, hops] = self._ways(target, hops)
        first = np.array([ways[t, h][0, s] for _, s, t, h in self.units.tolist()])
        if not first.sum() > 0:
            raise ValueError("there is no path to sample")
        first /= first.sum()
        rows: list[NDArray[np.int64]] = []
        for _ in range(count * tries):
            demand, node, target, hops = self.units[rng.choice(len(first), p=first)].tolist()
            walk = self._walk(rng, ways[target, hops], node, target, hops)
            if len(set(walk)) == len(walk):
                padded = [demand, *walk, *[self.nodes] * (self.positions - len(walk))]
                rows.append(np.array(padded))
                if len(rows) == count:
                    return np.stack(rows)
        raise ValueError(f"no simple path came up in {tries} random walks")

    def _ways(self, target: int, hops: int) -> Floats:
        """(hops + 1, n): number of walks from a node at a position to the end."""
        ways = np.zeros((hops + 2, self.nodes))
        tails = np.repeat(np.arange(self.nodes), np.diff(self.offsets))
        for i in range(hops, -1, -1):
            onward = np.bincount(tails, ways[i + 1][self.heads], self.nodes)
            if target >= 0:
                ways[i] = onward
                ways[i, target] = 1.0
            else:
                ways[i] = onward + (i >= self.min_len)
        return ways

    def _walk(
        self, rng: np.random.Generator, ways: Floats, node: int, target: int, hops: int
    ) -> Sequence[int]:
        walk = [node]
        for i in range(hops):
            if node == target:
                break
            nexts = self.heads[self.offsets[node] : self.offsets[node + 1]]
            weights = ways[i + 1][nexts]
            stop = 1.0 if target < 0 and i >= self.min_len else 0.0
            draw = rng.random() * (weights.sum() + stop)
            if draw < stop or not len(nexts):
                break
            at = int(np.searchsorted(np.cumsum(weights), draw - stop, side="right"))
            node = int(nexts[min(at, len(nexts) - 1)])
            walk.append(node)
        return walk
