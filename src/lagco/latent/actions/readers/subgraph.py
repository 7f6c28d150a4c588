"""Connected subgraphs as a component: which there are, and the vectors of their nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.pooling import AnyPooling, Concat, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import SubGraph
from lagco.embedding.features.layout import ViewLayout
from lagco.latent.actions.components import State, pooled_width
from lagco.latent.selection import Selection, Watch
from lagco.search import SubgraphSet, SubgraphSpace
from lagco.search.subgraphs.search import POOLINGS, SubgraphPooling

#: poolings under which subgraphs are searched without listing them
_SEARCHED: tuple[tuple[AnyPooling, SubgraphPooling], ...] = (
    (Sum, "sum"),
    (Mean, "mean"),
    (RootSum, "root-sum"),
    (Max, "max"),
    (Min, "min"),
)


class SubgraphReader:
    """The connected subgraphs of a component, kept as long as the graph and its spec stay the same.

    A node's vector is its embedding and the declared attributes; a subgraph's is these pooled.
    `Concat` has a slot per node, in ascending order of nodes, and zeros behind the last.

    Args:
        component: the declaration.
        layout: of the features of its view.
        embedding_width: p.
    """

    def __init__(self, component: SubGraph, layout: ViewLayout, embedding_width: int) -> None:
        assert component.max_size is not None
        self.view = component.graph or ""
        self.max_size = component.max_size
        columns = layout.nodes.columns(tuple(component.attributes))
        self._columns = np.array(columns, dtype=np.int64)
        self.node_width = embedding_width + len(self._columns)
        self.pooling: SubgraphPooling | None = next(
            (name for pooling, name in _SEARCHED if pooling is component.pooling), None
        )
        self._pool = component.pooling
        self._padded = component.pooling is Concat
        self.width = self.max_size * self.node_width
        if not self._padded:
            self.width = pooled_width("SubGraph", component.pooling, self.node_width)
        self._select = Selection(component.spec)
        self._watch = Watch(ends=True)
        self._known: Array | None = None
        self._found: tuple[SubgraphSet, Array] | None = None

    def read(self, state: State) -> tuple[SubgraphSet, Array]:
        """The subgraphs of a state, and which nodes may be chosen as weights: float64 (n,)."""
        view = state.views[self.view]
        chosen = self._select(view)
        if self._watch.changed(view) or self._found is None or chosen is not self._known:
            self._found = None
            allowed = np.zeros(view.num_nodes, dtype=bool)
            allowed[chosen] = True
            subgraphs = SubgraphSet(view.edges, view.num_nodes, self.max_size, allowed)
            self._found = subgraphs, allowed.astype(np.float64)
            self._known = chosen
        return self._found

    def nodes(self, state: State) -> Array:
        """Vectors of all nodes as they are, embeddings and attributes: (n, node_width)."""
        z = state.embeddings[self.view]
        features = state.embedder.node_store(self.view)
        return np.concatenate([z, features[self._columns, : len(z)].T], axis=1)

    def space(
        self, state: State, mean: Array, factor: Array, leading: tuple[Array, Array]
    ) -> SubgraphSpace:
        """The standardised vectors of subgraphs for the search, where the pooling allows one."""
        assert self.pooling is not None
        nodes, shift = self.nodes(state).astype(np.float64), mean.astype(np.float64)
        if self.pooling in ("sum", "root-sum"):  # what is subtracted counts once, not per node
            table, offset = nodes * factor, -shift * factor
        else:
            table, offset = (nodes - shift) * factor, np.zeros(len(mean))
        return SubgraphSpace(self.read(state)[0], table, self.pooling, offset, leading)

    def pooled(self, state: State, rows: Array, mean: Array, factor: Array) -> Array:
        """Standardised vectors of listed subgraphs (k, max_size padded with n)."""
        nodes = self.nodes(state)
        if self.pooling is not None:
            blank = np.zeros(self.node_width)
            code = POOLINGS.index(self.pooling)
            sums = self.read(state)[0].vectors_of(nodes.astype(np.float64), blank, rows, code)
            return ((sums - mean) * factor).astype(np.float32)
        if self._padded:
            slots = np.concatenate([nodes, np.zeros((1, self.node_width), nodes.dtype)])[rows]
            vectors = (slots.reshape(len(rows), -1) - mean) * factor
            there = np.repeat(rows < len(nodes), self.node_width, axis=1)
            return np.where(there, vectors, 0.0).astype(np.float32)
        found: list[Any] = [np.ravel(self._pool(nodes[row[row < len(nodes)]])) for row in rows]
        vectors = np.array(found, dtype=np.float32).reshape(len(rows), self.width)
        return ((vectors - mean) * factor).astype(np.float32)
