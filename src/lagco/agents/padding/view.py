"""One graph view in a vector of fixed width: node columns, then edge columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lagco.agents.padding.widths import key_of
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.spec import Attribute
from lagco.embedding.features.extraction import AttributeReader
from lagco.embedding.features.layout import TableLayout, ViewLayout, table_layout
from lagco.embedding.features.matrices import SAME, TOUCHED, ViewFeatures
from lagco.errors import SpecError, TooLarge, suggest
from lagco.results.numbers import of_things

#: edge attributes are laid out over all pairs of nodes up to so many numbers, else edge by edge
PAIRS = 5_000
#: attributes wider than this are sentence embeddings, which the padding observation leaves out
WIDEST = 64


class PaddedView:
    """The part of one view: node columns (d_v, N), then edge columns (d_e, P).

    Args:
        name: name of the view.
        view: a state of the view; later ones must have the same attributes.
        nodes: node attributes to include.
        edges: edge attributes to include; if empty, just the edges; None for no edges.
        reserved: numbers of nodes and edges to pad to.
        listed: whether edges are always listed, however few pairs there are.
        full: whether the feature set is `full`.
        pairs: returns the attributes over all pairs; called if edges are not listed.
    """

    def __init__(
        self,
        name: str,
        view: GraphView,
        nodes: Mapping[str, Attribute],
        edges: Mapping[str, Attribute] | None,
        reserved: tuple[int, int],
        listed: bool,
        full: bool,
        pairs: Callable[[], Mapping[str, Array]],
    ) -> None:
        self.name = name
        self._nodes, self._edges = reserved
        self._directed = view.directed
        n = self._nodes
        count = n * n if view.directed else n * (n - 1) // 2
        declared = edges or {}
        width = 0 if edges is None else _table(declared).width
        self._listed = listed or count * width > PAIRS
        given = {} if self._listed else {k: v for k, v in pairs().items() if k in declared}
        self._all_pairs = _all_pairs(name, view, {k: declared[k] for k in given}, given)
        carried = {k: attribute for k, attribute in declared.items() if k not in given}
        self._features = _features(name, view, nodes, carried)
        self._ends = full and self._listed and edges is not None
        # with 0 and 1, an edge with 0 could not be told from no edge
        binary = len(carried) > 0 and all(a.type == "binary" for a in carried.values())
        self._signed = full and binary and not self._listed
        self._edge_columns = width - sum(_columns(declared[k]) for k in given)
        self._node_shape = sum(_columns(attribute) for attribute in nodes.values()), n
        rows = width + (2 if self._ends else 0)
        self._edge_shape = rows, self._edges if self._listed else count
        self.width = math.prod(self._node_shape) + math.prod(self._edge_shape)

    def use(self, buffer: Array) -> None:
        """Set the buffer (width,) that :meth:`write` updates."""
        split = math.prod(self._node_shape)
        self._node_block = buffer[:split].reshape(self._node_shape)
        self._edge_block = buffer[split:].reshape(self._edge_shape)
        self._features.forget()

    def write(self, view: GraphView) -> None:
        """Bring the buffer up to date with the view."""
        features = self._features
        found = features.sync(view)
        if found == SAME:
            return
        if found != TOUCHED:
            self._place(view)
        if self._node_shape[0]:
            self._node_block[:, : view.num_nodes] = features.nodes.columns
        edges = features.edges
        if self._edge_columns and (edges.counts[0] or found != TOUCHED):
            columns = edges.columns if self._kept is None else edges.columns[:, self._kept]
            if self._signed:
                columns = 2.0 * columns - 1.0
            self._edge_block[: self._edge_columns, self._places] = columns
            edges.clear()

    def _place(self, view: GraphView) -> None:
        """Places of the edges, read again after they changed."""
        n, (u, v) = view.num_nodes, view.edges
        if n > self._nodes or (self._listed and len(u) > self._edges):
            raise TooLarge(
                f"the view {self.name!r} has {of_things(n, 'nodes')} and "
                f"{of_things(len(u), 'edges')}, the agent was padded "
                f"for {self._nodes} and {self._edges}"
            )
        self._node_block[:] = 0.0
        self._edge_block[:] = 0.0
        self._kept: Array | None = None
        if self._listed:
            self._places: Any = slice(0, len(u))
            if self._ends:
                np.divide(view.edges, self._nodes, out=self._edge_block[-2:, : len(u)])
            return
        if self._all_pairs is not None:
            ends, columns = self._all_pairs
            self._edge_block[self._edge_columns :, self._pair_places(*ends)] = columns
        loops = np.flatnonzero(u == v)
        if len(loops) and not self._directed:
            self._kept = np.flatnonzero(u != v)
            u, v = u[self._kept], v[self._kept]
        self._places = self._pair_places(u, v)

    def _pair_places(self, u: Array, v: Array) -> Array:
        """Columns of pairs of nodes: all, or the upper triangle where there is no direction."""
        if self._directed:
            return u * self._nodes + v
        first, second = np.minimum(u, v), np.maximum(u, v)
        return first * (2 * self._nodes - first - 1) // 2 + (second - first - 1)


def pairs_of(env: ContinuousEnv, views: Mapping[str, GraphView], view: str) -> dict[str, Array]:
    """Values that a problem gives for all pairs of nodes of a view."""
    given = env.pair_attributes()
    known = {key_of(views, v, n): (v, n) for v in views for n in views[v].edge_attributes}
    for key, values in given.items():
        if key not in known:
            raise SpecError(f"pair_attributes(): {suggest('edge attribute', key, known)}")
        n = views[known[key][0]].num_nodes
        if np.shape(values)[:2] != (n, n):
            raise SpecError(
                f"pair_attributes()[{key!r}] has shape {np.shape(values)}, expected ({n}, {n}): a "
                "value for every pair of nodes"
            )
    return {n: given[key] for key, (v, n) in known.items() if v == view and key in given}


def _all_pairs(
    name: str, view: GraphView, attributes: Mapping[str, Attribute], given: Mapping[str, Array]
) -> tuple[Array, Array] | None:
    """All pairs (2, P) and their columns (d, P), scaled; None where nothing is given."""
    if not given:
        return None
    n = view.num_nodes
    ends = np.indices((n, n)).reshape(2, -1) if view.directed else np.stack(np.triu_indices(n, 1))
    values = {key: np.asarray(matrix)[ends[0], ends[1]] for key, matrix in given.items()}
    complete = GraphView(n, ends, edge_attributes=values, directed=view.directed)
    features = _features(name, complete, {}, attributes)
    features.sync(complete)
    return ends, features.edges.columns


def _features(
    name: str, view: GraphView, nodes: Mapping[str, Attribute], edges: Mapping[str, Attribute]
) -> ViewFeatures:
    layout = ViewLayout(_table(nodes), _table(edges), view.directed)
    return ViewFeatures(name, layout, _readers(name, layout.nodes), _readers(name, layout.edges))


def numeric(attributes: Mapping[str, Attribute], columns: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: attribute
        for name, attribute in attributes.items()
        if isinstance(columns[name], np.ndarray)
        and attribute.extractor in (None, "onehot")
        and _columns(attribute) <= WIDEST
    }


def _columns(attribute: Attribute) -> int:
    onehot = attribute.type == "categorical" or attribute.extractor == "onehot"
    return attribute.num_categories if onehot else attribute.size


def _table(attributes: Mapping[str, Attribute]) -> TableLayout:
    return table_layout(attributes, {n: _columns(a) for n, a in attributes.items()})


def _readers(view: str, layout: TableLayout) -> dict[str, AttributeReader]:
    return {e.name: AttributeReader(f"{view}.{e.name}", e.attribute, e.width) for e in layout}
