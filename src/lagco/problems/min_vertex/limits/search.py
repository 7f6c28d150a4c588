"""Smaller covers within a budget of changes, by annealing.

Every state is a cover within the limits. A node leaves the cover, and those of its neighbours enter
that are not in it; or a node enters. The number of moves is fixed, so the answer depends on
instance and seed alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.adjacency import Adjacency
from lagco.problems.min_vertex.limits.nodes import CoverLimits
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.runtime.stopping import stop_flag

MOVES = 20_000_000
#: first heat, where a node more costs 1
_HOTTEST = 0.7


def annealed(
    within: CoverLimits, near: Adjacency, cover: Array | None, seed: int, effort: float
) -> Array:
    """The smallest cover met, from `cover` if it keeps to the limits, else from the incumbent."""
    chosen = within.before.copy()
    if cover is not None:
        given = np.zeros(len(chosen), dtype=bool)
        given[cover] = True
        same = (given == chosen)[within.locked].all()
        if same and np.count_nonzero(given != chosen) <= within.most:
            chosen = given
    moves = int(effort * MOVES)
    first, neighbours, _ = near
    best = _anneal(
        first, neighbours, chosen, within, moves, _HOTTEST, random_stream(seed), stop_flag()
    )
    return np.flatnonzero(best)


@njit(cache=True, nogil=True)
def _anneal(first, neighbours, chosen, within, moves, hottest, stream, stop):  # type: ignore[no-untyped-def]
    """The smallest cover met while the heat falls to 0, from `chosen`, which is written over."""
    n = chosen.shape[0]
    locked, _, before, most = within
    changed, size = 0, 0
    for v in range(n):
        changed += chosen[v] != before[v]
        size += chosen[v]
    best, best_size = chosen.copy(), size
    for move in range(moves):
        if stop[0]:
            break
        v = next_below(stream, n)
        if locked[v]:
            continue
        more, larger, free = 0, 0, True
        more += 1 if chosen[v] == before[v] else -1
        larger += -1 if chosen[v] else 1
        if chosen[v]:
            for k in range(first[v], first[v + 1]):
                other = neighbours[k]
                if not chosen[other]:
                    larger += 1
                    more += -1 if before[other] else 1
                    free = free and not locked[other]
        if not free or (more > 0 and changed + more > most):
            continue
        if larger > 0:
            heat = hottest * (1.0 - move / moves)
            if heat <= 0.0 or next_float(stream) >= np.exp(-larger / heat):
                continue
        if chosen[v]:
            for k in range(first[v], first[v + 1]):
                chosen[neighbours[k]] = True
        chosen[v] = not chosen[v]
        changed += more
        size += larger
        if size < best_size:
            best[:] = chosen
            best_size = size
    return best
