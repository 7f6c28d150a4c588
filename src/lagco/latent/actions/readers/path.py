"""Paths as a component: their list, and the vector of a node at each position."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.graphs.hops import hop_distances
from lagco.core.pooling import AnyPooling, Concat
from lagco.core.spec import Path
from lagco.errors import SpecError
from lagco.latent.actions.components import State, Table
from lagco.latent.kernels import admissible_counts, position_vectors
from lagco.latent.selection import Selection, Watch
from lagco.search import PathSet


class PathReader:
    """The paths of a component, kept as long as the network and the demands stay the same.

    The vector of a path has a slot of p numbers per position, up to `positions` of them; a path
    with more nodes (its ends are farther apart than in any training instance) keeps the first ones.

    Args:
        component: the declaration.
        positions: slots of the vector.
        embedding_width: p.
    """

    def __init__(self, component: Path, positions: int, embedding_width: int) -> None:
        if component.attributes:
            raise SpecError("Path(attributes=…): a path has no attributes of its own")
        self.view = component.graph or ""
        self.pooling: AnyPooling | None = None if component.pooling is Concat else component.pooling
        self.positions = positions
        self._spec = component.spec
        self._max_len = component.max_len
        self._slot = embedding_width
        self.width = positions * embedding_width
        if self.pooling is not None:
            self.width = np.size(self.pooling(np.zeros((2, embedding_width), np.float32)))
        self._select = Selection(component.spec)
        self._watches = (Watch(ends=True), Watch(edges=True, ends=True))
        self._known: tuple[Any, ...] = ()
        self._found: tuple[PathSet, Array, float] | None = None

    def read(
        self, state: State, demands: Table | None, view: GraphView | None
    ) -> tuple[PathSet, Array, float]:
        """The paths of a state; `demands` are edges of `view`, None for paths between any nodes.

        With them, for how many demands each node may stand at each position, (positions, n), and
        the sum of these.
        """
        network = state.views[self.view]
        allowed = self._select(network) if self._spec else None
        wanted = None if demands is None else demands.values
        moved = self._watches[0].changed(network)
        if view is not None:
            moved |= self._watches[1].changed(view)
        known = (allowed, wanted)
        if (
            self._found is None
            or moved
            or any(a is not b for a, b in zip(self._known, known, strict=True))
        ):
            self._found = None
            ends = None if wanted is None or view is None else view.edges[:, wanted]
            paths, counts = self._build(network, ends, allowed)
            self._found = paths, counts, float(counts.sum())
            self._known = known
        return self._found

    def _build(
        self, network: GraphView, ends: Array | None, allowed: Array | None
    ) -> tuple[PathSet, Array]:
        nodes, edges = network.num_nodes, network.edges
        if allowed is not None:
            inside = np.zeros(nodes, dtype=bool)
            inside[allowed] = True
            edges = edges[:, inside[edges].all(axis=0)]
        if not network.directed:
            edges = np.concatenate([edges, edges[::-1]], axis=1)
        longest = min(nodes - 1, self.positions - 1) if self._max_len is None else self._max_len
        if ends is None:
            paths = PathSet(edges, nodes, longest)
            # every node at every position: which ones depends on all the ends there could be
            return paths, np.ones((self.positions, nodes))
        tails, heads = edges[:, np.argsort(edges[0])]
        hops = hop_distances(np.searchsorted(tails, np.arange(nodes + 1)), heads)
        apart = hops[ends[0], ends[1]]
        limits = np.where(apart < nodes, np.maximum(longest, apart), longest)
        paths = PathSet(edges, nodes, limits, ends[0], ends[1])
        counts = admissible_counts(hops, ends[0], ends[1], limits, self.positions)
        return paths, counts

    def tables(self, state: State, paths: PathSet, mean: Array, scale: Array) -> Array:
        """Standardised node vectors per position: (T, n, p), zeros beyond the slots there are."""
        z = state.embeddings[self.view]
        tables = np.empty((paths.positions, len(z), self._slot), dtype=np.float32)
        position_vectors(z, mean, scale, min(self.positions, paths.positions), tables)
        return tables

    def pooled(self, state: State, rows: Array, mean: Array, scale: Array) -> Array:
        """Standardised vectors of listed paths (k, T padded with n), pooled as declared."""
        assert self.pooling is not None
        z = state.embeddings[self.view]
        vectors = [np.ravel(self.pooling(z[row[row < len(z)]])) for row in rows]
        stacked = np.array(vectors, dtype=np.float32).reshape(len(rows), self.width)
        return ((stacked - mean) * scale).astype(np.float32)
