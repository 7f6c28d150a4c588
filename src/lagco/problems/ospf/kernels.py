"""Compiled steps of `ospf`: shares of demands, loads after a change."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.ospf.routing.shortest_paths import (
    aggregate_loads,
    clear,
    is_affected,
    settle,
    stepped,
    steps_along,
    ways_of,
)


@njit(cache=True)
def demand_shares(loads, largest, shares):  # type: ignore[no-untyped-def]
    """Shares of the largest demands in the load of the busier direction of every link."""
    for e in range(shares.shape[0]):
        arc = 2 * e if loads[2 * e] >= loads[2 * e + 1] else 2 * e + 1
        load = loads[arc]
        for k in range(shares.shape[1]):
            share = largest[arc, k] / load if load > 0.0 else 0.0
            shares[e, k] = min(share, 1.0)


@njit(cache=True)
def valid_changes(actions, weights, setting, out):  # type: ignore[no-untyped-def]
    """Whether the weight of the link can be changed so, for actions (link, change + 1)."""
    for a in range(actions.shape[0]):
        link, change = actions[a, 0], actions[a, 1] - 1
        out[a] = (
            0 <= link < weights.shape[0]
            and -1 <= change <= 1
            and (change == 0 or stepped(weights[link], change, setting) != weights[link])
        )


@njit(cache=True)
def loads_by_destination(setting, weights, distance, order, out):  # type: ignore[no-untyped-def]
    """Loads of the demands to each destination, (n, 2 E), from known distances."""
    n, d_first = setting.network.num_nodes, setting.demands.first
    flow = np.zeros(n)
    steps = steps_along(setting.network.arcs, weights)
    for t in range(n):
        clear(out[t])
        if d_first[t] < d_first[t + 1]:
            aggregate_loads(t, setting, steps, distance[t], order[t], n, flow, out[t])


@njit(cache=True, forceinline=True)
def changed_loads(link, weight, setting, weights, routes, parts, total):  # type: ignore[no-untyped-def]
    """Write the loads under another `weight` of a link to `total` (2 E,).

    Returns the number of destinations that are routed anew. `weights` is left as it was.

    parts: from `loads_by_destination`.
    """
    edges, directed = setting.network.edges, setting.network.directed
    d_first, distance, loads = setting.demands.first, routes.distance, routes.loads
    n = setting.network.num_nodes
    for arc in range(total.shape[0]):
        total[arc] = loads[arc]
    old = weights[link]
    count = 0
    for t in range(n):
        if weight != old and d_first[t] < d_first[t + 1]:
            count += is_affected(distance[t], edges[0, link], edges[1, link], old, weight, directed)
    if count == 0:
        return 0
    weights[link] = weight
    _, _, steps, first, tails, back = ways_of(setting.network, weights)
    weights[link] = old
    new_distance, new_order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    flow = np.zeros(n)
    for t in range(n):
        if d_first[t] == d_first[t + 1]:
            continue
        if is_affected(distance[t], edges[0, link], edges[1, link], old, weight, directed):
            for arc in range(total.shape[0]):
                total[arc] -= parts[t, arc]
            settled = settle(t, first, tails, back, setting.queue, new_distance, new_order)
            aggregate_loads(t, setting, steps, new_distance, new_order, settled, flow, total)
    return count


@njit(cache=True)
def preview_changes(actions, setting, weights, routes):  # type: ignore[no-untyped-def]
    """Largest utilisation after each of the actions (link, change + 1)."""
    loads = routes.loads
    parts = np.empty((setting.network.num_nodes, loads.shape[0]))
    loads_by_destination(setting, weights, routes.distance, routes.order, parts)
    total = np.empty(loads.shape[0])
    out = np.empty(actions.shape[0])
    for i in range(actions.shape[0]):
        link = actions[i, 0]
        weight = stepped(weights[link], actions[i, 1] - 1, setting)
        changed_loads(link, weight, setting, weights, routes, parts, total)
        out[i] = largest_utilisation(total, setting.network.capacities)
    return out
