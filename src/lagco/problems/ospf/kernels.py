"""Compiled steps of `ospf`: shares of demands, loads after a change."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.ospf.routing import aggregate_loads, clear, is_affected, settle, steps_along


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
def valid_changes(actions, weights, low, high, out):  # type: ignore[no-untyped-def]
    """Whether the weight of the link stays within its bounds, for actions (link, change + 1)."""
    for a in range(actions.shape[0]):
        link, change = actions[a, 0], actions[a, 1] - 1
        out[a] = (
            0 <= link < weights.shape[0]
            and -1 <= change <= 1
            and low <= weights[link] + change <= high
        )


@njit(cache=True)
def loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, out):  # type: ignore[no-untyped-def]
    """Loads of the demands to each destination, (n, 2 E), from known distances."""
    n = first.shape[0] - 1
    flow = np.zeros(n)
    steps = steps_along(arcs, weights)
    for t in range(n):
        clear(out[t])
        if demands[0][t] < demands[0][t + 1]:
            aggregate_loads(
                t, first, heads, arcs, steps, ecmp, distance[t], order[t], n, demands, flow,
                out[t],
            )  # fmt: skip


@njit(cache=True)
def changed_loads(  # type: ignore[no-untyped-def]
    link, weight, graph, weights, ecmp, demands, distance, parts, loads, scratch, total
):
    """Write the loads under another `weight` of a link to `total` (2 E,).

    Returns the number of destinations that are routed anew. `weights` is left as it was.

    graph: first, heads, arcs and edges of the network. parts: from `loads_by_destination`.
    scratch: buckets and entries for `settle`.
    """
    first, heads, arcs, edges = graph
    buckets, entries = scratch
    n = first.shape[0] - 1
    for arc in range(total.shape[0]):
        total[arc] = loads[arc]
    old = weights[link]
    count = 0
    for t in range(n):
        if weight != old and demands[0][t] < demands[0][t + 1]:
            count += is_affected(distance[t], edges[0, link], edges[1, link], old, weight)
    if count == 0:
        return 0
    weights[link] = weight
    steps = steps_along(arcs, weights)
    weights[link] = old
    new_distance, new_order = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    flow = np.zeros(n)
    for t in range(n):
        if demands[0][t] == demands[0][t + 1]:
            continue
        if is_affected(distance[t], edges[0, link], edges[1, link], old, weight):
            for arc in range(total.shape[0]):
                total[arc] -= parts[t, arc]
            settled = settle(t, first, heads, steps, buckets, entries, new_distance, new_order)
            aggregate_loads(
                t, first, heads, arcs, steps, ecmp, new_distance, new_order, settled,
                demands, flow, total,
            )  # fmt: skip
    return count


@njit(cache=True)
def preview_changes(graph, capacities, weights, ecmp, demands, routes, actions, scratch):  # type: ignore[no-untyped-def]
    """Largest utilisation after each of the actions (link, change + 1)."""
    first, heads, arcs, _ = graph
    distance, order, _, _, loads, _ = routes
    parts = np.empty((first.shape[0] - 1, loads.shape[0]))
    loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
    total = np.empty(loads.shape[0])
    out = np.empty(actions.shape[0])
    for i in range(actions.shape[0]):
        link = actions[i, 0]
        weight = weights[link] + actions[i, 1] - 1
        changed_loads(
            link, weight, graph, weights, ecmp, demands, distance, parts, loads, scratch, total
        )
        out[i] = largest_utilisation(total, capacities)
    return out
