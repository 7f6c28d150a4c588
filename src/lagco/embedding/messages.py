"""Along which edges messages run.

Messages run both ways over every edge. Over an undirected edge both use the same edge features; in
a directed view a last feature says whether the message runs along the edge (0) or against it (1),
so that direction is seen but no node is cut off from what it points to. A loop carries one message.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.core.graph import GraphView
from lagco.embedding.layout import ViewLayout

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Messages:
    """Messages of one graph, sorted by target.

    Attributes:
        first: int32 (n + 1,); messages ``first[i]:first[i + 1]`` go to node i.
        source: int32 (M,), ascending within a target.
        row: int32 (M,), row of the message features.
        edge_rows: int64 (2, E), rows of message features that belong to each edge.
        num_rows: rows of message features.
    """

    first: Array
    source: Array
    row: Array
    edge_rows: Array
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


def build_messages(view: GraphView, layout: ViewLayout) -> Messages:
    """Messages of `view`."""
    tails, heads = view.edges
    ids = np.arange(view.num_edges)
    if layout.edges.constant:  # all edges look the same: one row per direction will do
        along, against = np.zeros_like(ids), np.full_like(ids, int(layout.directed))
        num_rows = 1 + int(layout.directed)
    else:
        along, against = ids, ids + view.num_edges * int(layout.directed)
        num_rows = view.num_edges * (1 + int(layout.directed))
    back = np.flatnonzero(tails != heads)
    source = np.concatenate([tails, heads[back]])
    target = np.concatenate([heads, tails[back]])
    row = np.concatenate([along, against[back]])
    order = np.lexsort((row, source, target))
    first = np.zeros(view.num_nodes + 1, dtype=np.int32)
    np.cumsum(np.bincount(target, minlength=view.num_nodes), out=first[1:])
    return Messages(
        first,
        source[order].astype(np.int32),
        row[order].astype(np.int32),
        np.stack([along, against]),
        num_rows,
    )


def message_features(columns: Array, layout: ViewLayout, num_rows: int) -> Array:
    """Features (num_rows, width) of the messages from the edge columns (d_e, E)."""
    width = message_width(layout)
    if layout.edges.constant:
        features = np.ones((num_rows, width), dtype=np.float32)
    else:
        features = np.zeros((num_rows, width), dtype=np.float32)
        count = columns.shape[1]
        features[:count, : columns.shape[0]] = columns.T
        if layout.directed:
            features[count:, : columns.shape[0]] = columns.T
    if layout.directed:
        features[: num_rows // 2, -1] = 0.0
        features[num_rows // 2 :, -1] = 1.0
    return features
