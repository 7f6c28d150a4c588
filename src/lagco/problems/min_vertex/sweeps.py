"""The paper's reference for `min-vertex`: randomised greedy covers, pruned."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.adjacency import adjacency, edges_of
from lagco.problems.random_stream import next_below, random_stream
from lagco.runtime.stopping import stop_flag

TOP = 3


def sweep_covers(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Smallest cover over `sweeps` sweeps; the worst case is to take every node."""
    n = instance.size
    first, neighbours, _ = adjacency(n, edges_of(instance))
    best = _sweep(first, neighbours, sweeps, random_stream(seed), stop_flag())
    return SweepReference(
        best=float(best.sum()),
        worst=float(n),
        best_solution=np.flatnonzero(best),
        worst_solution=np.arange(n),
        sweeps=sweeps,
    )


@njit(cache=True)
def _top_nodes(bare, leaders):  # type: ignore[no-untyped-def]
    """Write the nodes with the most uncovered edges to `leaders`, most first; return how many."""
    count = 0
    for v in range(bare.shape[0]):
        if bare[v] == 0:
            continue
        place = count
        while place > 0 and bare[v] > bare[leaders[place - 1]]:
            place -= 1
        if place >= TOP:
            continue
        for k in range(min(count, TOP - 1), place, -1):
            leaders[k] = leaders[k - 1]
        leaders[place] = v
        count = min(count + 1, TOP)
    return count


@njit(cache=True, nogil=True)
def _sweep(first, neighbours, sweeps, stream, stop):  # type: ignore[no-untyped-def]
    """The smallest cover of that many sweeps, of fewer when stop (1,) is set: bool (n,)."""
    n = first.shape[0] - 1
    best = np.ones(n, dtype=np.bool_)
    best_size = n
    chosen = np.empty(n, dtype=np.bool_)
    bare = np.empty(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    leaders = np.empty(TOP + 1, dtype=np.int64)
    for sweep in range(sweeps):
        if stop[0] and sweep > 0:
            break
        size = 0
        left = 0
        for v in range(n):
            chosen[v] = False
            bare[v] = first[v + 1] - first[v]
            left += bare[v]
        while left > 0:
            node = leaders[next_below(stream, _top_nodes(bare, leaders))]
            chosen[node] = True
            order[size] = node
            size += 1
            left -= 2 * bare[node]
            bare[node] = 0
            for k in range(first[node], first[node + 1]):
                if not chosen[neighbours[k]]:
                    bare[neighbours[k]] -= 1
        for k in range(size):  # a node whose neighbours are all chosen is not needed
            node = order[k]
            needed = False
            for j in range(first[node], first[node + 1]):
                if not chosen[neighbours[j]]:
                    needed = True
                    break
            if not needed:
                chosen[node] = False
        count = 0
        for v in range(n):
            count += chosen[v]
        if count < best_size:
            best_size = count
            best[:] = chosen
    return best
