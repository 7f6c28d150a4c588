"""The compiled encoder: kernels. :mod:`lagco.embedding.network.module` is the same in torch.

Every kernel computes rows from scratch, in gather form, in an order that depends on the row alone.
So a row has the same bits whether few or all rows are recomputed, whatever happened before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from lagco.arrays import Array
from lagco.embedding.features.kernels import Changes, sync_columns
from lagco.embedding.inference.row_sums import (
    add_columns,
    add_messages,
    add_neighbours,
    add_products,
)
from lagco.embedding.messages import sort_messages
from lagco.runtime.bound_arguments import opened

_FAST = {"contract"}  # fused multiply-add; nothing that reorders sums


class Compared(NamedTuple):
    """Features of nodes, or of edges, and how they are compared with their attributes.

    Attributes:
        wanted, facts: see :func:`sync_columns`.
        columns: float32 (d, ≥ n), of edges (d_e, ≥ E).
        changes: rows that changed; edges are in a single group.
    """

    wanted: Array
    facts: Array
    columns: Array
    changes: Changes


class Graph(NamedTuple):
    """Edges of a view, and the messages along them.

    Attributes:
        directed, constant: as for :func:`sort_messages`.
        ends: (2, ≥ E) of the edges, of which `known` (1,) are taken over.
        first: (≥ n + 1,), `source` (≥ 2 E,) and `row` (≥ 2 E,): messages by target.
        rewired: (≥ n,) nodes whose messages are others than before, `rewired_count` (1,) of them.
    """

    directed: bool
    constant: bool
    ends: Array
    known: Array
    first: Array
    source: Array
    row: Array
    rewired: Array
    rewired_count: Array


class Marks(NamedTuple):
    """Which nodes are listed already: those whose stamp is the present clock.

    Attributes:
        stamp: (2, ≥ n), for two lists at a time.
        clock: (1,)
    """

    stamp: Array
    clock: Array


class FirstLayer(NamedTuple):
    """The edge network and the layer behind it.

    Attributes:
        edge_w: (d_m, k) and `edge_b` (k,): first layer of the edge network.
        w: (d, k + 1, out): its second layer by node feature, the bias last.
        root: (d, out) and `bias` (out,), the batch norm folded in.
        slope: of the activation below 0.
        group_first: (groups + 1,) and `group_columns` (d,): columns of each group.
        kept: (c,) columns whose edge matrices are kept, and `slot` (d,) their places, -1 for none.
        hidden: (≥ R, k), `matrices` (c, ≥ R, out): the edge network's outputs, updated.
        parts: (groups, ≥ n, out) contributions of groups, updated.
        out: (≥ n, out), updated, and `affected` (≥ n,) the rows that were.
        scratch: (≥ n,) rows of one group, and `total` (≥ n, k + 1) sums of messages.
    """

    edge_w: Array
    edge_b: Array
    w: Array
    root: Array
    bias: Array
    slope: np.float32
    group_first: Array
    group_columns: Array
    kept: Array
    slot: Array
    hidden: Array
    matrices: Array
    parts: Array
    out: Array
    affected: Array
    scratch: Array
    total: Array


class SageLayer(NamedTuple):
    """A mean-SAGE layer.

    Attributes:
        h: (≥ n, in) its input, and `changed` (≥ n,) the rows of it that changed.
        w: (1, in, 2 out), for the neighbours and for the node itself, and `bias` (out,).
        slope: of the activation below 0.
        final: whether this is the last layer (no activation, `normalise` to length 1).
        sent: (≥ n, 2 out) transformed input, updated.
        out: (≥ n, out), updated, and `affected` (≥ n,) the rows that were.
    """

    h: Array
    changed: Array
    w: Array
    bias: Array
    slope: np.float32
    final: bool
    normalise: bool
    sent: Array
    out: Array
    affected: Array


class ViewState(NamedTuple):
    """What the kernels keep of a view.

    Attributes:
        nodes, edges: features.
        read: (columns, changes) of the nodes that the first layer reads: those of `nodes`, or with
            all groups as one.
        layers: the mean-SAGE layers.
    """

    graph: Graph
    nodes: Compared
    edges: Compared
    read: tuple[Array, Changes]
    first: FirstLayer
    layers: tuple[Any, ...]
    marks: Marks


@njit(cache=True, fastmath=_FAST)
def edge_hidden(e, row, directed, columns, layer):  # type: ignore[no-untyped-def]
    """Hidden layer of the edge network for an edge; a directed one has a row in each direction.

    Args:
        e: number of the edge, `row` of its message features, the next one against its direction.
        directed: whether the last input is 1 against the direction of an edge.
        columns: (d_e, ≥ E) edge features.
        layer: whose `hidden` is written.
    """
    w, b, hidden = layer.edge_w, layer.edge_b, layer.hidden
    last = w.shape[0] - 1
    for k in range(w.shape[1]):
        hidden[row, k] = b[k]
    add_columns(hidden, row, columns, e, w)
    if directed:
        for k in range(w.shape[1]):
            hidden[row + 1, k] = max(hidden[row, k] + w[last, k], np.float32(0.0))
    for k in range(w.shape[1]):
        hidden[row, k] = max(hidden[row, k], np.float32(0.0))


@njit(cache=True, fastmath=_FAST)
def edge_matrices(rows, number, layer):  # type: ignore[no-untyped-def]
    """Output of the edge network for rows (≥ number,) of the message features, as `matrices`."""
    w, kept, matrices = layer.w, layer.kept, layer.matrices
    last = w.shape[1] - 1
    for s in range(kept.shape[0]):
        c = kept[s]
        for q in range(number):
            for o in range(w.shape[2]):
                matrices[s, rows[q], o] = w[c, last, o]
        add_products(matrices[s], rows, number, layer.hidden, last, w, c)


@njit(cache=True)
def mark(node, side, marks, rows, count):  # type: ignore[no-untyped-def]
    """List `node` in `rows` unless it is there; return the new count."""
    if marks.stamp[side, node] != marks.clock[0]:
        marks.stamp[side, node] = marks.clock[0]
        rows[count] = node
        count += 1
    return count


@njit(cache=True)
def spread(changed, number, n, graph, marks, rows):  # type: ignore[no-untyped-def]
    """List `number` changed nodes and their neighbours in `rows`; return how many that are."""
    count = 0
    if number == n:
        for i in range(n):
            count = mark(i, 0, marks, rows, count)
        return count
    for q in range(number):
        j = changed[q]
        count = mark(j, 0, marks, rows, count)
        for m in range(graph.first[j], graph.first[j + 1]):
            count = mark(graph.source[m], 0, marks, rows, count)
    return count


@njit(cache=True)
def rewire(edges, n, graph, marks):  # type: ignore[no-untyped-def]
    """Messages over `edges` (2, E), and the nodes whose messages are others than before.

    Those are both ends of moved edges, before and after.
    """
    ends, known = graph.ends, graph.known
    marks.clock[0] += 1
    count = 0
    for e in range(edges.shape[1]):
        if e < known[0] and (ends[0, e] != edges[0, e] or ends[1, e] != edges[1, e]):
            for side in range(2):
                count = mark(ends[side, e], 0, marks, graph.rewired, count)
                count = mark(edges[side, e], 0, marks, graph.rewired, count)
        ends[0, e] = edges[0, e]
        ends[1, e] = edges[1, e]
    sort_messages(edges, n, graph.directed, graph.constant, graph.first, graph.source, graph.row)
    known[0] = edges.shape[1]
    graph.rewired_count[0] = count


@njit(cache=True)
def _renew_edges(graph, edges, layer):  # type: ignore[no-untyped-def]
    """Bring the edge network up to date where edge features changed."""
    changed, count = edges.changes.changed, edges.changes.counts[0]
    sides = 2 if graph.directed else 1
    distinct = min(count, 1) if graph.constant else count
    for q in range(distinct):
        e = changed[0, q]
        place = 0 if graph.constant else sides * e
        edge_hidden(e, place, graph.directed, edges.columns, layer)
    if layer.kept.shape[0] and distinct:
        places = np.empty(sides * distinct, dtype=np.int64)
        for q in range(distinct):
            for side in range(sides):
                place = side if graph.constant else sides * changed[0, q] + side
                places[sides * q + side] = place
        edge_matrices(places, len(places), layer)


@njit(cache=True)
def _rows_of_group(g, n, graph, changes, edges, marks, rows):  # type: ignore[no-untyped-def]
    """List in `rows` where the contribution of a group is another now; return how many that are."""
    marks.clock[0] += 1
    count = spread(changes.changed[g], changes.counts[g], n, graph, marks, rows)
    moved = edges.changed[0]
    for q in range(edges.counts[0] if count < n else 0):
        count = mark(graph.ends[0, moved[q]], 0, marks, rows, count)
        count = mark(graph.ends[1, moved[q]], 0, marks, rows, count)
    for q in range(graph.rewired_count[0]):
        count = mark(graph.rewired[q], 0, marks, rows, count)
    return count


@njit(cache=True, fastmath=_FAST)
def _contribute(g, number, graph, columns, layer):  # type: ignore[no-untyped-def]
    """What the columns of group `g` contribute to the first layer, for scratch[:number]."""
    rows, part, total, root = layer.scratch, layer.parts[g], layer.total, layer.root
    first, source, row = graph.first, graph.source, graph.row
    last = layer.w.shape[1] - 1
    for r in range(number):
        i = rows[r]
        for o in range(part.shape[1]):
            part[i, o] = 0.0
    for q in range(layer.group_first[g], layer.group_first[g + 1]):
        c = layer.group_columns[q]
        for r in range(number):
            i = rows[r]
            x = columns[c, i]
            if x != 0.0:
                for o in range(part.shape[1]):
                    part[i, o] += x * root[c, o]
        s = layer.slot[c]
        if s >= 0:  # one vector per edge is at hand
            table = layer.matrices[s]
            for r in range(number):
                i = rows[r]
                add_messages(part, i, columns, c, table, source, row, first[i], first[i + 1])
        else:  # sum the hidden layers first, multiply once
            for r in range(number):
                i = rows[r]
                for k in range(last):
                    total[i, k] = 0.0
                ones = np.float32(0.0)
                for m in range(first[i], first[i + 1]):
                    ones += columns[c, source[m]]
                add_messages(
                    total, i, columns, c, layer.hidden, source, row, first[i], first[i + 1]
                )
                total[i, last] = ones
            add_products(part, rows, number, total, last + 1, layer.w, c)


@njit(cache=True, fastmath=_FAST)
def first_layer(n, graph, read, edges, layer, marks):  # type: ignore[no-untyped-def]
    """Bring the edge network and the first layer up to date; clear the lists of changes.

    Args:
        n: number of nodes.
        read: (columns, changes) of the nodes.
        edges: features of the edges.

    Returns:
        How many rows of `layer.out` were recomputed.
    """
    columns, changes = read
    out, bias, slope, parts = layer.out, layer.bias, layer.slope, layer.parts
    groups = changes.counts.shape[0]
    _renew_edges(graph, edges, layer)
    number = 0
    marks.clock[0] += 1
    everywhere = marks.clock[0]
    for g in range(groups):
        rows = 0
        new = changes.counts[g] or edges.changes.counts[0] or graph.rewired_count[0]
        if new and layer.group_first[g] < layer.group_first[g + 1]:
            rows = _rows_of_group(g, n, graph, changes, edges.changes, marks, layer.scratch)
            _contribute(g, rows, graph, columns, layer)
        for q in range(rows):
            i = layer.scratch[q]
            if marks.stamp[1, i] != everywhere:
                marks.stamp[1, i] = everywhere
                layer.affected[number] = i
                number += 1
        for q in range(changes.counts[g]):
            changes.dirty[g, changes.changed[g, q]] = 0
        changes.counts[g] = 0
    for q in range(edges.changes.counts[0]):
        edges.changes.dirty[0, edges.changes.changed[0, q]] = 0
    edges.changes.counts[0] = 0
    graph.rewired_count[0] = 0
    for q in range(number):
        i = layer.affected[q]
        for o in range(out.shape[1]):
            out[i, o] = bias[o]
        for g in range(groups):
            if layer.group_first[g] < layer.group_first[g + 1]:
                for o in range(out.shape[1]):
                    out[i, o] += parts[g, i, o]
        for o in range(out.shape[1]):
            value = out[i, o]
            out[i, o] = value if value > 0.0 else value * slope
    return number


@njit(cache=True, fastmath=_FAST)
def sage_layer(number, n, graph, layer, marks):  # type: ignore[no-untyped-def]
    """Bring a mean-SAGE layer up to date where `number` rows of its input changed.

    Returns:
        How many rows of `layer.out` were recomputed.
    """
    changed, sent, out, affected = layer.changed, layer.sent, layer.out, layer.affected
    bias, slope, first = layer.bias, layer.slope, graph.first
    width = out.shape[1]
    for q in range(number):
        i = changed[q]
        for o in range(2 * width):
            sent[i, o] = 0.0
    add_products(sent, changed, number, layer.h, layer.h.shape[1], layer.w, 0)
    marks.clock[0] += 1
    rows = spread(changed, number, n, graph, marks, affected)
    for q in range(rows):
        i = affected[q]
        for o in range(width):
            out[i, o] = 0.0
        degree = first[i + 1] - first[i]
        if degree > 0:
            add_neighbours(out, i, sent, graph.source, first[i], first[i + 1])
            scale = np.float32(1.0) / np.float32(degree)
            for o in range(width):
                out[i, o] *= scale
        for o in range(width):
            out[i, o] += sent[i, width + o] + bias[o]
        if not layer.final:
            for o in range(width):
                value = out[i, o]
                out[i, o] = value if value > 0.0 else value * slope
        elif layer.normalise:
            square = np.float32(0.0)
            for o in range(width):
                square += out[i, o] * out[i, o]
            scale = np.float32(1.0) / max(np.sqrt(square), np.float32(1e-12))
            for o in range(width):
                out[i, o] *= scale
    return rows


@njit(cache=True)
def update(arguments, n, ends, moved, nodes_touched, edges_touched):  # type: ignore[no-untyped-def]
    """Bring messages, features and all layers up to date.

    Args:
        arguments: bound, a :class:`ViewState`.
        n: number of nodes, and `ends` (2, E) of the edges: both may grow while arrays have room.
        moved: whether edges moved or were added.
        nodes_touched: whether to compare attributes of nodes.
        edges_touched: likewise of edges.

    Returns:
        0 or 1, attribute and row of a value of a node or edge that is not finite; else -1 each.
    """
    state = opened(arguments)
    graph, marks = state.graph, state.marks
    if moved:
        rewire(ends, n, graph, marks)
    if nodes_touched:
        number, row = sync_columns(*state.nodes)
        if row >= 0:
            return 0, number, row
    if edges_touched:
        number, row = sync_columns(*state.edges)
        if row >= 0:
            return 1, number, row
    count = first_layer(n, graph, state.read, state.edges, state.first, marks)
    for index in range(len(state.layers)):
        if count:
            count = sage_layer(count, n, graph, state.layers[index], marks)
    return -1, -1, -1
