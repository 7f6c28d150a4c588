"""Binary heap of nodes with keys, smallest key first, in two arrays (compiled)."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def push_node(nodes, keys, count, node, key):  # type: ignore[no-untyped-def]
    """Add a node to a heap of `count` nodes."""
    at = count
    while at > 0 and keys[(at - 1) >> 1] > key:
        nodes[at], keys[at] = nodes[(at - 1) >> 1], keys[(at - 1) >> 1]
        at = (at - 1) >> 1
    nodes[at], keys[at] = node, key


@njit(cache=True)
def pop_node(nodes, keys, count):  # type: ignore[no-untyped-def]
    """Remove the first of `count` + 1 nodes; it has been read before."""
    node, key = nodes[count], keys[count]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        nodes[at], keys[at] = nodes[child], keys[child]
        at = child
    nodes[at], keys[at] = node, key
