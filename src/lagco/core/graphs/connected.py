"""Connected sets of nodes: whether sets are such, and random ones."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def connected_rows(edges, allowed, rows):  # type: ignore[no-untyped-def]
    """Which rows (k, m) are connected sets: allowed nodes, ascending, padded with n; bool (k,).

    edges: (2, E), in both directions; allowed: bool (n,).
    """
    n, count = allowed.shape[0], edges.shape[1]
    first = np.zeros(n + 1, dtype=np.int64)
    for e in range(count):
        first[edges[0, e] + 1] += 1
        first[edges[1, e] + 1] += 1
    first = np.cumsum(first)
    filled = first[:-1].copy()
    heads = np.empty(2 * count, dtype=np.int64)
    for e in range(count):
        for a, b in ((edges[0, e], edges[1, e]), (edges[1, e], edges[0, e])):
            heads[filled[a]] = b
            filled[a] += 1
    inside = np.zeros(n, dtype=np.bool_)
    waiting = np.empty(rows.shape[1], dtype=np.int64)
    found = np.zeros(rows.shape[0], dtype=np.bool_)
    for r in range(rows.shape[0]):
        row = rows[r]
        size, fits = 0, True
        for i in range(row.shape[0]):
            v = row[i]
            if v == n:
                continue
            fits = fits and 0 <= v < n and size == i and (i == 0 or row[i - 1] < v)
            fits = fits and allowed[v]
            size += 1
        if not fits or size == 0:
            continue
        for i in range(size):
            inside[row[i]] = True
        waiting[0], inside[row[0]] = row[0], False
        begin, end = 0, 1
        while begin < end:
            v = waiting[begin]
            begin += 1
            for at in range(first[v], first[v + 1]):
                w = heads[at]
                if inside[w]:
                    inside[w] = False
                    waiting[end] = w
                    end += 1
        found[r] = end == size
        for i in range(size):
            inside[row[i]] = False
    return found
