"""A strong tour: iterated local search with 2-opt and Or-opt moves over neighbour lists.

After each descent a double bridge over a short stretch disturbs the tour, only the cities it
touched are looked at again, and a worse result is undone. The number of rounds is fixed, so the
answer depends on instance and seed alone. Memory is linear in the number of cities.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.random_stream import next_below, random_stream
from lagco.problems.tsp.distances import (
    RULES,
    Metric,
    distance,
    distance_row,
    metric_of,
    neighbour_lists,
    tour_length,
)

NEIGHBOURS = 10
ROUNDS_PER_CITY = 300
MAX_ROUNDS = 2_000_000
_COMPLETION_ROUNDS = 20
_STRETCH = 50
_EPSILON = 1e-9


def solve_tour(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best tour found (best-known); `effort` multiplies the rounds."""
    tour = improve_tour(instance, None, seed, effort)
    length = float(tour_length(*metric_of(instance), tour))
    return SolverReference(length, "best-known", "iterated Or-opt", tour)


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


@njit(cache=True)
def _reverse(tour, place, i, j):  # type: ignore[no-untyped-def]
    """Reverse the stretch from position i to position j (cyclic), or its complement if shorter."""
    n = tour.shape[0]
    inside = j - i + 1 if j >= i else j - i + 1 + n
    if 2 * inside > n:
        i, j = (j + 1) % n, (i - 1 + n) % n
        inside = n - inside
    for _ in range(inside // 2):
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        place[b], place[a] = i, j
        i += 1
        if i == n:
            i = 0
        j -= 1
        if j < 0:
            j = n - 1


@njit(cache=True, inline="always")
def _beside(tour, place, city, step):  # type: ignore[no-untyped-def]
    """The city `step` positions after another, 0 to n - 1 (a comparison costs less than a rest)."""
    at = place[city] + step
    return tour[at - tour.shape[0] if at >= tour.shape[0] else at]


@njit(cache=True)
def _two_opt(rule, coordinates, matrix, neighbours, tour, place, a, touched):  # type: ignore[no-untyped-def]
    """Apply the first improving 2-opt move at city a; return its gain."""
    n = tour.shape[0]
    for forward in (True, False):
        step = 1 if forward else n - 1
        b = _beside(tour, place, a, step)
        d_ab = distance(rule, coordinates, matrix, a, b)
        for k in range(neighbours.shape[1]):
            c = neighbours[a, k]
            d_ac = distance(rule, coordinates, matrix, a, c)
            if d_ac >= d_ab:
                break
            d = _beside(tour, place, c, step)
            if c == b or d == a:
                continue
            gain = (
                d_ab
                + distance(rule, coordinates, matrix, c, d)
                - d_ac
                - distance(rule, coordinates, matrix, b, d)
            )
            if gain > _EPSILON:
                if forward:
                    _reverse(tour, place, place[b], place[c])
                else:
                    _reverse(tour, place, place[c], place[b])
                touched[0], touched[1], touched[2], touched[3] = a, b, c, d
                return gain
    return 0.0


@njit(cache=True)
def _or_opt(rule, coordinates, matrix, neighbours, tour, place, a, touched):  # type: ignore[no-untyped-def]
    """Move a stretch of one to three cities that ends at a next to a neighbour of a.

    The stretch reaches from a away from the side where a is to be joined to its neighbour c, and
    may be laid in either direction between c and one of c's two tour neighbours. It is carried out
    as three reversals.
    """
    n = tour.shape[0]
    for forward in (True, False):
        step = 1 if forward else n - 1
        back = n - step
        last = a
        for length in range(1, 4):
            if length + 2 > n:
                break
            # stretch: a = first, ..., last, walking in `step` direction; p before a, q after last
            last = a if length == 1 else _beside(tour, place, last, step)
            p = _beside(tour, place, a, back)
            q = _beside(tour, place, last, step)
            freed = (
                distance(rule, coordinates, matrix, p, a)
                + distance(rule, coordinates, matrix, last, q)
                - distance(rule, coordinates, matrix, p, q)
            )
            if freed <= _EPSILON:
                continue
            for k in range(neighbours.shape[1]):
                c = neighbours[a, k]
                d_ac = distance(rule, coordinates, matrix, a, c)
                if d_ac >= freed:
                    break
                offset = place[c] - place[a] if forward else place[a] - place[c]
                if offset < 0:
                    offset += n
                if offset < length:  # c lies in the stretch
                    continue
                for side in range(2):
                    # a next to c; the other end next to e, c's neighbour after or before it
                    e = _beside(tour, place, c, step if side == 0 else back)
                    if side == 0 and c == p:
                        continue  # between p and q it stands already
                    if side == 1 and c == q:
                        e = p  # before q, in reverse
                    gain = (
                        freed
                        + distance(rule, coordinates, matrix, c, e)
                        - d_ac
                        - distance(rule, coordinates, matrix, last, e)
                    )
                    if side == 1 and c == q:
                        gain = (
                            distance(rule, coordinates, matrix, p, a)
                            + distance(rule, coordinates, matrix, last, q)
                            - d_ac
                            - distance(rule, coordinates, matrix, last, p)
                        )
                    if gain > _EPSILON:
                        _move(tour, place, a, last, c, e, p, q, forward, side)
                        touched[0], touched[1], touched[2] = a, last, c
                        touched[3], touched[4], touched[5] = e, p, q
                        return gain
    return 0.0


@njit(cache=True)
def _reverse_path(tour, place, x, y, forward):  # type: ignore[no-untyped-def]
    """Reverse the path that leads from city x to city y in the walking direction."""
    if forward:
        _reverse(tour, place, place[x], place[y])
    else:
        _reverse(tour, place, place[y], place[x])


@njit(cache=True)
def _move(tour, place, a, last, c, e, p, q, forward, side):  # type: ignore[no-untyped-def]
    """Take the stretch a … last out and lay it between c and e, with a at c."""
    n = tour.shape[0]
    step = 1 if forward else n - 1
    if side == 1 and c == q:
        _reverse_path(tour, place, a, last, forward)
        return
    # in walking order the tour is p [a … last] q … x y … with {x, y} = {c, e}
    x = c if side == 0 else e
    # bring the stretch in front of y: reversing [a … last q … x] lays x … q last … a before y;
    # reversing x … q back gives p q … x last … a y, with the stretch reversed
    _reverse_path(tour, place, a, x, _walks(tour, place, p, a, step, forward))
    _reverse_path(tour, place, x, q, _walks(tour, place, p, x, step, forward))
    if side == 0:  # here x = c must meet a, so the stretch is turned once more
        _reverse_path(tour, place, last, a, _walks(tour, place, x, last, step, forward))


@njit(cache=True)
def _walks(tour, place, u, v, step, forward):  # type: ignore[no-untyped-def]
    """Direction in which v follows u, since a reversal may have turned the complement instead."""
    n = tour.shape[0]
    ahead = _beside(tour, place, u, 1) == v
    behind = _beside(tour, place, u, n - 1) == v
    if ahead and behind:
        return forward
    return ahead


@njit(cache=True)
def _descend(rule, coordinates, matrix, neighbours, tour, place, queue, queued, count):  # type: ignore[no-untyped-def]
    """Improve until no queued city offers a move; return the total gain."""
    n = tour.shape[0]
    touched = np.empty(6, dtype=np.int64)
    total = 0.0
    head = 0
    while count > 0:
        a = queue[head]
        head = (head + 1) % n
        count -= 1
        queued[a] = False
        while True:
            number = 4
            gain = _two_opt(rule, coordinates, matrix, neighbours, tour, place, a, touched)
            if gain == 0.0:
                number = 6
                gain = _or_opt(rule, coordinates, matrix, neighbours, tour, place, a, touched)
            if gain == 0.0:
                break
            total += gain
            for k in range(number):
                city = touched[k]
                if not queued[city] and city != a:
                    queue[(head + count) % n] = city
                    queued[city] = True
                    count += 1
    return total


@njit(cache=True)
def search_tour(rule, coordinates, matrix, neighbours, tour, rounds, stream):  # type: ignore[no-untyped-def]
    """Improve `tour` for that many rounds of disturbance and descent."""
    n = tour.shape[0]
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[tour[k]] = k
    queue = tour.copy()
    queued = np.ones(n, dtype=np.bool_)
    _descend(rule, coordinates, matrix, neighbours, tour, place, queue, queued, n)
    kept = tour.copy()
    stretch = min(_STRETCH, n - 1)
    buffer = np.empty(stretch + 1, dtype=np.int64)
    for _ in range(rounds):
        # double bridge on positions s < i < j < k within a short stretch: A B C becomes A C B
        s = next_below(stream, n)
        i = 1 + next_below(stream, stretch - 1)
        j = 1 + next_below(stream, stretch - 1)
        if i == j:
            continue
        if i > j:
            i, j = j, i
        width = stretch - j
        k = j + (1 + next_below(stream, width) if width > 1 else 1)
        # stretch positions s+i … s+j-1 and s+j … s+k-1 change places
        left, right = j - i, k - j
        removed = added = 0.0
        for t in range(left + right):
            buffer[t] = tour[(s + i + t) % n]
        before, after = tour[(s + i - 1) % n], tour[(s + k) % n]
        b_first, b_last = buffer[0], buffer[left - 1]
        c_first, c_last = buffer[left], buffer[left + right - 1]
        removed += distance(rule, coordinates, matrix, before, b_first)
        removed += distance(rule, coordinates, matrix, b_last, c_first)
        removed += distance(rule, coordinates, matrix, c_last, after)
        added += distance(rule, coordinates, matrix, before, c_first)
        added += distance(rule, coordinates, matrix, c_last, b_first)
        added += distance(rule, coordinates, matrix, b_last, after)
        for t in range(right):
            city, where = buffer[left + t], (s + i + t) % n
            tour[where], place[city] = city, where
        for t in range(left):
            city, where = buffer[t], (s + i + right + t) % n
            tour[where], place[city] = city, where
        count = 0
        for city in (before, b_first, b_last, c_first, c_last, after):
            if not queued[city]:
                queue[count] = city
                queued[city] = True
                count += 1
        gain = _descend(rule, coordinates, matrix, neighbours, tour, place, queue, queued, count)
        change = removed - added + gain
        if change < -_EPSILON:
            tour[:] = kept
            for t in range(n):
                place[kept[t]] = t
        elif change > _EPSILON:
            kept[:] = tour
    return kept
