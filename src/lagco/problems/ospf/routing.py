"""Shortest-path routing, compiled: distances, next hops and the load of every arc.

Weights are whole numbers, so equal distances are equal exactly. Everything works per destination:
a changed weight leaves the destinations alone whose shortest paths it cannot touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.networks.network import Network

FAR = np.int64(1) << 40
UNREACHED = np.int32(1) << np.int32(29)
#: how many of the largest demands on a link are told apart
LARGEST = 3


class Routes(NamedTuple):
    """State that is kept between two weight changes.

    Attributes:
        distance: (n, n), row t: from every node to destination t
        order: (n, n), row t: the nodes by distance to t, then by id
        ways: (n, n), row t: over how many next hops each node sends what is for t
        hops: (n, 2 E), row t: these next hops of v as places in ``heads``, from ``first[v]`` on
        loads: (2 E,) per arc
        shares: (2 E, 3), the largest amounts that single demands put on the arc
    """

    distance: Array
    order: Array
    ways: Array
    hops: Array
    loads: Array
    shares: Array


class Demands(NamedTuple):
    """Demands grouped by destination: those to t are ``first[t]`` to ``first[t + 1]``.

    Attributes:
        first: (n + 1,)
        sources: (D,)
        volumes: (D,)
    """

    first: Array
    sources: Array
    volumes: Array


def empty_routes(network: Network) -> Routes:
    """Arrays of the right shapes."""
    n, arcs = network.num_nodes, 2 * network.num_links
    return Routes(
        np.zeros((n, n), dtype=np.int64),
        np.zeros((n, n), dtype=np.int64),
        np.zeros((n, n), dtype=np.int64),
        np.zeros((n, arcs), dtype=np.int32),
        np.zeros(arcs),
        np.zeros((arcs, LARGEST)),
    )


def grouped_demands(network: Network) -> Demands:
    """The demands of a network by destination."""
    order = np.lexsort((network.sources, network.targets))
    first = np.zeros(network.num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(network.targets, minlength=network.num_nodes), out=first[1:])
    return Demands(first, network.sources[order], network.volumes[order])


@njit(cache=True)
def steps_along(arcs, weights):  # type: ignore[no-untyped-def]
    """Weight of the link of every arc: (2 E,)."""
    steps = np.empty(arcs.shape[0], dtype=np.int64)
    for k in range(arcs.shape[0]):
        steps[k] = weights[arcs[k] >> 1]
    return steps


@njit(cache=True)
def clear(values):  # type: ignore[no-untyped-def]
    """Set all to 0."""
    for i in range(values.shape[0]):
        values[i] = 0.0


@njit(cache=True)
def settle(target, first, heads, steps, buckets, entries, distance, order):  # type: ignore[no-untyped-def]
    """Distances to `target` and the nodes in order of them (Dial's buckets); return how many.

    steps: (2 E,), weights along `heads`. buckets: (largest weight + 1,), all -1, left so.
    entries: (2, 2 E + 1), scratch.
    """
    n = distance.shape[0]
    ring = buckets.shape[0]
    for v in range(n):
        distance[v] = FAR
    distance[target] = 0
    entries[0, 0] = target
    entries[1, 0] = -1
    buckets[0] = 0
    used, waiting = 1, 1
    now, slot, settled = 0, 0, 0
    while waiting > 0:
        entry = buckets[slot]
        if entry < 0:
            now += 1
            slot += 1
            if slot == ring:
                slot = 0
            continue
        buckets[slot] = entries[1, entry]
        waiting -= 1
        v = entries[0, entry]
        if distance[v] != now:
            continue  # reached on a shorter way meanwhile
        place = settled
        while place > 0 and distance[order[place - 1]] == now and order[place - 1] > v:
            order[place] = order[place - 1]
            place -= 1
        order[place] = v
        settled += 1
        for k in range(first[v], first[v + 1]):
            w = heads[k]
            step = steps[k]
            if now + step < distance[w]:
                distance[w] = now + step
                at = slot + step
                if at >= ring:
                    at -= ring
                entries[0, used] = w
                entries[1, used] = buckets[at]
                buckets[at] = used
                used += 1
                waiting += 1
    for place in range(settled, n):
        order[place] = target  # nodes that cannot be reached from there
    return settled


@njit(cache=True)
def spread(begin, first, heads, arcs, steps, ecmp, distance, order, flow, tight, loads):  # type: ignore[no-untyped-def]
    """Let the flow waiting at the nodes ``order[begin]``, … , run down to the destination."""
    target = order[0]
    for place in range(begin, 0, -1):
        v = order[place]
        amount = flow[v]
        if amount == 0.0 or v == target:
            continue
        flow[v] = 0.0
        here = distance[v]
        ways = 0
        for k in range(first[v], first[v + 1]):
            if distance[heads[k]] + steps[k] == here:
                tight[ways] = k
                ways += 1
        if not ecmp:
            ways = 1  # the neighbours are sorted: the lowest id
        amount /= ways
        for i in range(ways):
            k = tight[i]
            loads[arcs[k]] += amount
            flow[heads[k]] += amount
    flow[target] = 0.0


@njit(cache=True)
def aggregate_loads(  # type: ignore[no-untyped-def]
    target, first, heads, arcs, steps, ecmp, distance, order, settled, demands, flow, loads
):
    """Add the loads of all demands to `target` to `loads`."""
    d_first, d_sources, d_volumes = demands
    tight = np.empty(first.shape[0], dtype=np.int64)
    for d in range(d_first[target], d_first[target + 1]):
        flow[d_sources[d]] += d_volumes[d]
    spread(settled - 1, first, heads, arcs, steps, ecmp, distance, order, flow, tight, loads)


@njit(cache=True)
def all_distances(edges, weights, distance, row):  # type: ignore[no-untyped-def]
    """Distances between all nodes, int32 (n, n), by Floyd and Warshall; `row` is scratch (n,).

    Its inner loop is a plain minimum over rows, which compiled code does eight at a time; up to a
    thousand nodes or so nothing that branches keeps up.
    """
    n = distance.shape[0]
    for u in range(n):
        for v in range(n):
            distance[u, v] = 0 if u == v else UNREACHED
    for e in range(edges.shape[1]):
        u, v = edges[0, e], edges[1, e]
        distance[u, v] = min(distance[u, v], weights[e])
        distance[v, u] = distance[u, v]
    for k in range(n):
        for j in range(n):
            row[j] = distance[k, j]
        for i in range(n):
            own = distance[i]
            lead = own[k]
            for j in range(n):
                own[j] = min(own[j], np.int32(lead + row[j]))


@njit(cache=True)
def order_by_distance(distance, counts, order):  # type: ignore[no-untyped-def]
    """Nodes by distance, then by id (counting sort); return how many can be reached."""
    farthest = 0
    reached = 0
    for v in range(distance.shape[0]):
        if distance[v] < UNREACHED:
            farthest = max(farthest, distance[v])
            reached += 1
    for d in range(farthest + 2):
        counts[d] = 0
    for v in range(distance.shape[0]):
        if distance[v] < UNREACHED:
            counts[distance[v] + 1] += 1
    for d in range(farthest):
        counts[d + 1] += counts[d]
    for v in range(distance.shape[0]):
        if distance[v] < UNREACHED:
            order[counts[distance[v]]] = v
            counts[distance[v]] += 1
    return reached


@njit(cache=True)
def total_loads(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, weights, ecmp, demands, distance, counts, order, flow, loads
):
    """Loads of all demands from scratch.

    Scratch: distance (n + 1, n) and counts (n x largest weight + 2,) int32, order (n,) int64,
    flow (n,) zeros.
    """
    steps = steps_along(arcs, weights)
    n = first.shape[0] - 1
    clear(loads)
    all_distances(edges, weights, distance[:n], distance[n])
    d_first = demands[0]
    for t in range(n):
        if d_first[t] < d_first[t + 1]:
            reached = order_by_distance(distance[t], counts, order)
            aggregate_loads(
                t, first, heads, arcs, steps, ecmp, distance[t], order, reached, demands, flow,
                loads,
            )  # fmt: skip


@njit(cache=True)
def is_affected(distance, u, v, old, new):  # type: ignore[no-untyped-def]
    """Whether shortest paths to a destination can change with the weight of the link u-v."""
    gap = abs(distance[u] - distance[v])
    return gap == old if new > old else gap >= new


@njit(cache=True)
def find_hops(v, first, heads, steps, ecmp, distance, ways, hops):  # type: ignore[no-untyped-def]
    """Next hops of node v on shortest paths to the destination at distance 0."""
    found = first[v]
    for k in range(first[v], first[v + 1]):
        hops[found] = k  # without branches, which the processor could not foresee
        found += distance[heads[k]] + steps[k] == distance[v]
    ways[v] = found - first[v] if ecmp else min(1, found - first[v])


@njit(cache=True)
def keeps_distance(v, first, heads, steps, distance):  # type: ignore[no-untyped-def]
    """Whether the distance of node v is still that of its shortest way."""
    least = FAR
    for k in range(first[v], first[v + 1]):
        least = min(least, distance[heads[k]] + steps[k])
    return least == distance[v]


@njit(cache=True)
def route(first, heads, arcs, edges, weights, ecmp, demands, link, old, routes, buckets, entries):  # type: ignore[no-untyped-def]
    """Bring `routes` up to date after `link` had the weight `old` (-1: after any change at all)."""
    distance, order, ways, hops, loads, shares = routes
    d_first, d_sources, d_volumes = demands
    n = first.shape[0] - 1
    flow = np.zeros(n)
    steps = steps_along(arcs, weights)
    clear(loads)
    for arc in range(shares.shape[0]):
        for k in range(LARGEST):
            shares[arc, k] = 0.0
    for t in range(n):
        if d_first[t] == d_first[t + 1]:
            continue
        far = distance[t]
        u, v = edges[0, link], edges[1, link]
        if link < 0 or is_affected(far, u, v, old, weights[link]):
            end = u if far[u] > far[v] else v
            if link >= 0 and keeps_distance(end, first, heads, steps, far):
                find_hops(end, first, heads, steps, ecmp, far, ways[t], hops[t])
            else:
                settle(t, first, heads, steps, buckets, entries, far, order[t])
                for w in range(n):
                    find_hops(w, first, heads, steps, ecmp, far, ways[t], hops[t])
        for d in range(d_first[t], d_first[t + 1]):
            _spread_one(
                t, d_sources[d], d_volumes[d], first, heads, arcs, order[t], ways[t], hops[t],
                flow, loads, shares,
            )  # fmt: skip


@njit(cache=True)
def _spread_one(  # type: ignore[no-untyped-def]
    target, v, amount, first, heads, arcs, order, ways, hops, flow, loads, shares
):
    """As `spread` for a single demand from `v`, ranking it among the largest on every arc it uses.

    flow: scratch, zeros.
    """
    while v != target and ways[v] == 1:  # mostly all the way
        hop = hops[first[v]]
        _load(arcs[hop], amount, loads, shares)
        v = heads[hop]
    if v == target or ways[v] == 0:  # it is there, or cannot go on
        return
    place = order.shape[0] - 1
    while order[place] != v:
        place -= 1
    flow[v] = amount
    while place > 0:
        v = order[place]
        place -= 1
        amount = flow[v]
        if amount == 0.0 or v == target:
            continue
        flow[v] = 0.0
        amount /= ways[v]
        for i in range(first[v], first[v] + ways[v]):
            _load(arcs[hops[i]], amount, loads, shares)
            flow[heads[hops[i]]] += amount
    flow[target] = 0.0


@njit(cache=True)
def _load(arc, amount, loads, shares):  # type: ignore[no-untyped-def]
    """Add what a demand puts on an arc, and rank it among the largest there."""
    loads[arc] += amount
    for k in range(LARGEST):  # without branches
        above = shares[arc, k]
        shares[arc, k] = max(above, amount)
        amount = min(above, amount)
