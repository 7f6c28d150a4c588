"""The compiled encoder: kernels.

Every kernel computes rows from scratch, in gather form, in an order that depends on the row alone.
So a row has the same bits whether few or all rows are recomputed, whatever happened before.
"""

from __future__ import annotations

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

from lagco.bound_arguments import opened
from lagco.embedding.feature_kernels import sync_columns
from lagco.embedding.messages import sort_messages
from lagco.embedding.row_sums import add_columns, add_messages, add_neighbours, add_products

_FAST = {"contract"}  # fused multiply-add; nothing that reorders sums


@njit(cache=True, fastmath=_FAST)
def edge_hidden(e, row, directed, columns, w, b, hidden):  # type: ignore[no-untyped-def]
    """Hidden layer of the edge network for an edge; a directed one has a row in each direction.

    Args:
        e: number of the edge, `row` of its message features, the next one against its direction.
        columns: (d_e, ≥ E) edge features.
        w: (d_m, k) and `b` (k,): first layer; the last input of a directed view is 1 against it.
        hidden: (≥ R, k), written.
    """
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
def edge_matrices(rows, number, hidden, w, kept, matrices):  # type: ignore[no-untyped-def]
    """Output of the edge network for some rows and some input columns.

    Args:
        rows: (≥ number,) of the message features.
        hidden: (≥ R, k)
        w: (d, k + 1, out), the bias last.
        kept: (c,) input columns.
        matrices: (c, ≥ R, out), written.
    """
    last = w.shape[1] - 1
    for s in range(kept.shape[0]):
        c = kept[s]
        for q in range(number):
            for o in range(w.shape[2]):
                matrices[s, rows[q], o] = w[c, last, o]
        add_products(matrices[s], rows, number, hidden, last, w, c)


@njit(cache=True)
def mark(node, stamp, now, rows, count):  # type: ignore[no-untyped-def]
    """List `node` in `rows` unless it is there; return the new count."""
    if stamp[node] != now:
        stamp[node] = now
        rows[count] = node
        count += 1
    return count


@njit(cache=True)
def spread(changed, number, n, first, source, stamp, now, rows, count):  # type: ignore[no-untyped-def]
    """List the changed nodes and their neighbours."""
    if number == n:
        for i in range(n):
            count = mark(i, stamp, now, rows, count)
        return count
    for q in range(number):
        j = changed[q]
        count = mark(j, stamp, now, rows, count)
        for m in range(first[j], first[j + 1]):
            count = mark(source[m], stamp, now, rows, count)
    return count


@njit(cache=True, fastmath=_FAST)
def _contributions(  # type: ignore[no-untyped-def]
    rows, number, part, group_columns, low, high, slot, first, source, row, columns, hidden,
    matrices, w, root, total,
):  # fmt: skip
    """part[i] = what the columns of one group contribute to the first layer, for i in `rows`."""
    out = part.shape[1]
    last = w.shape[1] - 1
    for r in range(number):
        i = rows[r]
        for o in range(out):
            part[i, o] = 0.0
    for q in range(low, high):
        c = group_columns[q]
        s = slot[c]
        for r in range(number):
            i = rows[r]
            x = columns[c, i]
            if x != 0.0:
                for o in range(out):
                    part[i, o] += x * root[c, o]
            if s >= 0:  # one vector per edge is at hand
                add_messages(part, i, columns, c, matrices[s], source, row, first[i], first[i + 1])
            else:  # sum the hidden layers first, multiply once
                for k in range(last):
                    total[i, k] = 0.0
                ones = np.float32(0.0)
                for m in range(first[i], first[i + 1]):
                    ones += columns[c, source[m]]
                add_messages(total, i, columns, c, hidden, source, row, first[i], first[i + 1])
                total[i, last] = ones
        if s < 0:
            add_products(part, rows, number, total, last + 1, w, c)


@njit(cache=True)
def rewire(  # type: ignore[no-untyped-def]
    edges, known, n, directed, constant, ends, first, source, row, stamp, clock, rewired,
    rewired_count,
):  # fmt: skip
    """Messages over `edges`, and the nodes whose messages are others than before.

    Args:
        edges: (2, E), of which the first `known` (1,) are those in `ends`, or moved.
        n: number of nodes; `directed` and `constant` as for :func:`sort_messages`.
        ends: (2, ≥ E), brought up to date.
        first: (≥ n + 1,), `source` (≥ 2 E,) and `row` (≥ 2 E,): the messages, written.
        stamp: (2, ≥ n) and `clock` (1,): marks.
        rewired: (≥ n,) and their number `rewired_count` (1,), written: both ends of moved edges,
            before and after.
    """
    clock[0] += 1
    count = 0
    for e in range(edges.shape[1]):
        if e < known[0] and (ends[0, e] != edges[0, e] or ends[1, e] != edges[1, e]):
            for side in range(2):
                count = mark(ends[side, e], stamp[0], clock[0], rewired, count)
                count = mark(edges[side, e], stamp[0], clock[0], rewired, count)
        ends[0, e] = edges[0, e]
        ends[1, e] = edges[1, e]
    sort_messages(edges, n, directed, constant, first, source, row)
    known[0] = edges.shape[1]
    rewired_count[0] = count


@njit(cache=True, fastmath=_FAST)
def first_layer(  # type: ignore[no-untyped-def]
    n, directed, constant,
    columns, dirty, changed, counts,
    edge_columns, edge_dirty, changed_edges, edge_counts,
    ends, first, source, row, rewired, rewired_count,
    hidden, matrices, kept, slot, group_first, group_columns,
    edge_w, edge_b, w, root, bias, slope,
    parts, out, stamp, clock, scratch, affected, total,
):  # fmt: skip
    """Bring the edge network and the first layer up to date; clear the lists of changes.

    Args:
        n: number of nodes; `directed` and `constant` as for :func:`sort_messages`.
        columns: (d, ≥ n) node features.
        dirty: (groups, ≥ n), `changed` (groups, ≥ n), `counts` (groups,): changed rows per group.
        edge_columns: (d_e, ≥ E), `edge_dirty`, `changed_edges`, `edge_counts`: likewise for edges,
            in a single group.
        ends: (2, ≥ E) of the edges.
        first: (≥ n + 1,), `source` (≥ M,), `row` (≥ M,): messages by target.
        rewired: (≥ n,) and `rewired_count` (1,): nodes whose messages are others than before.
        hidden: (≥ R, k), `matrices` (c, ≥ R, out): the edge network's outputs, the latter for the
            columns `kept` (c,), whose places are in `slot` (d,).
        group_first: (groups + 1,) and `group_columns` (d,): columns of each group.
        edge_w: (d_m, k), `edge_b` (k,), `w` (d, k + 1, out), `root` (d, out), `bias` (out,):
            weights, the batch norm folded in.
        slope: of the activation below 0.
        parts: (groups, ≥ n, out) contributions, `out` (≥ n, out): the layer's output, both updated.
        stamp: (2, ≥ n) and `clock` (1,): marks of rows that are listed already.
        scratch: (≥ n,) rows of one group.
        affected: (≥ n,), written: rows of `out` that were recomputed.
        total: (≥ n, k + 1), scratch.

    Returns:
        How many rows were recomputed.
    """
    width = out.shape[1]
    groups = counts.shape[0]
    edge_count = edge_counts[0]
    sides = 2 if directed else 1
    distinct = min(edge_count, 1) if constant else edge_count
    for q in range(distinct):
        e = changed_edges[0, q]
        place = 0 if constant else sides * e
        edge_hidden(e, place, directed, edge_columns, edge_w, edge_b, hidden)
    if kept.shape[0] and distinct:
        places = np.empty(sides * distinct, dtype=np.int64)
        for q in range(distinct):
            for side in range(sides):
                place = side if constant else sides * changed_edges[0, q] + side
                places[sides * q + side] = place
        edge_matrices(places, len(places), hidden, w, kept, matrices)
    clock[0] += 1
    now_all = clock[0]
    number = 0
    for g in range(groups):
        low, high = group_first[g], group_first[g + 1]
        clock[0] += 1
        now = clock[0]
        rows = 0
        if low < high:
            rows = spread(changed[g], counts[g], n, first, source, stamp[0], now, scratch, rows)
            for q in range(edge_count if rows < n else 0):
                rows = mark(ends[0, changed_edges[0, q]], stamp[0], now, scratch, rows)
                rows = mark(ends[1, changed_edges[0, q]], stamp[0], now, scratch, rows)
            for q in range(rewired_count[0]):
                rows = mark(rewired[q], stamp[0], now, scratch, rows)
        _contributions(
            scratch, rows, parts[g], group_columns, low, high, slot, first, source, row, columns,
            hidden, matrices, w, root, total,
        )  # fmt: skip
        for q in range(rows):
            number = mark(scratch[q], stamp[1], now_all, affected, number)
        for q in range(counts[g]):
            dirty[g, changed[g, q]] = 0
        counts[g] = 0
    for q in range(edge_count):
        edge_dirty[0, changed_edges[0, q]] = 0
    edge_counts[0] = 0
    rewired_count[0] = 0
    for q in range(number):
        i = affected[q]
        for o in range(width):
            out[i, o] = bias[o]
        for g in range(groups):
            if group_first[g] < group_first[g + 1]:
                for o in range(width):
                    out[i, o] += parts[g, i, o]
        for o in range(width):
            value = out[i, o]
            out[i, o] = value if value > 0.0 else value * slope
    return number


@njit(cache=True, fastmath=_FAST)
def sage_layer(  # type: ignore[no-untyped-def]
    number, n, h, changed, first, source, w, bias, final, normalise, slope, sent, out, stamp, clock,
    affected,
):  # fmt: skip
    """Bring a mean-SAGE layer up to date, given the changed rows of its input.

    Args:
        number: how many rows of the input changed, and
        h: (≥ n, in) the input.
        changed: (≥ number,) these rows.
        n: number of nodes.
        first: (≥ n + 1,) and `source` (≥ M,): messages by target.
        w: (1, in, 2 out), for the neighbours and for the node itself.
        bias: (out,)
        final: whether this is the last layer (no activation, `normalise` to length 1).
        slope: of the activation below 0.
        sent: (≥ n, 2 out) transformed input, updated.
        out: (≥ n, out) updated.
        stamp: (2, ≥ n), `clock` (1,): marks.
        affected: (≥ n,), written: rows of `out` that were recomputed.

    Returns:
        How many rows were recomputed.
    """
    width = out.shape[1]
    for q in range(number):
        i = changed[q]
        for o in range(2 * width):
            sent[i, o] = 0.0
    add_products(sent, changed, number, h, h.shape[1], w, 0)
    clock[0] += 1
    rows = spread(changed, number, n, first, source, stamp[0], clock[0], affected, 0)
    for q in range(rows):
        i = affected[q]
        for o in range(width):
            out[i, o] = 0.0
        degree = first[i + 1] - first[i]
        if degree > 0:
            add_neighbours(out, i, sent, source, first[i], first[i + 1])
            scale = np.float32(1.0) / np.float32(degree)
            for o in range(width):
                out[i, o] *= scale
        for o in range(width):
            out[i, o] += sent[i, width + o] + bias[o]
        if not final:
            for o in range(width):
                value = out[i, o]
                out[i, o] = value if value > 0.0 else value * slope
        elif normalise:
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
        arguments: bound; those of :func:`rewire`, of :func:`sync_columns` for nodes and for edges,
            of :func:`first_layer` in three parts, and per layer of :func:`sage_layer`, but for the
            next two.
        n: number of nodes, and `ends` (2, E) of the edges: both may grow while arrays have room.
        moved: whether edges moved or were added.
        nodes_touched: whether to compare attributes of nodes.
        edges_touched: likewise of edges.

    Returns:
        0 or 1, attribute and row of a value of a node or edge that is not finite; else -1 each.
    """
    known, wires, nodes, edges, before, noted, behind, layers = opened(arguments)
    if moved:
        rewire(ends, known, n, *wires)
    if nodes_touched:
        number, row = sync_columns(*nodes)
        if row >= 0:
            return 0, number, row
    if edges_touched:
        number, row = sync_columns(*edges)
        if row >= 0:
            return 1, number, row
    count = first_layer(n, *before, *noted, *behind)
    for index in range(len(layers)):
        if count:
            count = sage_layer(count, n, *layers[index])
    return -1, -1, -1
