"""Hop distances of a graph, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def hop_distances(first, heads):  # type: ignore[no-untyped-def]
    """Fewest edges from any node to any other: (n, n), n where there is no way.

    The edges of node v lead to ``heads[first[v] : first[v + 1]]``.
    """
    n = first.shape[0] - 1
    hops = np.full((n, n), n, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    for source in range(n):
        hops[source, source] = 0
        queue[0] = source
        begin, end = 0, 1
        while begin < end:
            v = queue[begin]
            begin += 1
            for k in range(first[v], first[v + 1]):
                w = heads[k]
                if hops[source, w] == n:
                    hops[source, w] = hops[source, v] + 1
                    queue[end] = w
                    end += 1
    return hops
