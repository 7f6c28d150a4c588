"""Edges along which messages run.

Messages run both ways over every edge. Over an undirected edge both use the same edge features; in
a directed view a last feature says whether the message runs along the edge (0) or against it (1),
so that direction is seen but no node is cut off from what it points to. A loop carries one message.

Edge e of an undirected view has row e of the message features; in a directed view it has the rows
2 e, along, and 2 e + 1, against. So edges that are added leave the rows of the others alone. Edges
without attributes all look the same and share row 0 (and 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.embedding.features.layout import ViewLayout


@dataclass(frozen=True)
class Messages:
    """Messages of one graph, sorted by target.

    Attributes:
        first: int32 (n + 1,); messages ``first[i]:first[i + 1]`` go to node i.
        source: int32 (M,), ascending within a target.
        row: int32 (M,), row of the message features.
        num_rows: rows of message features.
    """

    first: Array
    source: Array
    row: Array
    num_rows: int

    @property
    def num_nodes(self) -> int:
        """Number of nodes n."""
        return len(self.first) - 1

    @property
    def target(self) -> Array:
        """Target of each message: int64 (M,)."""
        return np.repeat(np.arange(self.num_nodes), np.diff(self.first))


def message_width(layout: ViewLayout) -> int:
    """Width of message features: the edge features, and the direction in directed views."""
    return layout.edges.width + int(layout.directed)


def count_rows(edges: int, layout: ViewLayout) -> int:
    """Rows of message features of a view with that many edges."""
    return (1 if layout.edges.constant else edges) * (1 + int(layout.directed))


def build_messages(view: GraphView, layout: ViewLayout) -> Messages:
    """Messages of `view`."""
    edges = np.ascontiguousarray(view.edges)
    first = np.zeros(view.num_nodes + 1, dtype=np.int32)
    source = np.empty(2 * view.num_edges, dtype=np.int32)
    row = np.empty(2 * view.num_edges, dtype=np.int32)
    count = sort_messages(
        edges, view.num_nodes, layout.directed, layout.edges.constant, first, source, row
    )
    return Messages(first, source[:count], row[:count], count_rows(view.num_edges, layout))


@njit(cache=True)
def sort_messages(edges, n, directed, constant, first, source, row):  # type: ignore[no-untyped-def]
    """Messages over edges (2, E) by target, source and edge, by counting: time n + E.

    Args:
        edges: (2, E)
        n: number of nodes.
        directed: whether the two directions of an edge have rows of their own.
        constant: whether all edges share their rows.
        first: (≥ n + 1,), `source` (≥ 2 E,) and `row` (≥ 2 E,), written; see :class:`Messages`.

    Returns:
        The number of messages.
    """
    count = 0
    place = np.zeros(n + 1, dtype=np.int32)
    for i in range(n + 1):
        first[i] = 0
    for e in range(edges.shape[1]):
        tail, head = edges[0, e], edges[1, e]
        place[tail + 1] += 1
        first[head + 1] += 1
        count += 1
        if tail != head:
            place[head + 1] += 1
            first[tail + 1] += 1
            count += 1
    for i in range(n):
        place[i + 1] += place[i]
        first[i + 1] += first[i]
    ends = np.empty((2, count), dtype=np.int32)  # by source
    rows = np.empty(count, dtype=np.int32)
    for e in range(edges.shape[1]):
        for side in range(2 if edges[0, e] != edges[1, e] else 1):
            u, v = edges[side, e], edges[1 - side, e]
            at = place[u]
            place[u] += 1
            ends[0, at], ends[1, at] = u, v
            along = 0 if constant else (2 * e if directed else e)
            rows[at] = along + side if directed else along
    for i in range(n):
        place[i] = first[i]
    for m in range(count):
        at = place[ends[1, m]]
        place[ends[1, m]] += 1
        source[at] = ends[0, m]
        row[at] = rows[m]
    return count


def message_features(columns: Array, layout: ViewLayout, num_rows: int) -> Array:
    """Features (num_rows, width) of the messages from the edge columns (d_e, E)."""
    features = np.ones((num_rows, message_width(layout)), dtype=np.float32)
    sides = 1 + int(layout.directed)
    for side in range(sides):
        if not layout.edges.constant:
            features[side::sides, : columns.shape[0]] = columns.T
        if layout.directed:
            features[side::sides, -1] = side
    return features
