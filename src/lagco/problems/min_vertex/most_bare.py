"""Nodes in the order of their uncovered edges, as greedy covers take them; compiled.

A heap holds a key per node with uncovered edges: higher the more it has, and among equals the lower
its number. Numbers of uncovered edges only fall, so a key that has become too high is corrected
when it comes up, and not before: selecting all nodes takes little more than linear time.
"""

from __future__ import annotations

import heapq

from numba import njit


@njit(cache=True, inline="always")
def _key(node, bare, n):  # type: ignore[no-untyped-def]
    """Key of a node, negative, since the heap brings up the smallest."""
    return -(bare[node] * n + (n - 1 - node))


@njit(cache=True)
def heap_of(bare):  # type: ignore[no-untyped-def]
    """Heap of the nodes with uncovered edges; bare (n,): how many each has.

    It is a list of int64 that is never empty: key 1 is no node's.
    """
    n = bare.shape[0]
    heap = [1]
    for v in range(n):
        if bare[v] > 0:
            heap.append(_key(v, bare, n))
    heapq.heapify(heap)
    return heap


@njit(cache=True)
def pop_node(heap, bare):  # type: ignore[no-untyped-def]
    """Take out the first node with the most uncovered edges; -1 where no edge is uncovered."""
    n = bare.shape[0]
    while heap[0] <= 0:
        key = heapq.heappop(heap)
        node = n - 1 - (-key) % n
        if bare[node] == 0:
            continue
        if key == _key(node, bare, n):
            return node
        heapq.heappush(heap, _key(node, bare, n))
    return -1
