"""The paper's reference for `tsp`: random tours, each pushed down and up by sampled 2-opt moves."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.random_stream import (
    choose_in_proportion,
    next_below,
    random_stream,
    shuffle,
)
from lagco.problems.tsp.distances import distance_matrix, metric_of
from lagco.runtime.stopping import stop_flag

ROUNDS = 20
MOVES = 20


def sweep_tours(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Best and worst tour over `sweeps` sweeps."""
    distances = distance_matrix(*metric_of(instance))
    best, worst, best_tour, worst_tour = _sweep(distances, sweeps, random_stream(seed), stop_flag())
    return SweepReference(best, worst, best_tour, worst_tour, sweeps)


@njit(cache=True)
def _length(distances, tour):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(tour.shape[0]):
        total += distances[tour[k - 1], tour[k]]
    return total


@njit(cache=True)
def _push(distances, tour, sign, stream, firsts, lasts, gains):  # type: ignore[no-untyped-def]
    """Up to ROUNDS 2-opt moves, each drawn among MOVES sampled ones in proportion to its gain."""
    n = tour.shape[0]
    for _ in range(ROUNDS):
        for m in range(MOVES):
            i = next_below(stream, n)
            j = next_below(stream, n - 1)
            if j >= i:
                j += 1
            if i > j:
                i, j = j, i
            firsts[m], lasts[m] = i, j
            before, first = tour[i - 1], tour[i]
            last, after = tour[j], tour[(j + 1) % n]
            change = 0.0
            if before != last:  # reversing the whole tour changes nothing
                change = (
                    distances[before, last]
                    + distances[first, after]
                    - distances[before, first]
                    - distances[last, after]
                )
            gains[m] = max(0.0, sign * change)
        chosen = choose_in_proportion(stream, gains, MOVES)
        if chosen < 0:
            return
        i, j = firsts[chosen], lasts[chosen]
        while i < j:
            tour[i], tour[j] = tour[j], tour[i]
            i += 1
            j -= 1


@njit(cache=True, nogil=True)
def _sweep(distances, sweeps, stream, stop):  # type: ignore[no-untyped-def]
    n = distances.shape[0]
    firsts = np.empty(MOVES, dtype=np.int64)
    lasts = np.empty(MOVES, dtype=np.int64)
    gains = np.empty(MOVES)
    start = np.arange(n)
    tour = start.copy()
    best_tour, worst_tour = start.copy(), start.copy()
    best = worst = _length(distances, start)
    for _ in range(sweeps):
        if stop[0]:
            break
        shuffle(stream, start)
        for sign in (-1.0, 1.0):
            tour[:] = start
            _push(distances, tour, sign, stream, firsts, lasts, gains)
            length = _length(distances, tour)
            if length < best:
                best = length
                best_tour[:] = tour
            if length > worst:
                worst = length
                worst_tour[:] = tour
    return best, worst, best_tour, worst_tour
