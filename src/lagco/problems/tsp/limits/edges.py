"""Limits of tours: edges that have to stay, and a budget of edges that may be given up.

An element is an edge of the incumbent, number k joins its cities k and k + 1, and a change is one
that a tour gives up. Edges that a tour must have are those of the array `FIXED_EDGES` (as in
TSPLIB's section, there is no need of an incumbent) and those of the incumbent that are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.errors import InstanceError, suggest
from lagco.instances import Instance

#: array (2, F): cities that an edge of every tour has to join
FIXED_EDGES = "fixed_edges"
#: array (n,): the tour in force
TOUR = "tour"


class TourLimits(NamedTuple):
    """Limits of the tours of an instance, as compiled code takes them.

    Attributes:
        partners: (n, 2), cities that each has to stand beside, -1 where there is none.
        path: (n,), number of the path of fixed edges that each city is on.
        tour: (n,), the incumbent; (0,) without one.
        place: (n,), where each city stands there.
        most: edges of the incumbent that may be given up; n where any number may.
    """

    partners: Array
    path: Array
    tour: Array
    place: Array
    most: int


def city_names(instance: Instance) -> list[str]:
    """Names of the cities, or their numbers as in a file."""
    names = instance.arrays.get("names")
    if names is None:
        return [str(city) for city in range(1, instance.size + 1)]
    return [str(name) for name in names.tolist()]


def edge_names(instance: Instance) -> list[str]:
    """Names of the edges of the incumbent: both cities."""
    tour = instance.arrays.get(TOUR)
    if tour is None:
        return []
    names = city_names(instance)
    return [f"{names[u]}-{names[v]}" for u, v in zip(tour, np.roll(tour, -1), strict=True)]


def kept_edges(instance: Instance, solution: Array) -> Array:
    """Which edges of the incumbent a tour has: int8 (n,), all of them without an incumbent."""
    n, before = instance.size, instance.arrays.get(TOUR)
    tour = np.asarray(solution, dtype=np.int64)
    if not np.array_equal(np.sort(tour), np.arange(n)):
        raise InstanceError(
            f"not a tour of {instance.name!r}: it must name each of the cities 0 to {n - 1} once"
        )
    if before is None:
        return np.ones(n, dtype=np.int8)
    return _has(tour, before, np.roll(before, -1)).astype(np.int8)


def missing_edges(instance: Instance, solution: Array) -> list[str]:
    """Edges of the array `FIXED_EDGES` that a tour lacks, by name."""
    edges = instance.arrays.get(FIXED_EDGES)
    if edges is None:
        return []
    names = city_names(instance)
    lacking = edges[:, ~_has(np.asarray(solution, dtype=np.int64), *edges)]
    return [f"the edge {names[u]}-{names[v]} has to be used" for u, v in lacking.T.tolist()]


def _has(tour: Array, u: Array, v: Array) -> Array:
    """Which of the edges between cities u (k,) and v (k,) a tour has."""
    place = np.empty(len(tour), dtype=np.int64)
    place[tour] = np.arange(len(tour))
    apart = np.abs(place[u] - place[v])
    found: Array = (apart == 1) | (apart == len(tour) - 1)
    return found


def limits_from(instance: Instance, table: Sequence[Mapping[str, str]]) -> dict[str, Array]:
    """The edges that a tour must have, from a table with a column ``element``.

    An element is an edge (``3-17``), or a city whose two edges of the incumbent have to stay.
    """
    index = {name: city for city, name in enumerate(city_names(instance))}
    tour = instance.arrays.get(TOUR)
    found = [tuple(edge) for edge in instance.arrays.get(FIXED_EDGES, np.zeros((2, 0), int)).T]
    for number, row in enumerate(table, start=1):
        if set(row) != {"element"}:
            raise InstanceError(
                f"a table of what may not change has the columns {', '.join(row)}; it needs the "
                "column element"
            )
        named = _edges_of(row["element"], index, tour)
        if not named:
            known = [*edge_names(instance), *index]
            raise InstanceError(f"row {number}: {suggest('edge or city', row['element'], known)}")
        found += named
    pairs = np.unique(np.sort(np.array(found, dtype=np.int64).reshape(-1, 2), axis=1), axis=0)
    return {FIXED_EDGES: np.ascontiguousarray(pairs.T)}


def _edges_of(name: str, index: Mapping[str, int], tour: Array | None) -> list[tuple[int, int]]:
    """The edges that a name stands for; none where it stands for nothing."""
    if name in index:
        if tour is None:
            raise InstanceError(
                f"the city {name!r} keeps its edges of a tour in force, and there is none: give "
                "one by incumbent=, or name an edge"
            )
        city, at = index[name], int(np.flatnonzero(tour == index[name])[0])
        return [(int(tour[at - 1]), city), (city, int(tour[(at + 1) % len(tour)]))]
    parts = name.split("-")
    for cut in range(1, len(parts)):
        u, v = "-".join(parts[:cut]), "-".join(parts[cut:])
        if u in index and v in index and u != v:
            return [(index[u], index[v])]
    return []


def tour_limits(instance: Instance) -> TourLimits | None:
    """The limits of an instance; None where it has none.

    Fixed edges that the incumbent lacks are left out where changes are counted: within a budget
    there may be no way to them.

    Raises:
        InstanceError: no tour can have all fixed edges.
    """
    n, before = instance.size, instance.arrays.get(TOUR)
    edges = instance.arrays.get(FIXED_EDGES, np.zeros((2, 0), dtype=np.int64))
    fixed, most = instance.arrays.get(FIXED), instance.params.get(MAX_CHANGES)
    if before is not None:
        kept_edges(instance, before)  # says what is wrong with it
    if not edges.size and fixed is None and most is None:
        return None
    if before is None:
        tour = place = np.zeros(0, dtype=np.int64)
    else:
        tour = np.asarray(before, dtype=np.int64)
        place = np.argsort(tour)
        if most is not None:
            edges = edges[:, _has(tour, *edges)]
        if fixed is not None:
            kept = np.flatnonzero(fixed)
            edges = np.concatenate([edges, [tour[kept], tour[(kept + 1) % n]]], axis=1)
    partners = _partners(instance, edges)
    return TourLimits(
        partners, _paths(partners, instance), tour, place, n if most is None else int(most)
    )


def _partners(instance: Instance, edges: Array) -> Array:
    n = instance.size
    partners = np.full((n, 2), -1, dtype=np.int64)
    names = city_names(instance)
    pairs = np.unique(np.sort(edges.astype(np.int64), axis=0), axis=1)
    if n == 2:
        return partners  # there is one tour
    for u, v in pairs.T.tolist():
        for city, other in ((u, v), (v, u)):
            if u == v or partners[city, 1] >= 0:
                what = "joins a city to itself" if u == v else f"is the third at {names[city]}"
                raise InstanceError(
                    f"instance {instance.name!r}: the fixed edge {names[u]}-{names[v]} {what}"
                )
            partners[city, int(partners[city, 0] >= 0)] = other
    return partners


def _paths(partners: Array, instance: Instance) -> Array:
    """Number of the path of each city; a circle has to be a whole tour."""
    n = len(partners)
    path = np.full(n, -1, dtype=np.int64)
    ends = np.flatnonzero(partners[:, 1] < 0)
    for number, city in enumerate(ends.tolist()):
        while city >= 0 and path[city] < 0:
            path[city] = number
            ahead = [other for other in partners[city].tolist() if other >= 0 and path[other] < 0]
            city = ahead[0] if ahead else -1
    left = np.flatnonzero(path < 0)
    if not len(left):
        return path
    circle = [int(left[0])]
    while True:
        ahead = [other for other in partners[circle[-1]].tolist() if other not in circle[-2:]]
        if not ahead or ahead[0] == circle[0]:
            break
        circle.append(ahead[0])
    if len(circle) < n:
        names = city_names(instance)
        raise InstanceError(
            f"instance {instance.name!r}: fixed edges close a circle at {names[circle[0]]} before "
            "all cities are on it"
        )
    return np.zeros(n, dtype=np.int64)


@njit(cache=True)
def kept_on(path, tour, place):  # type: ignore[no-untyped-def]
    """How many edges of the incumbent a path (k,) has."""
    n, kept = tour.shape[0], 0
    for k in range(path.shape[0] - 1):
        apart = abs(place[path[k]] - place[path[k + 1]])
        kept += apart == 1 or apart == n - 1
    return kept


@njit(cache=True)
def may_follow(cities, chosen, path, partners, number, tour, place, most):  # type: ignore[no-untyped-def]
    """Whether a tour within the limits goes on from a path (k,) to each of the cities: bool (m,).

    chosen (n,): whether a city is on the path; number (n,): of its path of fixed edges.
    """
    n, current, start = chosen.shape[0], path[-1], path[0]
    left = n - path.shape[0]
    found = np.ones(cities.shape[0], dtype=np.bool_)
    on_way, forced = 0, 0  # cities left on the path of the start; partners of the current city left
    for city in range(n):
        on_way += not chosen[city] and number[city] == number[start]
    for side in range(2):
        forced += partners[current, side] >= 0 and not chosen[partners[current, side]]
    if path.shape[0] == 1 and forced == 1:
        forced = 0  # it may be the last one instead
    for k in range(cities.shape[0]):
        v = cities[k]
        joined = partners[current, 0] == v or partners[current, 1] == v
        if forced > 0 and not joined:
            found[k] = False
            continue
        ahead = 0
        for side in range(2):
            other = partners[v, side]
            if other < 0 or (joined and other == current):
                continue
            ahead += 1
            if chosen[other] and not (other == start and left == 1):
                found[k] = False
        if ahead > 1 or (not joined and ahead > 0 and number[v] == number[start] and on_way < left):
            found[k] = False
    if tour.shape[0] == 0 or most >= n:
        return found
    return found & _within(cities, chosen, path, partners, tour, place, most)


@njit(cache=True)
def _within(cities, chosen, path, partners, tour, place, most):  # type: ignore[no-untyped-def]
    """Whether so few edges need to be given up after each of the cities: bool (m,).

    A tour loses fewest where it goes through every run of the incumbent that is left as a whole,
    and enters the first and leaves the last one over an edge of the incumbent. It cannot do both
    where a single one, of several, borders on the path.
    """
    n, current, start = tour.shape[0], path[-1], path[0]
    kept = kept_on(path, tour, place)
    run, runs, inside = np.full(n, -1, dtype=np.int64), 0, 0
    at = place[start]  # which is not left, so no run goes beyond
    for step in range(1, n):
        city, before = tour[(at + step) % n], tour[(at + step - 1) % n]
        if chosen[city]:
            continue
        if chosen[before]:
            runs += 1
        else:
            inside += 1
        run[city] = runs - 1
    found = np.zeros(cities.shape[0], dtype=np.bool_)
    for k in range(cities.shape[0]):
        v = cities[k]
        apart = abs(place[current] - place[v])
        most_kept = kept + (apart == 1 or apart == n - 1)
        if path.shape[0] == n - 1:
            apart = abs(place[start] - place[v])
            most_kept += apart == 1 or apart == n - 1
            found[k] = n - most_kept <= most
            continue
        mine, count = run[v], runs - 1
        first, free, tied = -1, 0, False  # a run that v borders on, how many, whether it must
        for side in range(2):
            other = tour[(place[v] + 2 * side - 1) % n]
            if chosen[other]:
                continue
            count += 1
            must = partners[v, 0] == other or partners[v, 1] == other
            if must:
                first, free, tied = 2 * mine + side, 1, True
            elif not tied:
                first, free = 2 * mine + side, free + 1
        most_kept += inside - (not chosen[tour[(place[v] - 1) % n]])
        most_kept -= not chosen[tour[(place[v] + 1) % n]]
        last, ends, tied = -1, 0, False  # likewise of the start
        for side in range(2):
            other = tour[(place[start] + 2 * side - 1) % n]
            if chosen[other] or other == v:
                continue
            # the run on the right of the start begins there, so it is on the left of v
            beside = 2 * run[other] + (1 - side if run[other] == mine else 0)
            if partners[start, 0] == other or partners[start, 1] == other:
                last, ends, tied = beside, 1, True
            elif not tied:
                last, ends = beside, ends + 1
        most_kept += (free > 0) + (ends > 0)
        if count > 1 and free == 1 and ends == 1 and first == last:
            most_kept -= 1
        found[k] = n - most_kept <= most
    return found
