"""What happens around a step of `ospf`, compiled: shares of demands and looking ahead."""

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
def preview_changes(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, capacities, weights, ecmp, demands, routes, actions, buckets, entries
):
    """Largest utilisation after each of the actions (link, change + 1); `weights` is scratch."""
    distance, order, _, _, loads, _ = routes
    n = first.shape[0] - 1
    parts = np.empty((n, loads.shape[0]))
    loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
    present = largest_utilisation(loads, capacities)
    new_distance = np.empty(n, dtype=np.int64)
    new_order = np.empty(n, dtype=np.int64)
    flow, total = np.zeros(n), np.empty(loads.shape[0])
    out = np.empty(actions.shape[0])
    for i in range(actions.shape[0]):
        link, change = actions[i, 0], actions[i, 1] - 1
        if change == 0:
            out[i] = present
            continue
        old = weights[link]
        weights[link] = old + change
        steps = steps_along(arcs, weights)
        for arc in range(total.shape[0]):
            total[arc] = loads[arc]
        for t in range(n):
            if demands[0][t] == demands[0][t + 1]:
                continue
            if is_affected(distance[t], edges[0, link], edges[1, link], old, weights[link]):
                for arc in range(total.shape[0]):
                    total[arc] -= parts[t, arc]
                settled = settle(t, first, heads, steps, buckets, entries, new_distance, new_order)
                aggregate_loads(
                    t, first, heads, arcs, steps, ecmp, new_distance, new_order, settled,
                    demands, flow, total,
                )  # fmt: skip
        out[i] = largest_utilisation(total, capacities)
        weights[link] = old
    return out
