"""Local search over tours, compiled: 2-opt, Or-opt and Lin-Kernighan chains over neighbour lists.

After each descent a double bridge over a short stretch disturbs the tour, only the cities it
touched are looked at again, and a worse result is undone. Every change is a reversal of a stretch,
and the reversals since the last tour that was kept are noted: undoing them costs no more than they
did, however many cities there are.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.random_stream import next_below
from lagco.problems.tsp.distances import ROUNDED, distance

#: positions over which a double bridge reaches
_STRETCH = 100
#: exchanges of a chain at most
_DEPTH = 25
#: neighbours that exchanges after the first look at
_SECOND = 5
#: cities below which there are no chains: exchanges would overlap
_FEWEST = 8
#: reversals that are noted at most
_NOTED = 1000
_EPSILON = 1e-9


@njit(cache=True, inline="always")
def _length(rule, coordinates, matrix, i, j):  # type: ignore[no-untyped-def]
    """Distance between two cities; the usual rules without a call."""
    if rule <= ROUNDED:
        dx = coordinates[i, 0] - coordinates[j, 0]
        dy = coordinates[i, 1] - coordinates[j, 1]
        straight = math.sqrt(dx * dx + dy * dy)
        return math.floor(straight + 0.5) if rule == ROUNDED else straight
    return distance(rule, coordinates, matrix, i, j)


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


@njit(cache=True)
def reverse_path(tour, place, x, y, forward, log):  # type: ignore[no-untyped-def]
    """Reverse the path that leads from city x to city y in the walking direction, and note it.

    log: (rows, 2), the number of reversals noted in its first entry, then their positions.
    """
    i, j = (place[x], place[y]) if forward else (place[y], place[x])
    _reverse(tour, place, i, j)
    log[0, 0] += 1
    log[log[0, 0], 0], log[log[0, 0], 1] = i, j


@njit(cache=True)
def _undo(tour, place, log, down_to):  # type: ignore[no-untyped-def]
    """Take back the reversals noted after the first `down_to`."""
    for k in range(log[0, 0], down_to, -1):
        _reverse(tour, place, log[k, 0], log[k, 1])
    log[0, 0] = down_to


@njit(cache=True, inline="always")
def _beside(tour, place, city, step):  # type: ignore[no-untyped-def]
    """The city `step` positions after another, 0 to n - 1 (a comparison costs less than a rest)."""
    at = place[city] + step
    return tour[at - tour.shape[0] if at >= tour.shape[0] else at]


@njit(cache=True)
def _two_opt(rule, coordinates, matrix, neighbours, tour, place, a, log, touched):  # type: ignore[no-untyped-def]
    """Apply the first improving 2-opt move at city a; return its gain."""
    n = tour.shape[0]
    for forward in (True, False):
        step = 1 if forward else n - 1
        b = _beside(tour, place, a, step)
        d_ab = _length(rule, coordinates, matrix, a, b)
        for k in range(neighbours.shape[1]):
            c = neighbours[a, k]
            d_ac = _length(rule, coordinates, matrix, a, c)
            if d_ac >= d_ab:
                break
            d = _beside(tour, place, c, step)
            if c == b or d == a:
                continue
            gain = (
                d_ab
                + _length(rule, coordinates, matrix, c, d)
                - d_ac
                - _length(rule, coordinates, matrix, b, d)
            )
            if gain > _EPSILON:
                reverse_path(tour, place, b, c, forward, log)
                touched[0], touched[1], touched[2], touched[3] = a, b, c, d
                return gain
    return 0.0


@njit(cache=True)
def _or_opt(rule, coordinates, matrix, neighbours, tour, place, a, log, touched):  # type: ignore[no-untyped-def]
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
                _length(rule, coordinates, matrix, p, a)
                + _length(rule, coordinates, matrix, last, q)
                - _length(rule, coordinates, matrix, p, q)
            )
            if freed <= _EPSILON:
                continue
            for k in range(neighbours.shape[1]):
                c = neighbours[a, k]
                d_ac = _length(rule, coordinates, matrix, a, c)
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
                        + _length(rule, coordinates, matrix, c, e)
                        - d_ac
                        - _length(rule, coordinates, matrix, last, e)
                    )
                    if side == 1 and c == q:
                        gain = (
                            _length(rule, coordinates, matrix, p, a)
                            + _length(rule, coordinates, matrix, last, q)
                            - d_ac
                            - _length(rule, coordinates, matrix, last, p)
                        )
                    if gain > _EPSILON:
                        move_stretch(tour, place, a, last, c, e, p, q, forward, side, log)
                        touched[0], touched[1], touched[2] = a, last, c
                        touched[3], touched[4], touched[5] = e, p, q
                        return gain
    return 0.0


@njit(cache=True)
def _chain(rule, coordinates, matrix, neighbours, tour, place, a, log, touched):  # type: ignore[no-untyped-def]
    """Lin and Kernighan's chain of exchanges at city a; return its gain and how many cities it met.

    The road from a to its neighbour b is given up; b is joined to a city c near it, whose road on
    the side of b is given up in turn, and so on with the end that this leaves. The first two
    exchanges are chosen together, without carrying them out.
    """
    n = tour.shape[0]
    for side in range(2):
        forward = side == 0
        step = 1 if forward else n - 1
        b = _beside(tour, place, a, step)
        open_ = _length(rule, coordinates, matrix, a, b)
        c1, c2, closes, widest = -1, -1, _EPSILON, -np.inf
        for k in range(neighbours.shape[1]):
            c = neighbours[b, k]
            first = open_ - _length(rule, coordinates, matrix, b, c)
            if first <= _EPSILON:
                break
            d = _beside(tour, place, c, n - step)
            if c == a or d == b:
                continue
            first += _length(rule, coordinates, matrix, c, d)
            reach = _ahead(place, b, d, forward, n)
            for m in range(min(_SECOND, neighbours.shape[1])):
                e = neighbours[d, m]
                second = first - _length(rule, coordinates, matrix, d, e)
                if second <= _EPSILON:
                    break
                if e in (a, c):
                    continue
                turned = _ahead(place, b, e, forward, n) <= reach
                f = _beside(tour, place, e, step if turned else n - step)
                if f == d:
                    continue
                second += _length(rule, coordinates, matrix, e, f)
                closed = second - _length(rule, coordinates, matrix, f, a)
                if closed > closes:
                    c1, c2, closes = c, e, closed
                elif closes <= _EPSILON and second > widest:
                    c1, c2, widest = c, e, second
        if c1 < 0:
            continue
        mark = log[0, 0]
        best, best_mark, count = _EPSILON, mark, 2
        touched[0], touched[1] = a, b
        c = c1
        for depth in range(_DEPTH):
            step = 1 if forward else n - 1
            d = _beside(tour, place, c, n - step)
            open_ += _length(rule, coordinates, matrix, c, d)
            open_ -= _length(rule, coordinates, matrix, b, c)
            reverse_path(tour, place, b, d, forward, log)
            forward = _beside(tour, place, a, 1) == d
            touched[count], touched[count + 1] = c, d
            count += 2
            b = d
            closed = open_ - _length(rule, coordinates, matrix, b, a)
            if closed > best:
                best, best_mark = closed, log[0, 0]
            if depth == 0:
                c = c2
                continue
            step = 1 if forward else n - 1
            c, widest = -1, -np.inf
            for k in range(min(_SECOND, neighbours.shape[1])):
                e = neighbours[b, k]
                length = _length(rule, coordinates, matrix, b, e)
                if open_ - length <= best:
                    break
                f = _beside(tour, place, e, n - step)
                if e == a or f == b:
                    continue
                met = False  # the road between e and f may be new
                for i in range(2, count, 2):
                    met = met or touched[i] == e
                if met:
                    continue
                wide = _length(rule, coordinates, matrix, e, f) - length
                if wide > widest:
                    c, widest = e, wide
            if c < 0:
                break
        _undo(tour, place, log, best_mark)
        if best > _EPSILON:
            return best, count
    return 0.0, 0


@njit(cache=True, inline="always")
def _ahead(place, u, v, forward, n):  # type: ignore[no-untyped-def]
    """How many steps lead from u to v in the walking direction."""
    steps = place[v] - place[u] if forward else place[u] - place[v]
    return steps + n if steps < 0 else steps


@njit(cache=True)
def move_stretch(tour, place, a, last, c, e, p, q, forward, side, log):  # type: ignore[no-untyped-def]
    """Take the stretch a … last out and lay it between c and e, with a at c."""
    if side == 1 and c == q:
        reverse_path(tour, place, a, last, forward, log)
        return
    # in walking order the tour is p [a … last] q … x y … with {x, y} = {c, e}
    x = c if side == 0 else e
    # bring the stretch in front of y: reversing [a … last q … x] lays x … q last … a before y;
    # reversing x … q back gives p q … x last … a y, with the stretch reversed
    reverse_path(tour, place, a, x, _walks(tour, place, p, a, forward), log)
    reverse_path(tour, place, x, q, _walks(tour, place, p, x, forward), log)
    if side == 0:  # here x = c must meet a, so the stretch is turned once more
        reverse_path(tour, place, last, a, _walks(tour, place, x, last, forward), log)


@njit(cache=True)
def _walks(tour, place, u, v, forward):  # type: ignore[no-untyped-def]
    """Direction in which v follows u, since a reversal may have turned the complement instead."""
    n = tour.shape[0]
    ahead = _beside(tour, place, u, 1) == v
    behind = _beside(tour, place, u, n - 1) == v
    if ahead and behind:
        return forward
    return ahead


@njit(cache=True)
def _descend(  # type: ignore[no-untyped-def]
    rule, coordinates, matrix, neighbours, tour, place, queue, queued, count, log, keeps, stop
):
    """Improve until no queued city offers a move; return the total gain.

    `keeps` says that nothing is to be undone; else the descent ends when the log is full. It ends
    early when stop (1,) is set.
    """
    n = tour.shape[0]
    touched = np.empty(2 * _DEPTH + 2, dtype=np.int64)
    total = 0.0
    head = 0
    while count > 0 and not stop[0]:
        a = queue[head]
        head += 1
        if head == n:
            head = 0
        count -= 1
        queued[a] = False
        while True:
            if log[0, 0] + 2 * _DEPTH >= log.shape[0]:
                if not keeps:
                    break
                log[0, 0] = 0
            number = 4
            gain = _two_opt(rule, coordinates, matrix, neighbours, tour, place, a, log, touched)
            if gain == 0.0:
                number = 6
                gain = _or_opt(rule, coordinates, matrix, neighbours, tour, place, a, log, touched)
            if gain == 0.0 and n >= _FEWEST:
                gain, number = _chain(
                    rule, coordinates, matrix, neighbours, tour, place, a, log, touched
                )
            if gain == 0.0:
                break
            total += gain
            for k in range(number):
                city = touched[k]
                if not queued[city] and city != a:
                    at = head + count
                    queue[at - n if at >= n else at] = city
                    queued[city] = True
                    count += 1
    return total


@njit(cache=True, nogil=True)
def search_tour(rule, coordinates, matrix, neighbours, tour, rounds, stream, stop):  # type: ignore[no-untyped-def]
    """Improve `tour` for that many rounds of disturbance and descent, or until stop (1,) is set."""
    n = tour.shape[0]
    place = np.empty(n, dtype=np.int64)
    for k in range(n):
        place[tour[k]] = k
    queue = tour.copy()
    queued = np.ones(n, dtype=np.bool_)
    log = np.zeros((_NOTED, 2), dtype=np.int64)
    metric = rule, coordinates, matrix
    _descend(*metric, neighbours, tour, place, queue, queued, n, log, True, stop)
    stretch = min(_STRETCH, n // 2 + 1)  # which is never longer than the rest
    for _ in range(rounds):
        if stop[0]:
            break
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
        before, after = tour[(s + i - 1) % n], tour[(s + k) % n]
        b_first, b_last = tour[(s + i) % n], tour[(s + j - 1) % n]
        c_first, c_last = tour[(s + j) % n], tour[(s + k - 1) % n]
        change = (
            _length(rule, coordinates, matrix, before, b_first)
            + _length(rule, coordinates, matrix, b_last, c_first)
            + _length(rule, coordinates, matrix, c_last, after)
            - _length(rule, coordinates, matrix, before, c_first)
            - _length(rule, coordinates, matrix, c_last, b_first)
            - _length(rule, coordinates, matrix, b_last, after)
        )
        log[0, 0] = 0
        _swap_stretches(tour, place, (s + i) % n, (s + k - 1) % n, k - j, log)
        count = 0
        for city in (before, b_first, b_last, c_first, c_last, after):
            if not queued[city]:
                queue[count] = city
                queued[city] = True
                count += 1
        change += _descend(*metric, neighbours, tour, place, queue, queued, count, log, False, stop)
        if change < -_EPSILON:
            _undo(tour, place, log, 0)
    return tour


@njit(cache=True)
def _swap_stretches(tour, place, i, j, right, log):  # type: ignore[no-untyped-def]
    """Lay the last `right` of the positions i to j before the others."""
    n = tour.shape[0]
    split = i + right
    for x, y in ((i, j), (i, split - 1), (split, j)):
        x, y = x % n, y % n
        _reverse(tour, place, x, y)
        log[0, 0] += 1
        log[log[0, 0], 0], log[log[0, 0], 1] = x, y
