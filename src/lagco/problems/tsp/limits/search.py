"""Search for short tours within limits: fixed edges, and a budget of edges that may be given up.

Where any number may be given up, a path of fixed edges becomes a road of a large negative length
between its ends, which no move of the usual search gives up. Within a budget tours are annealed:
a move that gives up too much, or an edge that is fixed, is not made.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.problems.tsp.distances import RULES, Metric, distance, distance_row, tour_length
from lagco.problems.tsp.limits.edges import TourLimits, kept_on
from lagco.problems.tsp.local_search import move_stretch, reverse_path, search_tour
from lagco.runtime.stopping import stop_flag

#: moves of annealing, and rounds of the usual search per city
MOVES, ROUNDS_PER_CITY = 20_000_000, 300
#: first heat over the mean length of an edge of the first tour
_HOTTEST = 0.3
#: cities between which distances are tabled
_TABLED = 4_000
_NEIGHBOURS = 10


def improve_within(
    metric: Metric, neighbours: Array, within: TourLimits, tour: Array | None, seed: int,
    effort: float,
) -> Array:  # fmt: skip
    """The best tour met within the limits, from one that keeps to them.

    Without one, or where it does not, from the incumbent or a plain tour over all fixed edges.
    """
    n = len(neighbours)
    start = within.tour if len(within.tour) else None
    if tour is not None and _keeps(tour, within):
        start = tour
    if start is None or (within.most >= n and not _keeps(start, within)):
        start = _plain_tour(metric, within)
    start = np.array(start, dtype=np.int64)
    if n < 4 or within.most < 2 <= len(within.tour):
        return start
    inner = within.partners[:, 1] >= 0
    if within.most >= n and n - inner.sum() <= _TABLED:
        return _contracted(metric, within, start, inner, seed, effort)
    length = tour_length(*metric, start) / n
    moves, stream = int(effort * MOVES), random_stream(seed)
    heat = _HOTTEST * length
    found: Array = _anneal(metric, neighbours, start, within, moves, heat, stream, stop_flag())
    return found


def _keeps(tour: Array, within: TourLimits) -> bool:
    """Whether a tour has all fixed edges, and gives up no more edges than it may."""
    n = len(tour)
    place = np.argsort(tour)
    for column in within.partners.T:
        there = np.flatnonzero(column >= 0)
        apart = np.abs(place[there] - place[column[there]])
        if not ((apart == 1) | (apart == n - 1)).all():
            return False
    if not len(within.tour):
        return True
    lost = n - kept_on(np.append(tour, tour[0]), within.tour, within.place)
    return bool(lost <= within.most)


def _plain_tour(metric: Metric, within: TourLimits) -> Array:
    """Over all fixed edges, and else to the nearest city that a path of them does not pass."""
    n = len(within.partners)
    ends = within.partners[:, 1] < 0
    left = np.ones(n, dtype=bool)
    city = int(np.flatnonzero(ends)[0]) if ends.any() else 0
    tour = []
    while True:
        tour.append(city)
        left[city] = False
        ahead = [other for other in within.partners[city].tolist() if other >= 0 and left[other]]
        if ahead:
            city = ahead[0]
            continue
        if len(tour) == n:
            return np.array(tour, dtype=np.int64)
        row = distance_row(*metric, city)
        city = int(np.where(left & ends, row, np.inf).argmin())


def _contracted(
    metric: Metric, within: TourLimits, tour: Array, inner: Array, seed: int, effort: float
) -> Array:
    """The tour after the usual search over the ends of fixed paths and the cities on none."""
    cities = tour[~inner[tour]]
    count = len(cities)
    if count < 4:
        return tour
    place = np.full(len(tour), -1, dtype=np.int64)
    place[cities] = np.arange(count)
    apart = np.array([distance_row(*metric, city)[cities] for city in cities.tolist()])
    ranked = apart.copy()
    np.fill_diagonal(ranked, np.inf)
    neighbours = np.argsort(ranked, axis=1, kind="stable")[:, : min(_NEIGHBOURS, count - 1)]
    shortest = -(10.0 * apart.max() + 1.0)
    paths = _paths_between(within.partners, cities)
    for u, v in paths:
        i, j = place[u], place[v]
        apart[i, j] = shortest
        if j not in neighbours[i]:
            neighbours[i, -1] = j
        neighbours[i] = neighbours[i][np.argsort(apart[i, neighbours[i]], kind="stable")]
    explicit = RULES.index("explicit"), np.zeros((count, 2)), apart
    rounds = int(effort * ROUNDS_PER_CITY * count)
    start = np.arange(count)
    found = search_tour(*explicit, neighbours, start, rounds, random_stream(seed), stop_flag())
    whole: list[int] = []
    order = cities[found].tolist()
    for u, v in zip(order, [*order[1:], order[0]], strict=True):
        whole += [u, *paths.get((u, v), ())]
    return np.array(whole, dtype=np.int64)


def _paths_between(partners: Array, cities: Array) -> dict[tuple[int, int], list[int]]:
    """The cities between both ends of every path of fixed edges, in either direction."""
    paths = {}
    for end in cities[partners[cities, 0] >= 0].tolist():
        before, city, between = end, int(partners[end, 0]), []
        while partners[city, 1] >= 0:
            between.append(city)
            ahead = partners[city].tolist()
            before, city = city, ahead[1] if ahead[0] == before else ahead[0]
        paths[end, city] = between
    return paths


@njit(cache=True, inline="always")
def _is(partners, u, v):  # type: ignore[no-untyped-def]
    """Whether an edge is fixed."""
    return partners[u, 0] == v or partners[u, 1] == v


@njit(cache=True, inline="always")
def _old(place, u, v):  # type: ignore[no-untyped-def]
    """1 for an edge of the incumbent, else 0; place is (0,) where there is none."""
    n = place.shape[0]
    if n == 0:
        return 0
    apart = abs(place[u] - place[v])
    return 1 if apart == 1 or apart == n - 1 else 0


@njit(cache=True, nogil=True)
def _anneal(metric, neighbours, tour, within, moves, hottest, stream, stop):  # type: ignore[no-untyped-def]
    """The shortest tour met while the heat falls to 0, from `tour`, which is written over.

    Moves turn a stretch (2-opt), or lay one of up to three cities somewhere else.
    """
    n = tour.shape[0]
    rule, coordinates, matrix = metric
    partners, _, before, old, most = within
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[tour[k]] = k
    lost = 0
    for k in range(n):
        lost += 1 - _old(old, tour[k - 1], tour[k])
    if old.shape[0] == 0:
        lost = 0
    log = np.zeros((8, 2), dtype=np.int64)
    best, best_cost, cost, is_best = tour.copy(), 0.0, 0.0, False
    for move in range(moves):
        if stop[0]:
            break
        heat = hottest * (1.0 - move / moves)
        a = next_below(stream, n)
        if old.shape[0] > 0 and next_below(stream, 4) == 0:  # an edge that was given up
            c = before[(old[a] + (1 if next_below(stream, 2) else n - 1)) % n]
        else:
            c = neighbours[a, next_below(stream, neighbours.shape[1])]
        forward = next_below(stream, 2) == 0
        step = 1 if forward else n - 1
        length = next_below(stream, 4)  # of a stretch to lay elsewhere; 0 for 2-opt
        log[0, 0] = 0
        if length == 0:
            b, d = tour[(place[a] + step) % n], tour[(place[c] + step) % n]
            if c == b or d == a or _is(partners, a, b) or _is(partners, c, d):
                continue
            more = _old(old, a, b) + _old(old, c, d) - _old(old, a, c) - _old(old, b, d)
            change = distance(rule, coordinates, matrix, a, c)
            change += distance(rule, coordinates, matrix, b, d)
            change -= distance(rule, coordinates, matrix, a, b)
            change -= distance(rule, coordinates, matrix, c, d)
        else:
            # the stretch a … last is taken out between p and q, and laid between c and e
            offset = (place[c] - place[a]) * (1 if forward else -1) % n
            last = tour[(place[a] + step * (length - 1)) % n]
            p, q = tour[(place[a] + n - step) % n], tour[(place[last] + step) % n]
            side = next_below(stream, 2)
            e = tour[(place[c] + (step if side == 0 else n - step)) % n]
            if length + 2 > n or offset < length or (side == 0 and c == p):
                continue
            if side == 1 and c == q:  # that only turns the stretch, as 2-opt does
                continue
            if _is(partners, p, a) or _is(partners, last, q) or _is(partners, c, e):
                continue
            more = _old(old, p, a) + _old(old, last, q) + _old(old, c, e)
            more -= _old(old, p, q) + _old(old, a, c) + _old(old, last, e)
            change = distance(rule, coordinates, matrix, p, q)
            change += distance(rule, coordinates, matrix, a, c)
            change += distance(rule, coordinates, matrix, last, e)
            change -= distance(rule, coordinates, matrix, p, a)
            change -= distance(rule, coordinates, matrix, last, q)
            change -= distance(rule, coordinates, matrix, c, e)
        if old.shape[0] > 0 and more > 0 and lost + more > most:
            continue
        if change > 0.0:
            if heat <= 0.0 or next_float(stream) >= np.exp(-change / heat):
                continue
            if is_best:
                best[:] = tour
                is_best = False
        if length == 0:
            reverse_path(tour, place, b, c, forward, log)
        else:
            move_stretch(tour, place, a, last, c, e, p, q, forward, side, log)
        lost += more
        cost += change
        if cost < best_cost - 1e-9 and (lost <= most or old.shape[0] == 0):
            best_cost = cost
            is_best = True
    if is_best:
        best[:] = tour
    return best
