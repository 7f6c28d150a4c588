"""Nodes that are no neighbours, drawn for the contrastive loss."""

from __future__ import annotations

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]


@njit(cache=True)
def _next(state):  # type: ignore[no-untyped-def]
    """splitmix64: advance `state` (1,) and return 64 random bits."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True)
def _is_neighbour(first, source, node, other):  # type: ignore[no-untyped-def]
    low, high = first[node], first[node + 1]
    while low < high:
        middle = (low + high) // 2
        if source[middle] < other:
            low = middle + 1
        else:
            high = middle
    return low < first[node + 1] and source[low] == other


@njit(cache=True)
def draw_negatives(edges, first, source, start, size, seed, count):  # type: ignore[no-untyped-def]
    """For each edge an anchor, the other end, and `count` non-neighbours of the anchor.

    Args:
        edges: (2, E); which end is the anchor is drawn.
        first: (n + 1,) and `source` (M,): neighbours of each node, ascending.
        start: (n,) first node of the node's graph.
        size: (n,) number of nodes in it.
        seed: of the draws.
        count: non-neighbours per edge.

    Returns:
        anchor (E,), other (E,), negatives (E, count) with -1 where the anchor has none.
    """
    number = edges.shape[1]
    anchor = np.empty(number, np.int64)
    other = np.empty(number, np.int64)
    negatives = np.full((number, count), -1, np.int64)
    state = np.array([seed], dtype=np.uint64)
    for e in range(number):
        flip = _next(state) & np.uint64(1)
        a = edges[1, e] if flip else edges[0, e]
        anchor[e] = a
        other[e] = edges[0, e] if flip else edges[1, e]
        for k in range(count):
            for _ in range(16):
                v = start[a] + np.int64(_next(state) % np.uint64(size[a]))
                if v != a and not _is_neighbour(first, source, a, v):
                    negatives[e, k] = v
                    break
            if negatives[e, k] < 0:  # dense graphs: look at every node from a random one on
                shift = np.int64(_next(state) % np.uint64(size[a]))
                for step in range(size[a]):
                    v = start[a] + (shift + step) % size[a]
                    if v != a and not _is_neighbour(first, source, a, v):
                        negatives[e, k] = v
                        break
    return anchor, other, negatives
