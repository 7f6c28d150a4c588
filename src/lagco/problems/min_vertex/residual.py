"""Uncovered part of a graph: sizes of neighbourhoods and of independent sets, compiled."""

from __future__ import annotations

import math

from numba import njit

#: nodes that a completion leaves out one by one before the rest is estimated
DEPTH = 32


@njit(cache=True)
def neighbourhood(first, neighbours, selected, bare, node, mark):  # type: ignore[no-untyped-def]
    """Sum of the uncovered degrees of a node's neighbours, and edges among these.

    mark (n,): scratch, all False, left as found.
    """
    total = within = 0
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        if not selected[other]:
            mark[other] = True
            total += bare[other]
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        if selected[other]:
            continue
        for j in range(first[other], first[other + 1]):
            within += mark[neighbours[j]]
    for k in range(first[node], first[node + 1]):
        mark[neighbours[k]] = False
    return total, within // 2


@njit(cache=True)
def independence(nodes, edges):  # type: ignore[no-untyped-def]
    """Expected size of an independent set that is found greedily in a random graph."""
    if nodes <= 1:
        return float(max(nodes, 0))
    density = min(2.0 * max(edges, 0) / (nodes * (nodes - 1.0)), 0.999)
    if density < 1e-9:
        return float(nodes)
    rate = -math.log1p(-density)
    return math.log1p(nodes * rate) / rate


@njit(cache=True)
def completion(first, neighbours, bare, node, degree, alive, taken):  # type: ignore[no-untyped-def]
    """Size of the independent set of `node` and, again and again, a node of least degree.

    After DEPTH nodes the rest is estimated. Written to taken (n,): 1 where the cover that leaves
    the set out takes a node with uncovered edges, 0.5 where that was not decided, else 0.
    Scratch (n,): degree, alive.
    """
    n = bare.shape[0]
    for v in range(n):
        degree[v] = bare[v]
        alive[v] = bare[v] > 0
        taken[v] = 0.0
    size, current = 0, node
    left = edges = 0
    for _ in range(DEPTH):
        size += 1
        alive[current] = False
        for k in range(first[current], first[current + 1]):
            other = neighbours[k]
            if not alive[other]:
                continue
            alive[other] = False
            taken[other] = 1.0
            for j in range(first[other], first[other + 1]):
                degree[neighbours[j]] -= 1
        current, left, edges = -1, 0, 0
        for v in range(n):
            if not alive[v]:
                continue
            if degree[v] == 0:
                size += 1
                alive[v] = False
                continue
            left += 1
            edges += degree[v]
            if current < 0 or degree[v] < degree[current]:
                current = v
        if current < 0:
            return float(size)
    for v in range(n):
        if alive[v]:
            taken[v] = 0.5
    return size + independence(left, edges // 2)
