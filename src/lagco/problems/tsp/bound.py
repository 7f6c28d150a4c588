"""Lower bound on the length of tours: the 1-tree bound, raised by an ascent over city prices.

A tour is a 1-tree (a spanning tree of all cities but one, and two edges of that one) in which every
city has two edges. Prices added to the edges of a city change all tours alike, but not all 1-trees:
the shortest 1-tree less twice the prices is a bound under any prices. The ascent raises the prices
of cities with more than two edges and lowers those with one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.instances import Instance
from lagco.problems.tsp.distances import RULES, distance_matrix, metric_of
from lagco.runtime.stopping import stop_flag

#: more cities than this would take too long, and too much memory
MOST_CITIES = 3_000
ROUNDS = 1_000
#: seconds per round and pair of cities, roughly
_PAIR_SECONDS = 4e-9
_FEWEST_ROUNDS = 10
#: the step ends at this part of the first one
_LAST_STEP = 1e-3


def tour_bound(instance: Instance, seconds: float | None = None) -> float | None:
    """A length that no tour is below; None where there are too many cities for the time.

    A whole number where all distances are.
    """
    n = instance.size
    if n < 3 or n > MOST_CITIES:
        return None
    rounds = ROUNDS
    if seconds is not None:
        rounds = min(rounds, int(seconds / (_PAIR_SECONDS * n * n)))
        if rounds < _FEWEST_ROUNDS:
            return None
    rule, coordinates, matrix = metric_of(instance)
    distances = distance_matrix(rule, coordinates, matrix)
    bound = float(_ascend(distances, rounds, stop_flag()))
    whole = RULES[rule] not in ("euclidean", "explicit") or bool((matrix == matrix.round()).all())
    if whole and RULES[rule] != "euclidean":
        return float(math.ceil(bound - 1e-6 * max(1.0, abs(bound))))
    return bound


@njit(cache=True)
def _one_tree(distances, price, degree, nearest, parent, outside):  # type: ignore[no-untyped-def]
    """Length of the shortest 1-tree under the prices, less twice their sum; writes its degrees."""
    n = price.shape[0]
    total = 0.0
    for v in range(n):
        degree[v] = 0
        nearest[v] = np.inf
        parent[v] = -1
        outside[v] = v != 0
        total -= 2.0 * price[v]
    latest = 1
    outside[1] = False
    for _ in range(n - 2):
        chosen, least = -1, np.inf
        for v in range(1, n):
            if outside[v]:
                length = distances[latest, v] + price[latest] + price[v]
                if length < nearest[v]:
                    nearest[v] = length
                    parent[v] = latest
                if nearest[v] < least:
                    chosen, least = v, nearest[v]
        total += least
        degree[chosen] += 1
        degree[parent[chosen]] += 1
        outside[chosen] = False
        latest = chosen
    first, second = -1, -1
    for v in range(1, n):
        length = distances[0, v] + price[v]
        if first < 0 or length < distances[0, first] + price[first]:
            first, second = v, first
        elif second < 0 or length < distances[0, second] + price[second]:
            second = v
    for v in (first, second):
        total += distances[0, v] + price[0] + price[v]
        degree[v] += 1
    degree[0] = 2
    return total


@njit(cache=True, nogil=True)
def _ascend(distances, rounds, stop):  # type: ignore[no-untyped-def]
    """The highest bound met in that many rounds, or until stop (1,) is set."""
    n = distances.shape[0]
    price = np.zeros(n)
    degree = np.empty(n, dtype=np.int64)
    before = np.full(n, 2, dtype=np.int64)
    nearest = np.empty(n)
    parent = np.empty(n, dtype=np.int64)
    outside = np.empty(n, dtype=np.bool_)
    best = -np.inf
    step = 0.0
    decay = _LAST_STEP ** (1.0 / rounds)
    for turn in range(rounds):
        bound = _one_tree(distances, price, degree, nearest, parent, outside)
        best = max(best, bound)
        if turn == 0:
            step = bound / (2.0 * n)
        is_tour = True
        for v in range(n):
            is_tour = is_tour and degree[v] == 2
            price[v] += step * (0.7 * (degree[v] - 2) + 0.3 * (before[v] - 2))
            before[v] = degree[v]
        if is_tour or stop[0]:
            break
        step *= decay
    return best
