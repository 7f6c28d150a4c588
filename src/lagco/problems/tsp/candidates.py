"""Features of candidate cities: what a ranker sees of the next steps of a tour, compiled.

All lengths are in units of the mean distance to the candidates, directions in a frame that points
from the current city to the start, so nothing depends on size, unit, position or orientation. The
cities near the current one that are left form a neighbourhood; spanning trees of it, under prices
as in Held and Karp's bound (cities of too high a degree become dearer, leaves cheaper), say which
edges a short path through it would use.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.core.candidates import Columns
from lagco.problems.tsp.distances import distance

#: what a ranker sees of a candidate city: lengths over the mean distance to the candidates, on a
#: logarithmic scale where it says so; tree: the shortest one through the neighbourhood
EACH = Columns(
    distance="distance from the current city",
    log_distance="logarithm of that over the least of a candidate",
    forward="way towards the start",
    sideways="way across, to the side where most candidates are",
    nearest={
        "nearest_1": "log distance to the nearest city left",
        "nearest_2": "log distance to the second nearest",
        "nearest_3": "log distance to the third nearest",
    },
    to_start="log distance to the start",
    away_from_start="by how much it is farther from the start than the current city",
    by_nearest="logarithm of its distance over that to its nearest city left",
    detour="distance less the longest edge on its way in the tree",
    degree="edges in the tree",
    joined="the tree joins it to the current city",
    to_centre="log distance to the centre of the cities left",
    favoured="cities of the neighbourhood that are nearest to it",
    rank="rank by distance",
    spacing="logarithm of the unit over the mean distance to the nearest city left",
    start_distance="log distance of the current city to the start",
    candidates="number of candidates",
    cities_left="logarithm of the number of cities left",
    centre_distance="distance of the current city to the centre of the cities left",
    log_centre_distance="the same on a logarithmic scale",
    centre_forward="share of that way towards the start",
    centre_sideways="share of it across",
    current_degree="edges of the current city in the tree",
    at_start="the current city is the start",
    priced_detour="priced distance less the longest edge on its way in the priced tree",
    price="price of the city",
    share="share of the priced trees with the edge from the current city",
    priced_degree="edges in the last priced tree",
    start_share="share of the priced trees with the edge to the start, if all cities left are seen",
)
#: what it sees of going to a candidate and then to another one
PAIRS = Columns(
    distance="distance between them",
    log_distance="the same on a logarithmic scale",
    detour="way to the other over the candidate less the straight one",
    joined="the tree joins them",
    by_nearest="logarithm of the distance over that from the candidate to its nearest city left",
    by_other_nearest="the same from the other one",
    same="they are the same city; all else is 0",
    start_detour="way from the candidate over the other to the start less the straight one",
    share="share of the priced trees with their edge",
    priced="priced distance",
)
#: what is added before logarithms of lengths: closer than that counts as being there
_NEAR, _FAR_AWAY = 0.02, 0.1
#: where large values are cut off, so that single outliers do not stretch the scale
_MOST = 4.0
#: number of candidates that an agent usually has
_USUAL = 16.0
#: logarithm of about a hundred cities, from where on all instances look alike, and a middle value
_MANY, _MIDDLE = 4.6, 3.0
#: cities in the neighbourhood, at most, in addition to the candidates
NEIGHBOURHOOD = 32
_ROUNDS, _SKIPPED = 20, 5
_FAR, _BEYOND = 1e30, 1e35
_TINY = 1e-9


@njit(cache=True)
def describe_cities(metric, nearest, visited, current, start, cities, each, pairs):  # type: ignore[no-untyped-def]
    """Write features of candidate `cities` (k,) to the records each (k,) and pairs (k, k), zeros.

    nearest (n, m): the m nearest cities of each.
    """
    rule, coordinates, matrix = metric
    k = cities.shape[0]
    around, left, gx, gy = _neighbourhood(rule, coordinates, matrix, visited, current, cities)
    count = around.shape[0]
    # distances between current city (0), neighbourhood (1 … count) and start (last)
    total = count + 2
    last = total - 1
    node = np.empty(total, np.int64)
    node[0], node[last] = current, start
    node[1:last] = around
    d = np.zeros((total, total))
    for i in range(total):
        for j in range(i):
            d[i, j] = d[j, i] = distance(rule, coordinates, matrix, node[i], node[j])
    place = np.empty(k, np.int64)
    for i in range(k):
        for j in range(count):
            if around[j] == cities[i]:
                place[i] = j + 1
    unit, closest, reach = 0.0, _FAR, 0.0
    for i in range(k):
        unit += d[0, place[i]]
        closest = min(closest, d[0, place[i]])
        reach += math.hypot(
            coordinates[cities[i], 0] - coordinates[current, 0],
            coordinates[cities[i], 1] - coordinates[current, 1],
        )
    unit = unit / k + _TINY
    closest += _TINY
    # coordinates may have another unit than distances
    ratio = unit / (reach / k) if reach > _TINY else 0.0
    gx *= ratio
    gy *= ratio
    ux = (coordinates[start, 0] - coordinates[current, 0]) * ratio
    uy = (coordinates[start, 1] - coordinates[current, 1]) * ratio
    to_start = math.hypot(ux, uy)
    at_start = current == start
    if to_start > 1e-7 * unit:
        ux, uy = ux / to_start, uy / to_start
    else:
        norm = math.hypot(gx, gy) + 1e-12
        ux, uy = gx / norm, gy / norm
    to_start = d[0, last]
    flip = 0.0
    for i in range(k):
        x = coordinates[cities[i], 0] - coordinates[current, 0]
        y = coordinates[cities[i], 1] - coordinates[current, 1]
        flip += -x * uy + y * ux
    flip = 1.0 if flip >= 0 else -1.0
    ranks = np.empty(k, np.int64)
    for i in range(k):
        rank = 0
        for j in range(k):
            nearer = d[0, place[j]] < d[0, place[i]]
            if nearer or (d[0, place[j]] == d[0, place[i]] and j < i):
                rank += 1
        ranks[i] = rank
    near = np.empty((k, 3))
    spacing = 0.0
    for i in range(k):
        _nearest_left(rule, coordinates, matrix, nearest, visited, cities[i], near[i], 4.0 * unit)
        spacing += near[i, 0]
    spacing = spacing / k + _TINY
    parent, degree, detour = _spanning_tree(d, last)
    favourite = np.zeros(total)
    for i in range(1, last):
        best, shortest = -1, _FAR
        for j in range(1, last):
            if j != i and d[i, j] < shortest:
                shortest, best = d[i, j], j
        if best > 0:
            favourite[best] += 1
    whole = left <= count
    price, share, priced_degree, priced_detour = _prices(d, whole, spacing)
    pull, blur = math.hypot(gx, gy), _NEAR * unit
    for i in range(k):
        p = place[i]
        f = each[i]
        x = (coordinates[cities[i], 0] - coordinates[current, 0]) * ratio
        y = (coordinates[cities[i], 1] - coordinates[current, 1]) * ratio
        far, home = d[0, p] + _TINY, d[p, last]
        f.distance = far / unit
        f.log_distance = min(_MOST, math.log(far / closest))
        f.forward = (x * ux + y * uy) / unit
        f.sideways = flip * (-x * uy + y * ux) / unit
        for t in range(3):
            f.nearest[t] = math.log(near[i, t] / unit + _NEAR)
        f.to_start = math.log(home / unit + _FAR_AWAY)
        f.away_from_start = (home - to_start) / unit
        f.by_nearest = math.log((far + blur) / (near[i, 0] + blur))
        f.detour = (far - detour[p]) / unit
        f.degree = degree[p]
        f.joined = parent[p] == 0
        f.to_centre = math.log(math.hypot(x - gx, y - gy) / unit + _FAR_AWAY)
        f.favoured = favourite[p]
        f.rank = ranks[i] / _USUAL
        f.spacing = min(_MOST, math.log(unit / spacing))
        f.start_distance = math.log(to_start / unit + _FAR_AWAY)
        f.candidates = k / _USUAL
        f.cities_left = min(math.log(left), _MANY) - _MIDDLE
        f.centre_distance = min(pull / unit, _MOST)
        f.log_centre_distance = math.log(pull / unit + _FAR_AWAY)
        f.centre_forward = (gx * ux + gy * uy) / (pull + _TINY)
        f.centre_sideways = flip * (-gx * uy + gy * ux) / (pull + _TINY)
        f.current_degree = degree[0]
        f.at_start = at_start
        f.priced_detour = (far + price[0] + price[p] - priced_detour[p]) / unit
        f.price = price[p] / unit
        f.share = share[0, p]
        f.priced_degree = priced_degree[p]
        f.start_share = share[last, p] if whole else 0.0
        for j in range(k):
            q = place[j]
            g = pairs[i, j]
            between = d[p, q]
            if i == j:
                g.same = 1.0
                continue
            g.distance = between / unit
            g.log_distance = math.log(between / unit + _NEAR)
            g.detour = (far + between - d[0, q]) / unit
            g.joined = parent[p] == q or parent[q] == p
            g.by_nearest = math.log((between + blur) / (near[i, 0] + blur))
            g.by_other_nearest = math.log((between + blur) / (near[j, 0] + blur))
            g.start_detour = min(_MOST, (d[q, last] + between - home) / unit)
            g.share = share[p, q]
            g.priced = (between + price[p] + price[q]) / unit


@njit(cache=True)
def _neighbourhood(rule, coordinates, matrix, visited, current, cities):  # type: ignore[no-untyped-def]
    """The candidates and the nearest other cities left, nearest first; how many are left; the
    vector from the current city to their centre.
    """
    n, k = visited.shape[0], cities.shape[0]
    room = max(NEIGHBOURHOOD, k)
    listed = np.empty(room + 1, np.int64)
    away = np.empty(room + 1)
    chosen = np.zeros(n, np.bool_)
    count = 0
    for i in range(k):
        chosen[cities[i]] = True
        length = distance(rule, coordinates, matrix, current, cities[i])
        count = _insert(listed, away, count, count + 1, cities[i], length)
    left, gx, gy = 0, 0.0, 0.0
    others = np.empty(room - k + 1, np.int64)
    lengths = np.empty(room - k + 1)
    found = 0
    for city in range(n):
        if visited[city]:
            continue
        left += 1
        gx += coordinates[city, 0] - coordinates[current, 0]
        gy += coordinates[city, 1] - coordinates[current, 1]
        if chosen[city] or room == k:
            continue
        length = distance(rule, coordinates, matrix, current, city)
        if found < room - k or length < lengths[found - 1]:
            found = _insert(others, lengths, found, room - k, city, length)
    for i in range(found):
        count = _insert(listed, away, count, count + 1, others[i], lengths[i])
    return listed[:count].copy(), left, gx / max(left, 1), gy / max(left, 1)


@njit(cache=True)
def _insert(listed, lengths, count, most, city, length):  # type: ignore[no-untyped-def]
    """Put a city into a list sorted by length that holds `most` cities; their number then."""
    at = count
    while at > 0 and lengths[at - 1] > length:
        listed[at], lengths[at] = listed[at - 1], lengths[at - 1]
        at -= 1
    listed[at], lengths[at] = city, length
    return min(count + 1, most)


@njit(cache=True)
def _nearest_left(rule, coordinates, matrix, nearest, visited, city, out, missing):  # type: ignore[no-untyped-def]
    """Distances (3,) to the nearest cities left; `missing` where there are fewer."""
    found = 0
    for t in range(nearest.shape[1]):
        other = nearest[city, t]
        if not visited[other] and other != city:
            out[found] = distance(rule, coordinates, matrix, city, other) + _TINY
            found += 1
            if found == 3:
                return
    for t in range(3):
        out[t] = _FAR
    for other in range(visited.shape[0]):
        if visited[other] or other == city:
            continue
        length = distance(rule, coordinates, matrix, city, other) + _TINY
        if length < out[2]:
            if length < out[0]:
                out[2], out[1], out[0] = out[1], out[0], length
            elif length < out[1]:
                out[2], out[1] = out[1], length
            else:
                out[2] = length
    for t in range(3):
        if out[t] == _FAR:
            out[t] = missing


@njit(cache=True, fastmath={"nnan", "nsz"})
def _first_shortest(key, nodes):  # type: ignore[no-untyped-def]
    """The first of the nodes 1 … nodes - 1 that has the smallest key."""
    shortest = _FAR
    for i in range(1, nodes):  # without a branch, several nodes at a time
        shortest = min(shortest, key[i])
    best = 1
    while key[best] != shortest:
        best += 1
    return best


@njit(cache=True)
def _join(best, nodes, lengths, cost, key, parent):  # type: ignore[no-untyped-def]
    """Take a node into a tree, with `lengths` (n,) of its edges; keys of other nodes may fall.

    cost: (n,) price of a node outside the tree, _BEYOND within, so that its key stays _FAR.
    """
    own = cost[best]
    key[best], cost[best] = _FAR, _BEYOND
    for i in range(1, nodes):
        value, before, origin = lengths[i] + own + cost[i], key[i], parent[i]
        key[i] = value if value < before else before  # without a branch, as above
        parent[i] = best if value < before else origin


@njit(cache=True)
def _spanning_tree(d, last):  # type: ignore[no-untyped-def]
    """The shortest tree over nodes 0 … last - 1: parents, degrees, longest edge on the way to 0."""
    parent = np.zeros(last + 1, np.int64)
    key = d[0].copy()
    degree = np.zeros(last + 1)
    longest = np.zeros(last + 1)
    cost = np.zeros(last + 1)
    for _ in range(last - 1):
        best = _first_shortest(key, last)
        degree[best] += 1
        degree[parent[best]] += 1
        longest[best] = max(longest[parent[best]], key[best])
        _join(best, last, d[best], cost, key, parent)
    return parent, degree, longest


@njit(cache=True)
def _prices(d, whole, spacing):  # type: ignore[no-untyped-def]
    """Prices of the nodes, shares of the edges in the trees, degrees and longest edges in the last.

    A path through all nodes has degree 1 at both ends and 2 elsewhere. Where cities lie beyond the
    neighbourhood, the start is left out and outer cities may be leaves.
    """
    total = d.shape[0]
    last = total - 1
    nodes = total if whole else last
    price = np.zeros(total)
    before = np.zeros(total)
    share = np.zeros((total, total))
    degree = np.zeros(total)
    longest = np.zeros(total)
    key = np.empty(total)
    parent = np.zeros(total, np.int64)
    cost = np.empty(total)
    for turn in range(_ROUNDS):
        for i in range(nodes):
            degree[i], parent[i], longest[i], cost[i] = 0.0, 0, 0.0, price[i]
            key[i] = d[0, i] + price[i] + price[0]
        if whole:
            key[last] = _FAR  # the last edge of the path is not the first one
        counts = 1.0 / (_ROUNDS - _SKIPPED) if turn >= _SKIPPED else 0.0
        for _ in range(nodes - 1):
            best = _first_shortest(key, nodes)
            origin = parent[best]
            degree[best] += 1
            degree[origin] += 1
            share[origin, best] += counts
            share[best, origin] += counts
            longest[best] = max(longest[origin], key[best])
            _join(best, nodes, d[best], cost, key, parent)
        if turn < _ROUNDS - 1:
            step = spacing * (0.6 - 0.5 * turn / _ROUNDS)
            for i in range(nodes):
                excess = degree[i] - (1.0 if i == 0 or i == last else 2.0)
                if not whole and i > (last - 1) // 2 and excess < 0:
                    excess = 0.0
                price[i] += step * (0.7 * excess + 0.3 * before[i])
                before[i] = excess
    return price, share, degree, longest
