"""Smaller covers by exchanging nodes, with weights on the edges that stay uncovered.

A cover gives up a node and is repaired by exchanges: a node that costs little leaves, an end of a
random uncovered edge enters, and every edge that is still uncovered gains weight. The number of
exchanges is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.adjacency import Adjacency, adjacency, edges_of
from lagco.problems.min_vertex.kernels import select_most_bare
from lagco.problems.min_vertex.limits.nodes import cover_limits, undecided
from lagco.problems.min_vertex.limits.search import annealed
from lagco.problems.min_vertex.sweeps import sweep_covers
from lagco.problems.random_stream import next_below, random_stream
from lagco.runtime.stopping import stop_flag

MOVES = 20_000_000
#: nodes of the cover that are compared when one has to leave
_SAMPLED = 50
_FIRST_COVERS = 5
#: nodes above which there is a single one
_LARGE = 2_000


def improve_cover(instance: Instance, cover: Array | None, seed: int, effort: float) -> Array:
    """The smallest cover met, from `cover` or from the best of a few greedy ones.

    In a large graph from the plain greedy one, which takes little more than linear time. Within
    limits, what is decided beforehand is taken out; within a budget, covers are annealed.
    """
    edges, near = _prepared(instance)
    within = cover_limits(instance)
    if within is not None and within.most < instance.size:
        return annealed(within, near, cover, seed, effort)
    if within is not None:
        outside = Instance(
            instance.problem, instance.name, instance.size, {"edges": undecided(within, edges)}
        )
        rest = None if cover is None else cover[~within.locked[cover]]
        found = improve_cover(outside, rest, seed, effort)
        return np.union1d(np.flatnonzero(within.inside), found)
    if not edges.size:
        return np.zeros(0, dtype=np.int64)
    chosen = np.zeros(instance.size, dtype=np.bool_)
    if cover is None and instance.size > _LARGE:
        select_most_bare(near.first, near.neighbours, chosen, np.diff(near.first), edges.shape[1])
    else:
        if cover is None:
            cover = sweep_covers(instance, _FIRST_COVERS, seed).best_solution
        chosen[np.asarray(cover, dtype=np.int64)] = True
    moves, stream = int(effort * MOVES), random_stream(seed)
    best = _exchange(edges, *near, chosen, moves, stream, stop_flag())
    return np.flatnonzero(best)


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> tuple[Array, Adjacency]:
    """Edges and neighbours, kept while one instance is improved again and again."""
    edges = edges_of(instance)
    return edges, adjacency(instance.size, edges)


@njit(cache=True)
def _leave(v, first, neighbours, edge_ids, chosen, cost, weight, bare, place, count):  # type: ignore[no-untyped-def]
    """Take a node out; return how many edges are uncovered then."""
    chosen[v] = False
    cost[v] = -cost[v]
    for k in range(first[v], first[v + 1]):
        other, edge = neighbours[k], edge_ids[k]
        if chosen[other]:
            cost[other] += weight[edge]
        else:
            cost[other] -= weight[edge]
            bare[count] = edge
            place[edge] = count
            count += 1
    return count


@njit(cache=True)
def _enter(v, first, neighbours, edge_ids, chosen, cost, weight, bare, place, count):  # type: ignore[no-untyped-def]
    """Put a node in; return how many edges are uncovered then."""
    chosen[v] = True
    cost[v] = -cost[v]
    for k in range(first[v], first[v + 1]):
        other, edge = neighbours[k], edge_ids[k]
        if chosen[other]:
            cost[other] -= weight[edge]
        else:
            cost[other] += weight[edge]
            count -= 1
            last = bare[count]
            bare[place[edge]] = last
            place[last] = place[edge]
    return count


@njit(cache=True)
def _cheapest(members, size, cost, moved, barred, stream):  # type: ignore[no-untyped-def]
    """Position of a member that uncovers the least weight, the one longest unmoved among equals."""
    sampled = min(size, _SAMPLED)
    found = -1
    for k in range(sampled):
        at = k if size <= _SAMPLED else next_below(stream, size)
        v = members[at]
        if v == barred:
            continue
        if found < 0:
            found = at
            continue
        best = members[found]
        if cost[v] < cost[best] or (cost[v] == cost[best] and moved[v] < moved[best]):
            found = at
    return found


@njit(cache=True, nogil=True)
def _exchange(edges, first, neighbours, edge_ids, chosen, moves, stream, stop):  # type: ignore[no-untyped-def]
    """The smallest cover met in that many exchanges, or until stop (1,) is set.

    `cost` of a member is the weight of the edges that it alone covers, of another node minus the
    weight of its uncovered edges.
    """
    n, num_edges = chosen.shape[0], edges.shape[1]
    weight = np.ones(num_edges, dtype=np.int64)
    cost = np.zeros(n, dtype=np.int64)
    moved = np.zeros(n, dtype=np.int64)
    free = np.ones(n, dtype=np.bool_)  # whether a neighbour moved since the node left
    bare = np.empty(num_edges, dtype=np.int64)
    place = np.zeros(num_edges, dtype=np.int64)
    count = 0
    members = np.empty(n, dtype=np.int64)
    size = 0
    for v in range(n):
        if chosen[v]:
            members[size] = v
            size += 1
            for k in range(first[v], first[v + 1]):
                if not chosen[neighbours[k]]:
                    cost[v] += 1
    best = chosen.copy()
    at = 0
    while at < size:  # nodes that are not needed leave at once
        if cost[members[at]] == 0:
            _leave(members[at], first, neighbours, edge_ids, chosen, cost, weight, bare, place, 0)
            size -= 1
            members[at] = members[size]
        else:
            at += 1
    best[:] = chosen
    barred = -1
    for move in range(moves):
        if stop[0]:
            break
        while count == 0:
            best[:] = chosen
            if size == 0:
                return best
            at = _cheapest(members, size, cost, moved, -1, stream)
            v = members[at]
            size -= 1
            members[at] = members[size]
            count = _leave(v, first, neighbours, edge_ids, chosen, cost, weight, bare, place, count)
        at = _cheapest(members, size, cost, moved, barred, stream)
        if at >= 0:
            v = members[at]
            size -= 1
            members[at] = members[size]
            count = _leave(v, first, neighbours, edge_ids, chosen, cost, weight, bare, place, count)
            moved[v] = move
            free[v] = False
            for k in range(first[v], first[v + 1]):
                free[neighbours[k]] = True
        edge = bare[next_below(stream, count)]
        u, v = edges[0, edge], edges[1, edge]
        if (
            not free[u]
            or (free[v] and cost[v] < cost[u])
            or (free[v] and cost[v] == cost[u] and moved[v] < moved[u])
        ):
            u = v
        count = _enter(u, first, neighbours, edge_ids, chosen, cost, weight, bare, place, count)
        members[size] = u
        size += 1
        moved[u] = move
        barred = u
        for k in range(first[u], first[u + 1]):
            free[neighbours[k]] = True
        for k in range(count):
            e = bare[k]
            weight[e] += 1
            cost[edges[0, e]] -= 1
            cost[edges[1, e]] -= 1
    if count == 0:
        best[:] = chosen
    return best
