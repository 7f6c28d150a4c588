"""The compiled encoder of one view: weights folded for inference, and its state per graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_not

import numpy as np
from numba import types

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.embedding.config import EncoderConfig
from lagco.embedding.features.kernels import Changes
from lagco.embedding.features.layout import ViewLayout
from lagco.embedding.features.matrices import TableFeatures, ViewFeatures, enlarged, room_for
from lagco.embedding.inference.kernels import (
    Compared,
    FirstLayer,
    Graph,
    Marks,
    SageLayer,
    ViewState,
    update,
)
from lagco.embedding.messages import count_rows
from lagco.runtime.bound_arguments import bind

#: Edge matrices of one graph may take this many bytes; beyond it messages are summed first.
MATRIX_BYTES = 256 * 2**20
#: Contributions per attribute may take this many bytes; beyond it all attributes share one.
PARTS_BYTES = 256 * 2**20
#: type of the ends of edges
_ENDS = types.int64[:, ::1]


@dataclass(frozen=True)
class SageWeights:
    """A SAGE layer.

    Attributes:
        w: (1, in, 2 out) for the neighbours' mean and for the node itself.
        bias: (out,)
    """

    w: Array
    bias: Array


@dataclass(frozen=True)
class FoldedWeights:
    """Weights with input scales and batch norms multiplied in.

    Attributes:
        edge_w: (d_m, k) and `edge_b` (k,): first layer of the edge network.
        w: (d_v, k + 1, out): its second layer by node feature, the bias last.
        root: (d_v, out)
        bias: (out,)
        layers: the SAGE layers that follow.
        slope: of the activation below 0.
        normalise: whether embeddings have length 1.
    """

    edge_w: Array
    edge_b: Array
    w: Array
    root: Array
    bias: Array
    layers: tuple[SageWeights, ...]
    slope: np.float32
    normalise: bool


def fold_weights(config: EncoderConfig, weights: Mapping[str, Array]) -> FoldedWeights | None:
    """Fold the weights of an NNConv (sum) followed by SAGE layers; None for any other stack."""
    layers = config.layers
    if len(layers) < 2 or layers[0] != "nnconv" or any(kind != "sage" for kind in layers[1:]):
        return None
    if config.aggregation != "add":
        return None
    get = {name: array.astype(np.float64) for name, array in weights.items()}
    scale, shift = get["edge_scale"], get["edge_shift"]
    edge_w = get["layers.0.nn.0.weight"].T * scale[:, None]
    edge_b = get["layers.0.nn.0.bias"] - shift @ edge_w
    node_scale = get["node_scale"]
    d, out, k = len(node_scale), config.hidden_channels, config.edge_channels
    w = np.concatenate([get["layers.0.nn.2.weight"].T, get["layers.0.nn.2.bias"][None]]).reshape(
        k + 1, d, out
    )
    factor, offset = _batch_norm(config, get, 0, out)
    w = w * node_scale[None, :, None] * factor
    root = get["layers.0.lin.weight"].T * node_scale[:, None] * factor
    bias = get["layers.0.bias"] * factor + offset
    sages = []
    for index in range(1, len(layers)):
        left, right = get[f"layers.{index}.lin_l.weight"].T, get[f"layers.{index}.lin_r.weight"].T
        both = np.concatenate([left, right], axis=1)
        b = get[f"layers.{index}.lin_l.bias"]
        if index < len(layers) - 1:
            factor, offset = _batch_norm(config, get, index, len(b))
            both, b = both * np.tile(factor, 2), b * factor + offset
        sages.append(SageWeights(_float32(both[None]), _float32(b)))
    slope = {"relu": 0.0, "leaky_relu": 0.01, "none": 1.0}[config.activation]
    return FoldedWeights(
        edge_w=_float32(edge_w),
        edge_b=_float32(edge_b),
        w=_float32(w.swapaxes(0, 1)),
        root=_float32(root),
        bias=_float32(bias),
        layers=tuple(sages),
        slope=np.float32(slope),
        normalise=config.normalise,
    )


def _batch_norm(
    config: EncoderConfig, get: Mapping[str, Array], index: int, width: int
) -> tuple[Array, Array]:
    """x -> x * factor + offset"""
    if not config.batch_norm:
        return np.ones(width), np.zeros(width)
    name = f"norms.{index}"
    factor = get[f"{name}.weight"] / np.sqrt(get[f"{name}.running_var"] + 1e-5)
    return factor, get[f"{name}.bias"] - get[f"{name}.running_mean"] * factor


def _float32(array: Array) -> Array:
    return np.ascontiguousarray(array, dtype=np.float32)


class CompiledView:
    """Embeddings of one view, updated where its features changed.

    Call :meth:`rebuild` for a new graph, :meth:`rewire` when edges moved or nodes and edges were
    added, and after either, or whenever features were synchronised, :meth:`update`.

    What is kept per graph: the edge network's hidden layer, its matrices for the columns that can
    change (where edge features do not, and as long as they fit in :data:`MATRIX_BYTES`; otherwise
    messages are summed before the multiplication, so that memory stays linear in nodes and edges),
    and the contribution of every attribute to the first layer, all static ones together.

    Attributes:
        z: (n, p) the embeddings; the array is reused.
        store: (≥ n, p) the same and room behind them, another array once that is used up.
    """

    def __init__(self, weights: FoldedWeights, layout: ViewLayout) -> None:
        self._weights = weights
        self._layout = layout
        self._nodes: TableFeatures | None = None
        #: edges that messages run along already, and how many nodes have other messages now
        self._known, self._rewired_count = np.zeros((2, 1), dtype=np.int64)
        self._lasting = all(entry.static for entry in layout.edges)
        self.z = self.store = np.zeros((0, len(weights.layers[-1].bias)), dtype=np.float32)

    def rebuild(self, view: GraphView, features: ViewFeatures) -> None:
        """Take over another graph whose features were just read."""
        weights, layout = self._weights, self._layout
        nodes = features.nodes
        if nodes is self._nodes and self.suits(view):  # in the same tables
            self._known[0] = self._rewired_count[0] = 0
            self._size = (-1, -1)
            self.rewire(view)
            return
        self._features, self._nodes = features, nodes
        self._known, self._rewired_count = np.zeros((2, 1), dtype=np.int64)
        d, k, out = weights.w.shape
        groups = len(nodes.counts)
        columns: list[list[int]] = [[] for _ in range(groups)]
        for entry in layout.nodes:
            columns[nodes.group_of[entry.name]] += range(entry.start, entry.stop)
        if layout.nodes.constant:
            columns[0].append(0)
        moving = [c for part in columns[1:] for c in part]
        self._needs = (groups * out * 4, len(moving) * out * 4)
        self._shared, self._summed = self._savings(view)
        if self._shared:
            columns, groups = [sorted(c for part in columns for c in part)], 1
        if self._shared or self._summed:
            moving = []
        self._group_first = np.cumsum([0, *(len(part) for part in columns)]).astype(np.int32)
        self._group_columns = np.array([c for part in columns for c in part], dtype=np.int32)
        self._kept = np.array(moving, dtype=np.int64)
        self._slot = np.full(d, -1, dtype=np.int32)
        self._slot[self._kept] = np.arange(len(moving))
        self._size = (-1, -1)
        self._given: Array | None = None
        self._bound: tuple[Array | None, ...] = (None, None)
        self._moved = False
        self._ends = np.zeros((2, 0), dtype=np.int64)
        self._first = self._source = self._row = np.zeros(0, dtype=np.int32)
        self._hidden = np.zeros((0, k - 1), dtype=np.float32)
        self._matrices = np.zeros((len(moving), 0, out), dtype=np.float32)
        self._parts = np.zeros((groups, 0, out), dtype=np.float32)
        widths = [out, *(len(layer.bias) for layer in weights.layers)]
        self._outputs = [np.zeros((0, width), dtype=np.float32) for width in widths]
        self._sent = [np.zeros((0, 2 * width), dtype=np.float32) for width in widths[1:]]
        self._stamp = np.zeros((2, 0), dtype=np.int64)
        self._clock = np.zeros(1, dtype=np.int64)
        self._total = np.zeros((0, k), dtype=np.float32)
        self.rewire(view)

    def _savings(self, view: GraphView) -> tuple[bool, bool]:
        """Whether attributes share one contribution, and whether messages are summed first."""
        per_node, per_row = self._needs
        rows = count_rows(view.num_edges, self._layout)
        shared = per_node * view.num_nodes > PARTS_BYTES
        return shared, not self._lasting or per_row * rows > MATRIX_BYTES

    def suits(self, view: GraphView) -> bool:
        """Whether a graph that grew still fits; otherwise it has to be built anew."""
        return self._savings(view) == (self._shared, self._summed)

    def rewire(self, view: GraphView) -> None:
        """Follow edges that moved, and nodes and edges that were added."""
        size = view.num_nodes, view.num_edges
        if view.edges is not self._given:
            self._given = np.ascontiguousarray(view.edges)
        if size != self._size:
            self._grow(*size)
            self._size = size
        self._moved = True

    def _grow(self, nodes: int, edges: int) -> None:
        """Follow other numbers of nodes and edges."""
        reserved = self._reserve(nodes, edges)
        read = self._features.nodes.store, self._features.edges.store
        if reserved or any(map(is_not, read, self._bound)):
            self._bound = read
            self._bind()
        self.store = self._outputs[-1]
        self.z = self.store[:nodes]

    def _reserve(self, nodes: int, edges: int) -> bool:
        """Make room for that many nodes and edges; what is there stays. Whether that was needed."""
        room, wanted = self._stamp.shape[1], False
        if nodes > room or not self._outputs[0].size:
            wanted, room = True, room_for(nodes, room)
            self._first = np.zeros(room + 1, dtype=np.int32)
            self._parts = enlarged(self._parts, 1, room)
            self._outputs = [enlarged(array, 0, room) for array in self._outputs]
            self._sent = [enlarged(array, 0, room) for array in self._sent]
            self._stamp = enlarged(self._stamp, 1, room)
            self._total = enlarged(self._total, 0, room)
            self._scratch, self._rewired = np.zeros((2, room), dtype=np.int32)
            self._affected = [np.zeros(room, dtype=np.int32) for _ in self._outputs]
        room = self._ends.shape[1]
        if edges > room:
            wanted, room = True, room_for(edges, room)
            self._ends = enlarged(self._ends, 1, room)
            self._source, self._row = np.zeros((2, 2 * room), dtype=np.int32)
            rows = count_rows(room, self._layout)
            self._hidden = enlarged(self._hidden, 0, rows)
            self._matrices = enlarged(self._matrices, 1, rows)
        return wanted

    def _bind(self) -> None:
        """Gather the arguments of the kernels, which stay the same from update to update."""
        weights, layout = self._weights, self._layout
        nodes, edges = [
            Compared(table.whole, table.facts, table.store, table.changes)
            for table in (self._features.nodes, self._features.edges)
        ]
        noted = nodes.changes
        if self._shared:
            noted = self._merged = Changes(*[np.zeros_like(array[:1]) for array in noted])
        graph = Graph(
            layout.directed, layout.edges.constant, self._ends, self._known, self._first,
            self._source, self._row, self._rewired, self._rewired_count,
        )  # fmt: skip
        first = FirstLayer(
            weights.edge_w, weights.edge_b, weights.w, weights.root, weights.bias, weights.slope,
            self._group_first, self._group_columns, self._kept, self._slot, self._hidden,
            self._matrices, self._parts, self._outputs[0], self._affected[0], self._scratch,
            self._total,
        )  # fmt: skip
        last = len(weights.layers) - 1
        layers = [
            SageLayer(
                self._outputs[index], self._affected[index], layer.w, layer.bias, weights.slope,
                index == last, weights.normalise, self._sent[index], self._outputs[index + 1],
                self._affected[index + 1],
            )
            for index, layer in enumerate(weights.layers)
        ]  # fmt: skip
        marks = Marks(self._stamp, self._clock)
        arguments = ViewState(
            graph, nodes, edges, (nodes.columns, noted), first, tuple(layers), marks
        )
        self._update = bind(update, arguments, types.int64, _ENDS, *3 * [types.boolean])

    def update(self) -> None:
        """Recompute what depends on the features noted as changed, and clear the notes."""
        nodes, edges = self._features.nodes, self._features.edges
        if self._shared:
            nodes.sync()
            _merge(nodes, self._merged)
        side, number, row = self._update(
            len(self.z), self._given, self._moved, nodes.touched, edges.touched
        )
        self._moved = nodes.touched = edges.touched = False
        if side >= 0:
            raise (nodes, edges)[side].not_finite(number, row)


def _merge(nodes: TableFeatures, merged: Changes) -> None:
    """Write the changes of all groups as those of one."""
    rows = np.unique(
        np.concatenate([nodes.changed[g, :c] for g, c in enumerate(nodes.counts.tolist())])
    )
    merged.changed[0, : len(rows)] = rows
    merged.counts[0] = len(rows)
    nodes.clear()
