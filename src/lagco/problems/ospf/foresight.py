"""First-order effects of weight changes, for all links at once, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.networks.kernels import level_of, marginal_costs, stretched
from lagco.problems.ospf.routing.shortest_paths import steps_along

#: columns per direction of a change, and of all of them
COLUMNS = 7
AHEAD = 2 * COLUMNS
#: changes of one link in a row that are foreseen
REACH = 4


@njit(cache=True)
def _spread_over(first, moved, partly, value, hot, row):  # type: ignore[no-untyped-def]
    """Add what moves from a change by `first` on, `partly` of it at that change itself.

    Numbers are added for every change, zeros before `first`: loops without branches are vectors.
    """
    for i in range(REACH):
        amount = moved if i + 1 > first else (partly if i + 1 == first else 0.0)
        row[0, i] += amount
        row[1, i] += amount * value
        row[2, i] += amount * hot


@njit(cache=True)
def foresee(setting, weights, routes, largest, fullest, ahead):  # type: ignore[no-untyped-def]
    """First-order effects of changes of each weight: `ahead` (E, 3, 14).

    Traffic that leaves an arc when its link becomes longer, or moves onto it when shorter, is
    valued by the cost of its other ways to the destination, where the cost of an arc is the
    marginal of the 8-norm of all utilisations. Nodes upstream keep their next hops. For +1
    the columns 0 to 2 are the share by which that norm falls (stretched), the utilisation that
    leaves and what is then left on the busier arc, over the largest utilisation; 3 the largest such
    share, over the root of the number of changes, if the weight rises by up to 4; 4 and 5 the share
    of the load of the fullest arc that goes elsewhere, after one and after up to 4 changes. For -1
    the columns 7 to 12 are the same, of what comes and what is then there. Columns 6 and 13 are not
    written. Returns the level of the network.
    """
    network, demands, ecmp = setting.network, setting.demands, setting.ecmp
    low, high, step = setting.low, setting.high, setting.step
    first, heads, arcs, capacities = network.first, network.heads, network.arcs, network.capacities
    distance, order, ways, hops, loads, _ = routes
    n = network.num_nodes
    links = weights.shape[0]
    reach = min(REACH, max(1, setting.span))
    unit = 1.0 / largest if largest > 0.0 else 0.0
    steps = steps_along(arcs, weights)
    marginal = np.empty(2 * links)
    total = marginal_costs(loads, capacities, largest, marginal)
    norm = 1.0 / total if total > 0.0 else 0.0
    # per arc and change what moves, what that saves, and how much less crosses the fullest arc
    leaving = np.zeros((2 * links, 3, REACH))
    coming = np.zeros((2 * links, 3, REACH))
    cost, crossing, through = np.empty(n), np.empty(n), np.empty(n)
    # of the arcs of one node: how much longer ways over them are, what they cost, what crosses
    gaps, prices, crossed = np.empty(n, np.int64), np.empty(n), np.empty(n)
    # those of shortest ways, and of ways that are longer by at most `reach`
    tied, longer = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    for t in range(n):
        begin, end = demands[0][t], demands[0][t + 1]
        if begin == end:
            continue
        far, near_first, next_hops, count = distance[t], order[t], hops[t], ways[t]
        for v in range(n):
            through[v] = 0.0
        for d in range(begin, end):
            through[demands[1][d]] += demands[2][d]
        cost[t] = crossing[t] = 0.0
        for place in range(1, n):
            v = near_first[place]
            if v == t:
                continue
            mean, crosses = 0.0, 0.0
            for i in range(first[v], first[v] + count[v]):
                hop = np.uint32(next_hops[i])  # unsigned: not to be checked for a sign
                head, arc = np.uint32(heads[hop]), np.uint32(arcs[hop])
                mean += marginal[arc] + cost[head]
                crosses += 1.0 if arc == fullest else crossing[head]
            cost[v] = mean / count[v]
            crossing[v] = crosses / count[v]
        for place in range(n - 1, 0, -1):
            v = near_first[place]
            amount = through[v]
            if amount == 0.0 or v == t:
                continue
            share = amount / count[v]
            here, low_arc = far[v], first[v]
            taken = next_hops[low_arc] - low_arc
            degree = first[v + 1] - low_arc
            # without branches, which the processor could not foresee
            ties, others, margin = 0, 0, reach * step + 1
            for k in range(degree):
                head, arc = np.uint32(heads[low_arc + k]), np.uint32(arcs[low_arc + k])
                gap = far[head] + steps[low_arc + k] - here
                prices[k] = marginal[arc] + cost[head]
                crossed[k] = 1.0 if arc == fullest else crossing[head]
                gaps[k] = gap
                tied[ties] = longer[others] = k
                ties += gap == 0
                others += 0 < gap <= reach * step
                margin = min(margin, gap if gap > 0 else margin)
            for i in range(low_arc, low_arc + count[v]):
                through[heads[next_hops[i]]] += share
            partly = amount / (ties + 1)
            for j in range(others):
                k = longer[j]
                if not ecmp:
                    partly = amount if k < taken else 0.0
                if gaps[k] % step:
                    partly = amount  # changes pass by the weight at which both ways are equal
                saves, relieves = cost[v] - prices[k], crossing[v] - crossed[k]
                _spread_over(
                    (gaps[k] + step - 1) // step,
                    amount,
                    partly,
                    saves,
                    relieves,
                    coming[arcs[low_arc + k]],
                )
            if ties == 1 and others > 0:
                # the ways next in length, which are longer by `margin`; of equal ones the lowest id
                k, near, nearest = tied[0], 0, -1
                near_cost, near_crosses = 0.0, 0.0
                for j in range(others):
                    if gaps[longer[j]] == margin and (ecmp or near == 0):
                        nearest = longer[j]
                        near += 1
                        near_cost += prices[nearest]
                        near_crosses += crossed[nearest]
                partly = amount * near / (near + 1)
                if not ecmp:
                    partly = amount if nearest < k else 0.0
                if margin % step:
                    partly = amount
                saves, relieves = prices[k] - near_cost / near, crossed[k] - near_crosses / near
                _spread_over(
                    (margin + step - 1) // step,
                    amount,
                    partly,
                    saves,
                    relieves,
                    leaving[arcs[low_arc + k]],
                )
                continue
            for j in range(ties if ties > 1 else 0):
                k = tied[j]
                arc, used = np.uint32(arcs[low_arc + k]), ecmp or k == taken
                rest, rest_crosses = cost[v], crossing[v]
                if ecmp:
                    rest = (cost[v] * ties - prices[k]) / (ties - 1)
                    rest_crosses = (crossing[v] * ties - crossed[k]) / (ties - 1)
                elif used:
                    rest, rest_crosses = prices[tied[1]], crossed[tied[1]]
                saves, relieves = prices[k] - rest, crossed[k] - rest_crosses
                if used:
                    _spread_over(0, share, share, saves, relieves, leaving[arc])
                if ecmp or not used:
                    more = amount - share if ecmp else amount
                    _spread_over(0, more, more, -saves, -relieves, coming[arc])
    crowd = 1.0 / loads[fullest] if loads[fullest] > 0.0 else 0.0
    over = norm / np.sqrt(np.arange(1, reach + 1))
    for e in range(links):
        scale = unit / capacities[2 * e]
        up, down = (high - weights[e] + step - 1) // step, (weights[e] - low + step - 1) // step
        units = scale, over, crowd
        _conclude(e, up, leaving, -1.0, loads, units, ahead[e, 2, :COLUMNS])
        _conclude(e, down, coming, 1.0, loads, units, ahead[e, 0, COLUMNS:])
    return level_of(largest, total)


@njit(cache=True)
def _conclude(link, room, moving, sign, loads, units, out):  # type: ignore[no-untyped-def]
    """Columns of one direction, from the traffic that moves on both arcs of a link.

    units: factors of loads, of gains by number of changes, and of the fullest arc's load.
    """
    scale, over, crowd = units
    there, back = moving[2 * link], moving[2 * link + 1]
    load, returning = loads[2 * link], loads[2 * link + 1]
    gained, relieved = (there[1, 0] + back[1, 0]) * over[0], there[2, 0] + back[2, 0]
    far, relief = gained, relieved
    for i in range(1, min(over.shape[0], room)):
        far = max(far, (there[1, i] + back[1, i]) * over[i])
        relief = max(relief, there[2, i] + back[2, i])
    out[0] = stretched(gained)
    out[1] = max(there[0, 0], back[0, 0]) * scale
    out[2] = scale * max(load + sign * there[0, 0], returning + sign * back[0, 0])
    out[3] = out[0] if far == gained else stretched(far)
    out[4] = stretched(relieved * crowd)
    out[5] = out[4] if relief == relieved else stretched(relief * crowd)
