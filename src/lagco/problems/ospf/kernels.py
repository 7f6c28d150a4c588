"""What happens around a step of `ospf`, compiled: shares of demands and looking ahead."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.networks.kernels import largest_utilisation, level_of, marginal_costs
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
def foresee(first, heads, arcs, weights, ecmp, demands, capacities, routes, largest, ahead):  # type: ignore[no-untyped-def]
    """What a change of each weight will bring, to first order: `ahead` (E, 3, 6).

    Traffic that leaves an arc when its link becomes longer by 1, or comes to it when shorter, is
    judged by what the other ways to its destination cost, where an arc costs the marginal of the
    8-norm of all utilisations. Nodes further up are taken not to change their next hops. For the
    change +1 the columns 0 to 2 are the share by which that norm falls, the utilisation that leaves
    and what is then left on the busier arc; for -1 the columns 3 to 5 the same, of what comes and
    what is then there, all over the largest utilisation. Returns the level of the network.
    """
    distance, order, ways, hops, loads, _ = routes
    n = first.shape[0] - 1
    links = capacities.shape[0]
    unit = 1.0 / largest if largest > 0.0 else 0.0
    steps = steps_along(arcs, weights)
    marginal = np.empty(2 * links)
    total = marginal_costs(loads, capacities, largest, marginal)
    norm = 1.0 / total if total > 0.0 else 0.0
    leaving, coming = np.zeros(2 * links), np.zeros(2 * links)
    saved, spent = np.zeros(2 * links), np.zeros(2 * links)
    cost, through = np.empty(n), np.empty(n)
    for t in range(n):
        begin, end = demands[0][t], demands[0][t + 1]
        if begin == end:
            continue
        for v in range(n):
            through[v] = 0.0
        for d in range(begin, end):
            through[demands[1][d]] += demands[2][d]
        cost[t] = 0.0
        for place in range(1, n):
            v = order[t, place]
            if v == t:
                cost[v] = 0.0
                continue
            mean = 0.0
            for i in range(first[v], first[v] + ways[t, v]):
                k = hops[t, i]
                mean += marginal[arcs[k]] + cost[heads[k]]
            cost[v] = mean / ways[t, v]
        for place in range(n - 1, 0, -1):
            v = order[t, place]
            amount = through[v]
            if amount == 0.0 or v == t:
                continue
            share = amount / ways[t, v]
            here = distance[t, v]
            ties, near, nearest = 0, 0, -1
            taken = hops[t, first[v]]
            near_cost, second = 0.0, 0.0  # of the ways that are longer by 1, of the second tie
            for k in range(first[v], first[v + 1]):
                gap = distance[t, heads[k]] + steps[k] - here
                if gap == 0:
                    ties += 1
                    if ties == 2:
                        second = marginal[arcs[k]] + cost[heads[k]]
                elif gap == 1 and (ecmp or near == 0):  # equal ways: the lowest id
                    near += 1
                    near_cost += marginal[arcs[k]] + cost[heads[k]]
                    nearest = k
            for i in range(first[v], first[v] + ways[t, v]):
                through[heads[hops[t, i]]] += share
            for k in range(first[v], first[v + 1]):
                gap = distance[t, heads[k]] + steps[k] - here
                if gap > 1:
                    continue
                arc = arcs[k]
                price = marginal[arc] + cost[heads[k]]
                if gap == 1:
                    moved = amount / (ties + 1)
                    if not ecmp:
                        moved = amount if k < taken else 0.0
                    coming[arc] += moved
                    spent[arc] += moved * (price - cost[v])
                    continue
                used = ecmp or k == taken
                if ties > 1:
                    rest = second if used else cost[v]
                    if ecmp:
                        rest = (cost[v] * ties - price) / (ties - 1)
                    if used:
                        leaving[arc] += share
                        saved[arc] += share * (price - rest)
                    if ecmp or not used:
                        coming[arc] += amount - share if ecmp else amount
                        spent[arc] += (amount - share if ecmp else amount) * (price - rest)
                elif near > 0:
                    moved = amount * near / (near + 1)
                    if not ecmp:
                        moved = amount if nearest < k else 0.0
                    leaving[arc] += moved
                    saved[arc] += moved * (price - near_cost / near)
    for e in range(links):
        scale = unit / capacities[e]
        after, more, gone, left = 0.0, 0.0, 0.0, 0.0
        gain_up, gain_down = 0.0, 0.0
        for arc in range(2 * e, 2 * e + 2):
            gain_up += saved[arc]
            gain_down -= spent[arc]
            more = max(more, coming[arc] * scale)
            after = max(after, (loads[arc] + coming[arc]) * scale)
            gone = max(gone, leaving[arc] * scale)
            left = max(left, (loads[arc] - leaving[arc]) * scale)
        ahead[e, 2, 0] = np.tanh(gain_up * norm)
        ahead[e, 2, 1] = gone
        ahead[e, 2, 2] = left
        ahead[e, 0, 3] = np.tanh(gain_down * norm)
        ahead[e, 0, 4] = more
        ahead[e, 0, 5] = after
    return level_of(largest, total)


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
