"""Shortest-path routing, compiled: distances, next hops and the load of every arc.

Weights are whole numbers, so equal distances are equal exactly. Everything works per destination:
a changed weight leaves the destinations alone whose shortest paths it cannot touch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.heap import pop_node, push_node
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


class Queue(NamedTuple):
    """Scratch of `settle`: Dial's buckets, or a heap where weights may be large.

    Attributes:
        buckets: (largest weight + 1,), all -1, left so; of length 1 for a heap
        entries: (2, 2 E + 1)
    """

    buckets: Array
    entries: Array


class Setting(NamedTuple):
    """What weights are chosen for.

    Attributes:
        network: links
        demands: grouped by destination
        ecmp: whether flow splits evenly over all next hops, or takes the one of the lowest id
        low: smallest weight of a link
        high: largest weight
        queue: scratch
        step: by how much a change raises or lowers a weight
        span: changes from the smallest weight to a large one
    """

    network: Network
    demands: Demands
    ecmp: bool
    low: int
    high: int
    queue: Queue
    step: int = 1
    span: int = 4


class Scratch(NamedTuple):
    """Scratch of `total_loads`.

    Attributes:
        distance: int32 (n + 1, n)
        counts: int32 (n x largest weight + 2,)
        order: (n,)
        flow: (n,) zeros
    """

    distance: Array
    counts: Array
    order: Array
    flow: Array


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
def stepped(weight, change, setting):  # type: ignore[no-untyped-def]
    """The weight after a change of -1, 0 or 1, within the bounds."""
    return min(max(weight + change * setting.step, setting.low), setting.high)


@njit(cache=True)
def star_of(network):  # type: ignore[no-untyped-def]
    """First arcs of the nodes (n + 1,), and heads and arcs (2 E,): the forward star."""
    return network.first, network.heads, network.arcs


@njit(cache=True)
def ways_of(network, weights):  # type: ignore[no-untyped-def]
    """Arcs that leave nodes and arcs that reach them, each as first, ends and weights along them.

    And whether links have one direction only. The first three and the next are the same arrays
    where all links have both directions.
    """
    steps = steps_along(network.arcs, weights)
    back = steps
    if network.directed:
        back = steps_along(network.back_arcs, weights)
    return network.first, network.heads, steps, network.back_first, network.tails, back


@njit(cache=True)
def steps_along(arcs, weights):  # type: ignore[no-untyped-def]
    """Weight of the link of every arc: (A,)."""
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
def settle(target, first, heads, steps, queue, distance, order):  # type: ignore[no-untyped-def]
    """Distances to `target` and the nodes in order of them (Dial's buckets); return how many.

    first, heads, steps: the arcs that reach nodes, as `ways_of` gives them.
    """
    buckets, entries = queue
    n = distance.shape[0]
    if buckets.shape[0] == 1:
        return _settle_by_heap(target, first, heads, steps, entries, distance, order)
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
def _settle_by_heap(target, first, heads, steps, entries, distance, order):  # type: ignore[no-untyped-def]
    """`settle` with a binary heap, whose time does not grow with the weights."""
    n = distance.shape[0]
    nodes, keys = entries
    for v in range(n):
        distance[v] = FAR
    distance[target] = 0
    nodes[0] = target
    keys[0] = 0
    waiting, settled = 1, 0
    while waiting > 0:
        v, now = nodes[0], keys[0]
        waiting -= 1
        pop_node(nodes, keys, waiting)
        if distance[v] != now:
            continue
        place = settled
        while place > 0 and distance[order[place - 1]] == now and order[place - 1] > v:
            order[place] = order[place - 1]
            place -= 1
        order[place] = v
        settled += 1
        for k in range(first[v], first[v + 1]):
            w, way = heads[k], now + steps[k]
            if way < distance[w]:
                distance[w] = way
                push_node(nodes, keys, waiting, w, way)
                waiting += 1
    for place in range(settled, n):
        order[place] = target
    return settled


@njit(cache=True)
def spread(begin, star, steps, ecmp, tree, flow, tight, loads):  # type: ignore[no-untyped-def]
    """Route the flow (n,) of the nodes up to ``order[begin]`` to the destination, adding to loads.

    tree: distances and order, (n,) each. tight: scratch (n,).
    """
    first, heads, arcs = star
    distance, order = tree
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


@njit(cache=True, forceinline=True)
def aggregate_loads(target, setting, steps, distance, order, settled, flow, loads):  # type: ignore[no-untyped-def]
    """Add the loads of all demands to `target` to `loads`."""
    star, ecmp = star_of(setting.network), setting.ecmp
    d_first, d_sources, d_volumes = setting.demands
    tight = np.empty(d_first.shape[0], dtype=np.int64)
    for d in range(d_first[target], d_first[target + 1]):
        flow[d_sources[d]] += d_volumes[d]
    spread(settled - 1, star, steps, ecmp, (distance, order), flow, tight, loads)


@njit(cache=True)
def all_distances(network, weights, distance, row):  # type: ignore[no-untyped-def]
    """Distances to all nodes (rows), int32 (n, n), by Floyd and Warshall; `row` is scratch (n,).

    Its inner loop is a plain minimum over rows, which compiled code does eight at a time; up to a
    thousand nodes or so nothing that branches keeps up.
    """
    n = distance.shape[0]
    for u in range(n):
        for v in range(n):
            distance[u, v] = 0 if u == v else UNREACHED
    for v in range(n):
        for k in range(network.first[v], network.first[v + 1]):
            step = np.int32(weights[network.arcs[k] >> 1])
            distance[network.heads[k], v] = min(distance[network.heads[k], v], step)
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
    """Nodes by distance, then by id (counting sort); return how many can be reached.

    Where weights may be large, `counts` has no room for all distances, and it is another sort.
    """
    if counts.shape[0] == 1:
        reached = 0
        for v in np.argsort(distance, kind="mergesort"):
            order[reached] = v
            reached += distance[v] < UNREACHED
        return reached
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
def total_loads(setting, weights, scratch, loads):  # type: ignore[no-untyped-def]
    """Loads of all demands from scratch."""
    distance, counts, order, flow = scratch
    network, d_first = setting.network, setting.demands.first
    steps = steps_along(network.arcs, weights)
    n = network.num_nodes
    clear(loads)
    all_distances(network, weights, distance[:n], distance[n])
    for t in range(n):
        if d_first[t] < d_first[t + 1]:
            reached = order_by_distance(distance[t], counts, order)
            aggregate_loads(t, setting, steps, distance[t], order, reached, flow, loads)


@njit(cache=True)
def is_affected(distance, u, v, old, new, directed=False):  # type: ignore[no-untyped-def]
    """Whether shortest paths to a destination can change with the weight of the link u-v."""
    gap = distance[u] - distance[v]
    if not directed:
        gap = abs(gap)
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
def route(setting, weights, link, old, routes):  # type: ignore[no-untyped-def]
    """Bring `routes` up to date after `link` had the weight `old` (-1: after any change at all)."""
    distance, order, ways, hops, loads, shares = routes
    d_first, d_sources, d_volumes = setting.demands
    ecmp, edges = setting.ecmp, setting.network.edges
    star = first, heads, _ = star_of(setting.network)
    n = d_first.shape[0] - 1
    flow = np.zeros(n)
    _, _, steps, back_first, tails, back = ways_of(setting.network, weights)
    directed = setting.network.directed
    clear(loads)
    for arc in range(shares.shape[0]):
        for k in range(LARGEST):
            shares[arc, k] = 0.0
    for t in range(n):
        if d_first[t] == d_first[t + 1]:
            continue
        far = distance[t]
        u, v = edges[0, link], edges[1, link]
        if link < 0 or is_affected(far, u, v, old, weights[link], directed):
            end = u if directed or far[u] > far[v] else v
            if link >= 0 and keeps_distance(end, first, heads, steps, far):
                find_hops(end, first, heads, steps, ecmp, far, ways[t], hops[t])
            else:
                settle(t, back_first, tails, back, setting.queue, far, order[t])
                for w in range(n):
                    find_hops(w, first, heads, steps, ecmp, far, ways[t], hops[t])
        for d in range(d_first[t], d_first[t + 1]):
            _spread_one(t, d_sources[d], d_volumes[d], star, routes, flow)


@njit(cache=True)
def _spread_one(target, v, amount, star, routes, flow):  # type: ignore[no-untyped-def]
    """As `spread` for a single demand from `v`, ranking it among the largest on every arc it uses.

    flow: scratch, zeros.
    """
    first, heads, arcs = star
    _, orders, all_ways, all_hops, loads, shares = routes
    order, ways, hops = orders[target], all_ways[target], all_hops[target]
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
