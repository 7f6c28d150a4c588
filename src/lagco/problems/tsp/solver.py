"""A strong tour: iterated local search from the nearest-neighbour tour.

The number of rounds is fixed, so the answer depends on instance and seed alone. Memory is linear in
the number of cities.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.random_stream import random_stream
from lagco.problems.tsp.distances import (
    RULES,
    Metric,
    distance,
    distance_row,
    metric_of,
    neighbour_lists,
    tour_length,
)
from lagco.problems.tsp.local_search import search_tour

NEIGHBOURS = 10
ROUNDS_PER_CITY = 300
MAX_ROUNDS = 2_000_000
_COMPLETION_ROUNDS = 20


def solve_tour(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best tour found (best-known); `effort` multiplies the rounds."""
    tour = improve_tour(instance, None, seed, effort)
    length = float(tour_length(*metric_of(instance), tour))
    return SolverReference(length, "best-known", "iterated Lin-Kernighan", tour)


def improve_tour(instance: Instance, tour: Array | None, seed: int, effort: float) -> Array:
    """The tour after descent and rounds of disturbance; the nearest-neighbour tour without one."""
    n = instance.size
    if n < 4:
        return np.arange(n) if tour is None else tour
    metric, neighbours = _prepared(instance)
    if tour is None:
        start = nearest_completion(*metric, neighbours, np.zeros(1, dtype=np.int64))
    else:
        start = np.array(tour, dtype=np.int64)
    rounds = int(effort * min(ROUNDS_PER_CITY * n, MAX_ROUNDS))
    found: Array = search_tour(*metric, neighbours, start, rounds, random_stream(seed))
    return found


def complete_tour(metric: Metric, path: Array, visited: Array, seed: int) -> Array:
    """The best tour found that begins with `path`: the cities left are searched, the rest stays.

    Between the last and the first city of the path lies a road of a large negative length, which
    no move gives up.
    """
    left = np.flatnonzero(visited == 0)
    cities = np.concatenate([path[-1:], left, path[:1]])
    count = len(cities)
    apart = np.array([distance_row(*metric, city)[cities] for city in cities.tolist()])
    apart[0, -1] = apart[-1, 0] = -(10.0 * apart.max() + 1.0)
    order = [0]
    open_ = np.ones(count, dtype=bool)
    open_[[0, -1]] = False
    while open_.any():  # nearest neighbour
        row = np.where(open_, apart[order[-1]], np.inf)
        order.append(int(row.argmin()))
        open_[order[-1]] = False
    start = np.array([*order, count - 1])
    ranked = apart.copy()
    np.fill_diagonal(ranked, np.inf)
    neighbours = np.argsort(ranked, axis=1)[:, : min(NEIGHBOURS, count - 1)]
    flat = np.zeros((count, 2))
    rounds = _COMPLETION_ROUNDS * count
    found = search_tour(
        RULES.index("explicit"), flat, apart, neighbours, start, rounds, random_stream(seed)
    )
    found = np.roll(found, -int(np.flatnonzero(found == 0)[0]))
    if found[-1] != count - 1:
        found = np.concatenate([found[:1], found[:0:-1]])
    return np.concatenate([path, cities[found[1:-1]]])


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> tuple[Metric, Array]:
    """Metric and neighbour lists, kept while one instance is improved again and again."""
    metric = metric_of(instance)
    return metric, neighbour_lists(metric, min(NEIGHBOURS, instance.size - 1))


@njit(cache=True)
def nearest_completion(rule, coordinates, matrix, neighbours, path):  # type: ignore[no-untyped-def]
    """The tour that begins with `path` and always goes on to the nearest city left.

    neighbours: (n, k), the nearest cities of each, in order; all cities are looked at only where
    none of these is left.
    """
    n, count = coordinates.shape[0], path.shape[0]
    left = np.ones(n, dtype=np.bool_)
    tour = np.empty(n, dtype=np.int64)
    tour[:count] = path
    left[path] = False
    for k in range(count, n):
        current, nearest, best = tour[k - 1], -1, np.inf
        for city in neighbours[current]:
            if left[city]:
                nearest = city
                break
        if nearest < 0:
            for city in range(n):
                if left[city]:
                    d = distance(rule, coordinates, matrix, current, city)
                    if d < best:
                        nearest, best = city, d
        tour[k] = nearest
        left[nearest] = False
    return tour
