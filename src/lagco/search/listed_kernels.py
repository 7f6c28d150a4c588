"""Compiled loops over sets that are small enough to score every action.

Sums run in the same order as in `kernels`: an action has one score whichever search finds it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.search.products.kernels import (
    compiled,
    negative_dots,
    negative_dots_and_norms,
    outer_sum,
    squared_distances,
)
from lagco.search.smallest_costs import first_smallest, smallest

L2, INNER, COSINE = range(3)


@compiled
def _scores(table: Any, query: Any, metric: int) -> Any:
    """(n, d), (d,) -> linear parts (n,), squared norms (n,; for cosine alone) and a checksum."""
    if metric == COSINE:
        return negative_dots_and_norms(table, query)
    if metric == L2:
        linear, check = squared_distances(table, query)
    else:
        linear, check = negative_dots(table, query)
    return linear, linear, check


@compiled
def _cost(linear: float, norm: float, metric: int) -> float:
    if metric != COSINE:
        return linear
    return linear * abs(linear) / norm if norm > 0.0 else 0.0


@compiled
def least(cost: Any, count: int) -> Any:
    """Positions of the `count` smallest finite costs in order; the first one on ties."""
    if count > 1:
        return smallest(cost, count)
    one = first_smallest(cost)
    return np.full(1 if one >= 0 else 0, one)


@compiled
def score_tuples(
    tables: Any,
    starts: Any,
    axis_of: Any,
    members: Any,
    merged: Any,
    query: Any,
    metric: int,
    known: Any,
) -> Any:
    """Scores of all actions of a product.

    tables: m arrays (n_c, d_c); that of component c meets query[starts[c]:starts[c] + d_c].
    axis_of: (m,), the axis of each component, ascending; members: m int arrays, per axis element
    the component's own; merged: (m,) bool, False where these are the same and `members` is empty.
    known: (actions,) bool, which actions count, the last axis running fastest; (0,) for all.

    Returns what `least_tuples` chooses from: linear parts and squared norms of all axes but the
    last and of the last, the costs of all actions and the sizes of the axes; and a checksum.
    """
    m = len(tables)
    sizes = np.ones(axis_of[m - 1] + 1, np.int64)
    left, left_norms = np.zeros(1), np.zeros(1)
    right, right_norms = np.zeros(1), np.zeros(1)
    check = 0.0
    for c in range(m):
        part = query[starts[c] : starts[c] + tables[c].shape[1]]
        linear, norms, total = _scores(tables[c], part, metric)
        check += total
        if merged[c]:
            linear, norms = linear[members[c]], norms[members[c]]
        if c > 0 and axis_of[c] == axis_of[c - 1]:
            right, right_norms = right + linear, right_norms + norms
        else:
            if c == 0:
                right, right_norms = linear, norms
            else:
                if axis_of[c] == 1:
                    left, left_norms = right, right_norms
                else:
                    left = outer_sum(left, right)
                    left_norms = outer_sum(left_norms, right_norms)
                right, right_norms = linear, norms
            sizes[axis_of[c]] = linear.shape[0]
    b = right.shape[0]
    cost = np.empty(left.shape[0] * b)
    for i in range(left.shape[0]):
        x, y = left[i], left_norms[i]
        for j in range(b):
            cost[i * b + j] = _cost(x + right[j], y + right_norms[j], metric)
    for position in range(known.shape[0]):
        if not known[position]:
            cost[position] = np.inf
    return (left, left_norms, right, right_norms, cost, sizes), check


@compiled
def least_tuples(scored: Any, axis_of: Any, members: Any, merged: Any, count: int) -> Any:
    """The `count` best of all actions of a product, by (cost, index tuple).

    Returns index tuples (k, m), linear parts, squared norms and costs, all (k,).
    """
    left, left_norms, right, right_norms, cost, sizes = scored
    flat = least(cost, count)
    m, k, b = axis_of.shape[0], flat.shape[0], right.shape[0]
    tuples = np.empty((k, m), np.int64)
    linear, norms, found = np.empty(k), np.empty(k), np.empty(k)
    for q in range(k):
        i, j = flat[q] // b, flat[q] % b
        linear[q] = left[i] + right[j]
        norms[q] = left_norms[i] + right_norms[j]
        found[q] = cost[flat[q]]
        rest = flat[q]
        for c in range(m - 1, -1, -1):
            at = rest % sizes[axis_of[c]]
            tuples[q, c] = members[c][at] if merged[c] else at
            if c > 0 and axis_of[c - 1] != axis_of[c]:
                rest //= sizes[axis_of[c]]
    return tuples, linear, norms, found


@compiled
def list_tuples(axis_of: Any, members: Any, merged: Any, lengths: Any) -> Any:
    """Index tuples (N, m) of all actions of a product, the last axis running fastest.

    lengths: (m,) elements of each component; the rest as for `score_tuples`.
    """
    m = axis_of.shape[0]
    sizes = np.ones(axis_of[m - 1] + 1, np.int64)
    for c in range(m):
        sizes[axis_of[c]] = members[c].shape[0] if merged[c] else lengths[c]
    tuples = np.empty((sizes.prod(), m), np.int64)
    repeats = 1  # actions in a row that have the same element
    for c in range(m - 1, -1, -1):
        size = sizes[axis_of[c]]
        for row in range(tuples.shape[0]):
            at = row // repeats % size
            tuples[row, c] = members[c][at] if merged[c] else at
        if c > 0 and axis_of[c - 1] != axis_of[c]:
            repeats *= size
    return tuples


@compiled
def position_scores(tables: Any, query: Any, metric: int) -> Any:
    """Scores of a table of node vectors per position: (T, n, d), (T · d,) -> (T, n) each, check."""
    positions, n, d = tables.shape
    linear = np.empty((positions, n))
    norms = np.empty((positions, n))
    check = 0.0
    for t in range(positions):
        linear[t], norms[t], total = _scores(tables[t], query[t * d : (t + 1) * d], metric)
        check += total
    return linear, norms, check


@compiled
def empty_positions(query: Any, positions: int, metric: int) -> Any:
    """(T · d,) -> (T + 1,): linear part of leaving the positions from i on empty.

    An empty position is a zero vector, for l2 at the distance of the query's own part.
    """
    d = query.shape[0] // positions
    pad = np.zeros(positions + 1)
    if metric == L2:
        for i in range(positions - 1, -1, -1):
            square = 0.0
            for c in range(i * d, (i + 1) * d):
                square += query[c] * query[c]
            pad[i] = pad[i + 1] + square
    return pad


@compiled
def score_rows(rows: Any, demands: Any, tables: Any, query: Any, metric: int) -> Any:
    """Scores of listed paths (N, 1 + T).

    demands: (D, d_e), possibly without columns; tables: (T, n, d). Returns linear parts, squared
    norms and costs, all (N,), and a checksum.
    """
    positions, n = tables.shape[:2]
    width = demands.shape[1]
    lead, lead_norms, lead_check = _scores(demands, query[:width], metric)
    node, node_norms, check = position_scores(tables, query[width:], metric)
    pad = empty_positions(query[width:], positions, metric)
    linear, norms, cost = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    for r in range(len(rows)):
        total, norm = lead[rows[r, 0]], lead_norms[rows[r, 0]]
        i = 0
        while i < positions and rows[r, i + 1] < n:
            total += node[i, rows[r, i + 1]]
            norm += node_norms[i, rows[r, i + 1]]
            i += 1
        linear[r], norms[r] = total + pad[i], norm
        cost[r] = _cost(linear[r], norm, metric)
    return linear, norms, cost, lead_check + check
