"""Connected subgraphs of a graph: the part of such actions that does not change with embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lagco.core.graphs.growing import grow
from lagco.search.errors import NoValidAction, TooManyActions
from lagco.search.metrics import Floats, Ints

_CHUNK = 32_768
#: so many subgraphs are listed to draw among them uniformly
_DRAWN = 100_000


@cache
def subgraph_kernels() -> ModuleType:
    """The compiled loops, loaded at first use."""
    from lagco.search.subgraphs import kernels as loaded

    return loaded


class SubgraphSet:
    """The connected induced subgraphs of at most `max_size` nodes. Build once per instance.

    edges: (2, E) int, between edges[0] and edges[1] in both directions; nodes: n. allowed: bool
    (n,), the nodes that may be chosen; None for all.

    A subgraph's row is its nodes in ascending order, padded with n: (max_size,).
    """

    def __init__(
        self, edges: ArrayLike, nodes: int, max_size: int, allowed: ArrayLike | None = None
    ) -> None:
        pairs = np.asarray(edges, np.int64)
        if pairs.ndim != 2 or pairs.shape[0] != 2:
            raise ValueError(f"edges must have shape (2, E), not {pairs.shape}")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= nodes):
            raise ValueError(f"edges must lie in 0 .. {nodes - 1}")
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size}")
        both = np.concatenate([pairs, pairs[::-1]], axis=1)
        both = both[:, both[0] != both[1]]
        keys = np.unique(both[0] * nodes + both[1])
        tails, self.heads = keys // max(nodes, 1), keys % max(nodes, 1)
        self.offsets = np.searchsorted(tails, np.arange(nodes + 1))
        self.nodes = nodes
        self.max_size = max_size
        self.allowed = np.ones(nodes, np.bool_) if allowed is None else np.array(allowed, np.bool_)
        if self.allowed.shape != (nodes,):
            raise ValueError(f"allowed must have shape ({nodes},), not {self.allowed.shape}")
        self._listed: Ints | None = None
        self._more_than = -1  # subgraphs, where they are too many to be listed

    @cached_property
    def network(self) -> Any:
        """The graph as compiled loops read it."""
        return subgraph_kernels().Network(self.offsets, self.heads, self.allowed)

    def walk(self, order: Ints, width: int) -> Any:
        """The state before an enumeration from roots in this order, for vectors (width,)."""
        n, k = self.nodes, self.max_size
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        numbers, levels = np.zeros(n, np.int64), np.zeros(k, np.int64)
        sums = np.zeros((k, width))
        return subgraph_kernels().Walk(
            np.array([-1, 0, 0]), order, rank, levels, levels.copy(), levels.copy(), numbers,
            np.zeros(n, np.bool_), levels.copy(), sums, sums.copy(), sums.copy(), numbers.copy(),
            np.full(n, -1), numbers.copy(),
        )  # fmt: skip

    def chunks(self) -> Iterator[Ints]:
        """All rows, unordered, some thousand at a time."""
        loops = subgraph_kernels()
        nothing = np.zeros(0)
        blank = np.zeros((self.nodes, 1))
        asked = loops.Asked(blank, nothing, nothing, (0.0, 0.0, 0.0), 0.0, loops.SUM, 0)
        walk = self.walk(np.arange(self.nodes), 1)
        out = np.empty((_CHUNK, self.max_size), np.int64)
        linear, norms = np.empty((2, _CHUNK))
        count = _CHUNK
        while count == _CHUNK:
            count = loops.advance(
                self.network, asked, walk, np.inf, 2**62, out, linear, norms
            )  # fmt: skip
            yield out[:count].copy()

    def listed(self, cap: int) -> Ints | None:
        """All rows in lexicographic order if there are at most `cap`; found once, then kept."""
        if self._listed is None and self._more_than < cap:
            parts: list[Ints] = []
            found = 0
            for part in self.chunks():
                parts.append(part)
                found += len(part)
                if found > cap:
                    self._more_than = cap
                    return None
            rows = np.concatenate(parts)
            self._listed = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
        return self._listed if self._listed is not None and len(self._listed) <= cap else None

    def list(self, cap: int = 2_000_000) -> Ints:
        """All rows (N, max_size), or `TooManyActions`."""
        rows = self.listed(cap)
        if rows is None:
            raise TooManyActions(
                f"there are more than {cap} connected subgraphs, the cap for listing them"
            )
        return rows

    def sample(self, rng: np.random.Generator, count: int = 1) -> Ints:
        """`count` rows drawn at random: (count, max_size).

        Uniform where there are at most 100 000 subgraphs; else each is grown from a node by
        neighbours drawn uniformly up to a size drawn uniformly.
        """
        roots = np.flatnonzero(self.allowed)
        if not len(roots):
            raise NoValidAction("no node may be chosen, so there is no subgraph to sample")
        rows = self.listed(_DRAWN)
        if rows is not None:
            return rows[rng.integers(0, len(rows), count)]
        grown = np.full((count, self.max_size), self.nodes)
        for row in grown:
            nodes = grow(rng, self.offsets, self.heads, self.allowed, self.max_size)
            row[: len(nodes)] = nodes
        return grown

    def vectors_of(self, nodes: Floats, offset: Floats, rows: Ints, pooling: int) -> Floats:
        """Vectors (k, d) of rows: poolings of node vectors (n, d), plus an offset (d,)."""
        found: Floats = subgraph_kernels().pooled_rows(nodes, offset, rows, pooling)
        return found
