"""Connected subgraphs of a graph: the part of such actions that does not change with embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lagco.core.graphs.growing import grow
from lagco.search.errors import NoValidAction
from lagco.search.graph_sets import GraphSet, edge_pairs, forward_star
from lagco.search.metrics import Floats, Ints

_CHUNK = 32_768
#: so many subgraphs are listed to draw among them uniformly
_DRAWN = 100_000


@cache
def subgraph_kernels() -> ModuleType:
    """The compiled loops, loaded at first use."""
    from lagco.search.subgraphs import kernels as loaded

    return loaded


class SubgraphSet(GraphSet):
    """The connected induced subgraphs of at most `max_size` nodes. Build once per instance.

    edges: (2, E) int, between edges[0] and edges[1] in both directions; nodes: n. allowed: bool
    (n,), the nodes that may be chosen; None for all.

    A subgraph's row is its nodes in ascending order, padded with n: (max_size,).
    """

    noun = "connected subgraphs"

    def __init__(
        self, edges: ArrayLike, nodes: int, max_size: int, allowed: ArrayLike | None = None
    ) -> None:
        pairs = edge_pairs(edges, nodes)
        if max_size < 1:
            raise ValueError(f"max_size must be at least 1, not {max_size}")
        both = np.concatenate([pairs, pairs[::-1]], axis=1)
        self.offsets, self.heads = forward_star(both, nodes)
        self.nodes = nodes
        self.max_size = self.row_width = max_size
        self.allowed = np.ones(nodes, np.bool_) if allowed is None else np.array(allowed, np.bool_)
        if self.allowed.shape != (nodes,):
            raise ValueError(f"allowed must have shape ({nodes},), not {self.allowed.shape}")

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
