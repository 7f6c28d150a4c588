"""First-order effects of weight changes, for all links at once, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.networks.kernels import level_of, marginal_costs
from lagco.problems.ospf.routing import steps_along

#: columns per direction of a change, and of all of them
COLUMNS = 7
AHEAD = 2 * COLUMNS
#: changes of one link in a row that are foreseen
REACH = 4
_SHARP = 20.0
_STRETCH = float(np.arcsinh(_SHARP))


@njit(cache=True)
def stretched(gain):  # type: ignore[no-untyped-def]
    """A relative gain within -1 … 1, small ones told apart from none."""
    if gain == 0.0:  # as most are
        return gain
    return np.arcsinh(_SHARP * np.tanh(gain)) / _STRETCH


@njit(cache=True)
def _spread_over(first, reach, moved, partly, value, hot, row, arc):  # type: ignore[no-untyped-def]
    """Add what moves from a change by `first` on, `partly` of it at that change itself."""
    for d in range(first, reach + 1):
        amount = partly if d == first else moved
        row[arc, d, 0] += amount
        row[arc, d, 1] += amount * value
        row[arc, d, 2] += amount * hot


@njit(cache=True)
def foresee(  # type: ignore[no-untyped-def]
    first, heads, arcs, weights, ecmp, demands, capacities, routes, largest, fullest, low, high,
    ahead,
):  # fmt: skip
    """First-order effects of changes of each weight: `ahead` (E, 3, 14).

    Traffic that leaves an arc when its link becomes longer, or comes to it when shorter, is judged
    by what the other ways to its destination cost, where an arc costs the marginal of the 8-norm of
    all utilisations. Nodes further up are taken not to change their next hops. For the change +1
    the columns 0 to 2 are the share by which that norm falls (stretched), the utilisation that
    leaves and what is then left on the busier arc, over the largest utilisation; 3 the largest such
    share, over the root of the number of changes, if the weight rises by up to 4; 4 and 5 the share
    of the load of the fullest arc that goes elsewhere, after one and after up to 4 changes. For -1
    the columns 7 to 12 are the same, of what comes and what is then there. Columns 6 and 13 are not
    written. Returns the level of the network.
    """
    distance, order, ways, hops, loads, _ = routes
    n = first.shape[0] - 1
    links = capacities.shape[0]
    reach = min(REACH, max(1, high - low))
    unit = 1.0 / largest if largest > 0.0 else 0.0
    steps = steps_along(arcs, weights)
    marginal = np.empty(2 * links)
    total = marginal_costs(loads, capacities, largest, marginal)
    norm = 1.0 / total if total > 0.0 else 0.0
    # per arc and change what moves, what that saves, and how much less crosses the fullest arc
    leaving = np.zeros((2 * links, reach + 1, 3))
    coming = np.zeros((2 * links, reach + 1, 3))
    cost, crossing, through = np.empty(n), np.empty(n), np.empty(n)
    # of the arcs of one node: how much longer ways over them are, what they cost, what crosses
    gaps, prices, crossed = np.empty(n, np.int64), np.empty(n), np.empty(n)
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
            taken = next_hops[low_arc]
            ties, near, nearest, margin = 0, 0, -1, reach + 1
            # of the second tie; of the ways next in length, which are longer by `margin`
            second, second_crosses, near_cost, near_crosses = 0.0, 0.0, 0.0, 0.0
            for k in range(low_arc, first[v + 1]):
                head, arc = np.uint32(heads[k]), np.uint32(arcs[k])
                gap = far[head] + steps[k] - here
                gaps[k - low_arc] = gap
                if gap > reach:
                    continue
                price = marginal[arc] + cost[head]
                crosses = 1.0 if arc == fullest else crossing[head]
                prices[k - low_arc], crossed[k - low_arc] = price, crosses
                if gap > margin:
                    continue
                if gap == 0:
                    ties += 1
                    if ties == 2:
                        second, second_crosses = price, crosses
                    continue
                if gap < margin:
                    margin, near, near_cost, near_crosses = gap, 0, 0.0, 0.0
                if ecmp or near == 0:  # equal ways: the lowest id
                    near += 1
                    near_cost += price
                    near_crosses += crosses
                    nearest = k
            for i in range(low_arc, low_arc + count[v]):
                through[heads[next_hops[i]]] += share
            for k in range(low_arc, first[v + 1]):
                gap = gaps[k - low_arc]
                if gap > reach:
                    continue
                arc = np.uint32(arcs[k])
                price, crosses = prices[k - low_arc], crossed[k - low_arc]
                if gap > 0:
                    partly = amount / (ties + 1)
                    if not ecmp:
                        partly = amount if k < taken else 0.0
                    saves, relieves = cost[v] - price, crossing[v] - crosses
                    _spread_over(gap, reach, amount, partly, saves, relieves, coming, arc)
                    continue
                used = ecmp or k == taken
                if ties > 1:
                    rest, rest_crosses = cost[v], crossing[v]
                    if ecmp:
                        rest = (cost[v] * ties - price) / (ties - 1)
                        rest_crosses = (crossing[v] * ties - crosses) / (ties - 1)
                    elif used:
                        rest, rest_crosses = second, second_crosses
                    saves, relieves = price - rest, crosses - rest_crosses
                    if used:
                        _spread_over(1, reach, share, share, saves, relieves, leaving, arc)
                    if ecmp or not used:
                        more = amount - share if ecmp else amount
                        _spread_over(1, reach, more, more, -saves, -relieves, coming, arc)
                elif near > 0:
                    partly = amount * near / (near + 1)
                    if not ecmp:
                        partly = amount if nearest < k else 0.0
                    saves, relieves = price - near_cost / near, crosses - near_crosses / near
                    _spread_over(margin, reach, amount, partly, saves, relieves, leaving, arc)
    crowd = 1.0 / loads[fullest] if loads[fullest] > 0.0 else 0.0
    for e in range(links):
        _conclude(e, high - weights[e], leaving, -1.0, loads, unit / capacities[e], norm, crowd,
                  ahead[e, 2, :COLUMNS])  # fmt: skip
        _conclude(e, weights[e] - low, coming, 1.0, loads, unit / capacities[e], norm, crowd,
                  ahead[e, 0, COLUMNS:])  # fmt: skip
    return level_of(largest, total)


@njit(cache=True)
def _conclude(link, room, moving, sign, loads, scale, norm, crowd, out):  # type: ignore[no-untyped-def]
    """Columns of one direction from what moves there on both arcs of a link."""
    there, back = moving[2 * link], moving[2 * link + 1]
    load, returning = loads[2 * link], loads[2 * link + 1]
    gained, relieved = (there[1, 1] + back[1, 1]) * norm, there[1, 2] + back[1, 2]
    far, relief = -np.inf, -np.inf
    for d in range(1, max(1, min(moving.shape[1] - 1, room)) + 1):
        over = norm / np.sqrt(d)
        far = max(far, (there[d, 1] + back[d, 1]) * over)
        relief = max(relief, there[d, 2] + back[d, 2])
    out[0] = stretched(gained)
    out[1] = max(there[1, 0], back[1, 0]) * scale
    out[2] = scale * max(load + sign * there[1, 0], returning + sign * back[1, 0])
    out[3] = out[0] if far == gained else stretched(far)
    out[4] = stretched(relieved * crowd)
    out[5] = out[4] if relief == relieved else stretched(relief * crowd)
