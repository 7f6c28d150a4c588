"""Compiled steps of `min-vertex`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.min_vertex.most_bare import heap_of, pop_node


@njit(cache=True)
def select_node(  # type: ignore[no-untyped-def]
    first, neighbours, edge_ids, node, selected, covered, bare, uncovered, leaves, single, changed
):
    """Select `node`, cover its edges; return how many were not covered before, and how many nodes
    got another number of leaves: those in front of `changed`.

    bare: uncovered edges per node; leaves: neighbours over an uncovered edge that have no other
    one; uncovered and single: log1p of these.
    """
    selected[node] = 1
    newly = count = 0
    for k in range(first[node], first[node + 1]):
        edge = edge_ids[k]
        if covered[edge]:
            continue
        covered[edge] = 1
        newly += 1
        other = neighbours[k]
        if bare[node] == 1:  # a leaf itself
            leaves[other] -= 1
            single[other] = math.log1p(leaves[other])
            changed[count] = other
            count += 1
        bare[other] -= 1
        uncovered[other] = math.log1p(bare[other])
        if bare[other] == 1:
            for j in range(first[other], first[other + 1]):
                last = neighbours[j]
                if not covered[edge_ids[j]] and last != node:
                    leaves[last] += 1
                    single[last] = math.log1p(leaves[last])
                    changed[count] = last
                    count += 1
    bare[node] = leaves[node] = 0
    uncovered[node] = single[node] = 0.0
    changed[count] = node
    return newly, count + 1


@njit(cache=True)
def cover_edges(first, neighbours, edge_ids, selected, covered, bare):  # type: ignore[no-untyped-def]
    """Edges with a selected end, and for every node how many of its edges have none; the number of
    covered edges."""
    count = 0
    for v in range(bare.shape[0]):
        bare[v] = 0
        for k in range(first[v], first[v + 1]):
            other = neighbours[k]
            is_covered = selected[v] or selected[other]
            covered[edge_ids[k]] = is_covered
            bare[v] += not is_covered
            count += is_covered and v < other
    return count


@njit(cache=True)
def count_leaves(first, neighbours, selected, bare, leaves, single):  # type: ignore[no-untyped-def]
    """Neighbours over an uncovered edge that have no other one, for every node; log1p of it."""
    for v in range(bare.shape[0]):
        leaves[v] = 0
        if not selected[v]:
            for k in range(first[v], first[v + 1]):
                other = neighbours[k]
                leaves[v] += not selected[other] and bare[other] == 1
        single[v] = math.log1p(leaves[v])


@njit(cache=True)
def count_lowest(first, neighbours, selected, bare, missing, low, lowest):  # type: ignore[no-untyped-def]
    """Fewest uncovered edges of a neighbour over an uncovered edge, for every node; log1p of it.

    `missing` where a node has no uncovered edge.
    """
    for v in range(bare.shape[0]):
        low[v] = _lowest_near(first, neighbours, selected, bare, missing, v)
        lowest[v] = math.log1p(low[v])


@njit(cache=True)
def update_lowest(  # type: ignore[no-untyped-def]
    first, neighbours, selected, bare, missing, node, low, lowest, changed
):
    """The same after `node` was selected; changed (n,) bool says where it differs from before."""
    changed[:] = False
    low[node] = missing
    lowest[node] = math.log1p(missing)
    changed[node] = True
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        if selected[other]:
            continue
        fewest = _lowest_near(first, neighbours, selected, bare, missing, other)
        changed[other] |= fewest != low[other]
        low[other] = fewest
        lowest[other] = math.log1p(fewest)
        for j in range(first[other], first[other + 1]):
            last = neighbours[j]
            if not selected[last] and bare[other] < low[last]:
                low[last] = bare[other]
                lowest[last] = math.log1p(bare[other])
                changed[last] = True


@njit(cache=True)
def _lowest_near(first, neighbours, selected, bare, missing, node):  # type: ignore[no-untyped-def]
    fewest = missing
    if selected[node]:
        return fewest
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        if not selected[other]:
            fewest = min(fewest, bare[other])
    return fewest


@njit(cache=True)
def select_most_bare(first, neighbours, selected, bare, left):  # type: ignore[no-untyped-def]
    """Select the node with the most uncovered edges until none of the `left` edges is uncovered."""
    heap = heap_of(bare)
    while left > 0:
        node = pop_node(heap, bare)
        left -= bare[node]
        selected[node] = 1
        bare[node] = 0
        for k in range(first[node], first[node + 1]):
            if not selected[neighbours[k]]:
                bare[neighbours[k]] -= 1


@njit(cache=True)
def sole_neighbours(first, neighbours, chosen):  # type: ignore[no-untyped-def]
    """Nodes outside of the cover `chosen` that are the only such neighbour of a node in it: (n,)
    bool."""
    sole = np.zeros(len(chosen), dtype=np.bool_)
    for node in range(len(chosen)):
        if not chosen[node]:
            continue
        count = last = 0
        for k in range(first[node], first[node + 1]):
            if not chosen[neighbours[k]]:
                count += 1
                last = neighbours[k]
        if count == 1:
            sole[last] = True
    return sole


@njit(cache=True)
def exchange_around(first, neighbours, centre, chosen, count):  # type: ignore[no-untyped-def]
    """Set `count` nodes that are not set in the cover `chosen`, those with the fewest hops to
    `centre` first, and unset those of the cover that had no other neighbours outside of it."""
    n = len(chosen)
    seen = np.zeros(n, dtype=np.bool_)
    added = np.zeros(n, dtype=np.bool_)
    queue = np.empty(n, dtype=np.int64)
    seen[centre] = True
    queue[0] = centre
    head, tail = 0, 1
    while head < tail and count > 0:
        node = queue[head]
        head += 1
        if not chosen[node]:
            added[node] = True
            count -= 1
        for k in range(first[node], first[node + 1]):
            other = neighbours[k]
            if not seen[other]:
                seen[other] = True
                queue[tail] = other
                tail += 1
    outside = ~chosen
    for node in range(n):
        if outside[node]:
            chosen[node] = added[node]
            continue
        free = True
        for k in range(first[node], first[node + 1]):
            other = neighbours[k]
            if outside[other] and not added[other]:
                free = False
                break
        chosen[node] = not free
