"""The compiled encoder: kernels.

Every kernel computes rows from scratch, in gather form, in an order that depends on the row alone.
So a row has the same bits whether few or all rows are recomputed, whatever happened before.
"""

from __future__ import annotations

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

_FAST = {"contract"}  # fused multiply-add; nothing that reorders sums


@njit(cache=True, fastmath=_FAST)
def edge_hidden(edges, count, edge_rows, columns, directed, constant, w, b, hidden):  # type: ignore[no-untyped-def]
    """Hidden layer of the edge network for some edges.

    Args:
        edges: (≥ count,) edge numbers.
        count: how many of them.
        edge_rows: (2, E) rows of each edge, along and against it.
        columns: (d_e, E) edge features.
        directed: whether a last input tells the two rows of an edge apart.
        constant: the only feature is a 1.
        w: (d_m, k) and `b` (k,): first layer.
        hidden: (R, k), written.
    """
    width = columns.shape[0]
    for q in range(count):
        e = edges[q]
        for side in range(2 if directed else 1):
            row = edge_rows[side, e]
            for k in range(w.shape[1]):
                hidden[row, k] = b[k]
            for c in range(width):
                value = np.float32(1.0) if constant else columns[c, e]
                for k in range(w.shape[1]):
                    hidden[row, k] += value * w[c, k]
            if side == 1:
                for k in range(w.shape[1]):
                    hidden[row, k] += w[width, k]
            for k in range(w.shape[1]):
                hidden[row, k] = max(hidden[row, k], np.float32(0.0))


@njit(cache=True, fastmath=_FAST)
def edge_matrices(edges, count, edge_rows, sides, hidden, w, kept, matrices):  # type: ignore[no-untyped-def]
    """Output of the edge network for some edges and some input columns.

    Args:
        edges: (≥ count,) edge numbers.
        count: how many of them.
        edge_rows: (2, E) rows of each edge.
        sides: 2 in a directed view, else 1.
        hidden: (R, k)
        w: (k + 1, d, out), the bias last.
        kept: (c,) input columns.
        matrices: (c, R, out), written.
    """
    last = w.shape[0] - 1
    for q in range(count):
        for side in range(sides):
            row = edge_rows[side, edges[q]]
            for s in range(kept.shape[0]):
                c = kept[s]
                for o in range(w.shape[2]):
                    matrices[s, row, o] = w[last, c, o]
                for k in range(last):
                    r = hidden[row, k]
                    if r != 0.0:
                        for o in range(w.shape[2]):
                            matrices[s, row, o] += r * w[k, c, o]


@njit(cache=True)
def mark(node, stamp, now, rows, count):  # type: ignore[no-untyped-def]
    """List `node` in `rows` unless it is there; return the new count."""
    if stamp[node] != now:
        stamp[node] = now
        rows[count] = node
        count += 1
    return count


@njit(cache=True)
def spread(changed, number, first, source, stamp, now, rows, count):  # type: ignore[no-untyped-def]
    """List the changed nodes and their neighbours."""
    n = first.shape[0] - 1
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
def _contribution(  # type: ignore[no-untyped-def]
    i,
    part,
    group_columns,
    low,
    high,
    slot,
    first,
    source,
    row,
    columns,
    hidden,
    matrices,
    w,
    root,
    total,
):
    """part[i] = what the columns of one group contribute to the first layer's row i."""
    out = part.shape[1]
    for o in range(out):
        part[i, o] = 0.0
    last = w.shape[0] - 1
    for q in range(low, high):
        c = group_columns[q]
        x = columns[c, i]
        if x != 0.0:
            for o in range(out):
                part[i, o] += x * root[c, o]
        s = slot[c]
        if s >= 0:  # one vector per edge is at hand
            for m in range(first[i], first[i + 1]):
                x = columns[c, source[m]]
                if x != 0.0:
                    e = row[m]
                    for o in range(out):
                        part[i, o] += x * matrices[s, e, o]
        else:  # sum the hidden layers first, multiply once
            for k in range(last + 1):
                total[k] = 0.0
            for m in range(first[i], first[i + 1]):
                x = columns[c, source[m]]
                if x != 0.0:
                    e = row[m]
                    for k in range(last):
                        total[k] += x * hidden[e, k]
                    total[last] += x
            for k in range(last + 1):
                t = total[k]
                if t != 0.0:
                    for o in range(out):
                        part[i, o] += t * w[k, c, o]


@njit(cache=True, fastmath=_FAST)
def first_layer(  # type: ignore[no-untyped-def]
    columns,
    dirty,
    changed,
    counts,
    edges,
    edge_count,
    edge_dirty,
    tails,
    heads,
    first,
    source,
    row,
    hidden,
    matrices,
    slot,
    group_first,
    group_columns,
    w,
    root,
    bias,
    slope,
    parts,
    out,
    stamp,
    clock,
    scratch,
    affected,
    total,
):
    """Bring the first layer up to date; clear the lists of changes.

    Args:
        columns: (d, n) node features.
        dirty: (groups, n), `changed` (groups, n), `counts` (groups,): changed rows per group.
        edges: (≥ edge_count,) changed edges, `edge_dirty` (E,) their flags.
        tails: (E,) and `heads` (E,): ends of the edges.
        first: (n + 1,), `source` (M,), `row` (M,): messages by target.
        hidden: (R, k), `matrices` (c, R, out), `slot` (d,): the edge network's outputs.
        group_first: (groups + 1,) and `group_columns` (d,): columns of each group.
        w: (k + 1, d, out), `root` (d, out), `bias` (out,): weights, the batch norm folded in.
        slope: of the activation below 0.
        parts: (groups, n, out) contributions, `out` (n, out): the layer's output, both updated.
        stamp: (n,) and `clock` (1,): marks of rows that are listed already.
        scratch: (n,) rows of one group.
        affected: (n,), written: rows of `out` that were recomputed.
        total: (k + 1,), scratch.

    Returns:
        How many rows were recomputed.
    """
    width = out.shape[1]
    groups = counts.shape[0]
    clock[0] += 1
    now_all = clock[0]
    number = 0
    for g in range(groups):
        low, high = group_first[g], group_first[g + 1]
        clock[0] += 1
        now = clock[0]
        rows = 0
        if low < high:
            if counts[g] > 0:
                rows = spread(changed[g], counts[g], first, source, stamp[0], now, scratch, rows)
            if rows < stamp.shape[1]:
                for q in range(edge_count):
                    rows = mark(tails[edges[q]], stamp[0], now, scratch, rows)
                    rows = mark(heads[edges[q]], stamp[0], now, scratch, rows)
        for q in range(rows):
            i = scratch[q]
            _contribution(
                i,
                parts[g],
                group_columns,
                low,
                high,
                slot,
                first,
                source,
                row,
                columns,
                hidden,
                matrices,
                w,
                root,
                total,
            )
            number = mark(i, stamp[1], now_all, affected, number)
        for q in range(counts[g]):
            dirty[g, changed[g, q]] = 0
        counts[g] = 0
    for q in range(edge_count):
        edge_dirty[edges[q]] = 0
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
    h,
    changed,
    number,
    first,
    source,
    w,
    bias,
    final,
    normalise,
    slope,
    sent,
    out,
    stamp,
    clock,
    affected,
):
    """Bring a mean-SAGE layer up to date, given the changed rows of its input.

    Args:
        h: (n, in) input.
        changed: (≥ number,) its changed rows.
        number: how many.
        first: (n + 1,) and `source` (M,): messages by target.
        w: (in, 2 out), for the neighbours and for the node itself.
        bias: (out,)
        final: whether this is the last layer (no activation, `normalise` to length 1).
        slope: of the activation below 0.
        sent: (n, 2 out) transformed input, updated.
        out: (n, out) updated.
        stamp: (2, n), `clock` (1,): marks.
        affected: (n,), written: rows of `out` that were recomputed.

    Returns:
        How many rows were recomputed.
    """
    width = out.shape[1]
    for q in range(number):
        i = changed[q]
        for o in range(2 * width):
            sent[i, o] = 0.0
        for k in range(h.shape[1]):
            x = h[i, k]
            if x != 0.0:
                for o in range(2 * width):
                    sent[i, o] += x * w[k, o]
    clock[0] += 1
    rows = spread(changed, number, first, source, stamp[0], clock[0], affected, 0)
    for q in range(rows):
        i = affected[q]
        for o in range(width):
            out[i, o] = 0.0
        degree = first[i + 1] - first[i]
        if degree > 0:
            for m in range(first[i], first[i + 1]):
                j = source[m]
                for o in range(width):
                    out[i, o] += sent[j, o]
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
