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
from lagco.problems.tsp.curve import along_curve
from lagco.problems.tsp.distances import (
    RULES,
    Metric,
    distance,
    distance_matrix,
    distance_row,
    follows_coordinates,
    metric_of,
    neighbour_lists,
    tour_length,
)
from lagco.problems.tsp.limits.edges import tour_limits
from lagco.problems.tsp.limits.search import improve_within
from lagco.problems.tsp.local_search import search_tour
from lagco.runtime.stopping import stop_flag

NEIGHBOURS = 10
#: cities of other clusters in the list of a city at most
WAYS_OUT = 4
ROUNDS_PER_CITY = 300
MAX_ROUNDS = 2_000_000
_COMPLETION_ROUNDS = 20
#: cities up to which distances over the globe are computed once: each takes a dozen of sines
_TABLED = 2_000
#: cities up to which all that are left may be measured again and again
FEW = 10_000


def solve_tour(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best tour found (best-known); `effort` multiplies the rounds."""
    tour = improve_tour(instance, None, seed, effort)
    length = float(tour_length(*metric_of(instance), tour))
    return SolverReference(length, "best-known", "iterated Lin-Kernighan", tour)


def improve_tour(instance: Instance, tour: Array | None, seed: int, effort: float) -> Array:
    """The tour after descent and rounds of disturbance.

    Without one from the nearest-neighbour tour; of many cities from that along a curve, which is
    there at once and descends faster. Within limits, from the incumbent.
    """
    n = instance.size
    if n < 4:  # all tours are the same
        return np.arange(n) if tour is None else tour
    metric, neighbours = _prepared(instance)
    within = tour_limits(instance)
    if within is not None:
        return improve_within(metric, neighbours, within, tour, seed, effort)
    if tour is not None:
        start = np.array(tour, dtype=np.int64)
    elif n > FEW:
        start = along_curve(metric[1])
    else:
        start = complete_nearest(metric, neighbours, np.zeros(1, dtype=np.int64))
    rounds = int(effort * min(ROUNDS_PER_CITY * n, MAX_ROUNDS))
    found: Array = search_tour(*metric, neighbours, start, rounds, random_stream(seed), stop_flag())
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
        RULES.index("explicit"), flat, apart, neighbours, start, rounds, random_stream(seed),
        stop_flag(),
    )  # fmt: skip
    found = np.roll(found, -int(np.flatnonzero(found == 0)[0]))
    if found[-1] != count - 1:
        found = np.concatenate([found[:1], found[:0:-1]])
    return np.concatenate([path, cities[found[1:-1]]])


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> tuple[Metric, Array]:
    """Metric and neighbour lists, kept while one instance is improved again and again."""
    metric = metric_of(instance)
    neighbours = neighbour_lists(metric, min(NEIGHBOURS, instance.size - 1))
    rule, coordinates, _ = metric
    if follows_coordinates(rule):
        neighbours = with_ways_out(coordinates, neighbours)
    if RULES[rule] == "geo" and instance.size <= _TABLED:
        metric = RULES.index("explicit"), coordinates, distance_matrix(*metric)
    return metric, neighbours


def with_ways_out(coordinates: Array, neighbours: Array) -> Array:
    """The lists (n, k) themselves where they connect all cities, as they mostly do.

    Cities in clusters have only each other in their lists, and then no move joins two clusters. The
    last ones of a list make way for cities of other clusters beside it in the Delaunay
    triangulation, the nearest of these; they are farther away than what stays.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import Delaunay, QhullError

    n, k = neighbours.shape
    if n <= WAYS_OUT + k:
        return neighbours
    ends = np.repeat(np.arange(n), k), neighbours.ravel()
    count, cluster = connected_components(csr_array((np.ones(n * k), ends), shape=(n, n)), False)
    if count == 1:
        return neighbours
    try:
        first, others = Delaunay(coordinates).vertex_neighbor_vertices
    except QhullError:  # all cities lie on a line
        return neighbours
    lists, owner = neighbours.copy(), np.repeat(np.arange(n), np.diff(first))
    for city in np.unique(owner[cluster[owner] != cluster[others]]):
        near = others[first[city] : first[city + 1]]
        near = near[cluster[near] != cluster[city]]
        away = np.hypot(*(coordinates[near] - coordinates[city]).T)
        near = near[np.argsort(away)][:WAYS_OUT]
        lists[city, k - len(near) :] = near
    return lists


def complete_nearest(metric: Metric, neighbours: Array, path: Array) -> Array:
    """The tour that begins with `path` and always goes on to the nearest city left.

    Where none of the cities in its list (of `neighbours` (n, k), nearest first) is left and more
    than FEW are, it goes on to the nearer of the two next ones along a curve.
    """
    curve = along_curve(metric[1]) if len(neighbours) > FEW else np.zeros(0, dtype=np.int64)
    found: Array = _nearest(*metric, neighbours, path, curve)
    return found


@njit(cache=True, nogil=True)
def _nearest(rule, coordinates, matrix, neighbours, path, curve):  # type: ignore[no-untyped-def]
    """See `complete_nearest`; curve (n,), or (0,) where it is not needed."""
    n, count, many = coordinates.shape[0], path.shape[0], curve.shape[0] > 0
    # those left, in any order, and the place of each there
    left, place = np.arange(n), np.arange(n)
    # towards the next position of the curve from each on whose city is left, and the last up to it
    # (counted from 1, since there may be none)
    after, before = np.arange(n + 1), np.arange(n + 1)
    at_curve = np.empty(n, dtype=np.int64)
    for position in range(curve.shape[0]):
        at_curve[curve[position]] = position
    size = n
    tour = np.empty(n, dtype=np.int64)
    for k in range(n):
        nearest = path[k] if k < count else -1
        if nearest < 0:
            for city in neighbours[tour[k - 1]]:
                if place[city] < size:
                    nearest = city
                    break
        if nearest < 0 and many and size > FEW:
            position = at_curve[tour[k - 1]]
            best = np.inf
            for found in (_follow(after, position), _follow(before, position + 1) - 1):
                if 0 <= found < n:
                    d = distance(rule, coordinates, matrix, tour[k - 1], curve[found])
                    if d < best:
                        nearest, best = curve[found], d
        elif nearest < 0:
            best = np.inf
            for i in range(size):
                city = left[i]
                d = distance(rule, coordinates, matrix, tour[k - 1], city)
                if d < best or (d == best and city < nearest):
                    nearest, best = city, d
        tour[k] = nearest
        size -= 1
        other, at = left[size], place[nearest]
        left[at], place[other] = other, at
        left[size], place[nearest] = nearest, size
        if many:
            position = at_curve[nearest]
            after[position], before[position + 1] = position + 1, position
    return tour


@njit(cache=True)
def _follow(links, at):  # type: ignore[no-untyped-def]
    """Where links lead from an entry; those on the way are shortened."""
    while links[at] != at:
        links[at] = links[links[at]]
        at = links[at]
    return at
