"""Compiled steps of `traffic`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.networks.kernels import (
    level_of,
    marginal_costs,
    measure,
    relative_link_state,
)
from lagco.problems.random_stream import next_below, next_float
from lagco.problems.traffic.paths import draw_open_path, path_arcs

#: a link is not too full if it is so by rounding alone
SLACK = 1.0 + 1e-9
#: paths of a demand without a limit to their number
MOST = np.iinfo(np.int64).max


class Routed(NamedTuple):
    """The present paths of all demands, padded, and what they put on the arcs.

    Attributes:
        paths: (D, T) node ids, padded with n
        used: (D, T - 1) arcs, padded with -1
        loads: (2 E,) per arc
    """

    paths: Array
    used: Array
    loads: Array


class Walks(NamedTuple):
    """Walks that paths are drawn from.

    Attributes:
        counts: from `count_walks`
        totals: (D,), sums of the numbers of walks of the first demands
        tries: walks that are drawn at most
    """

    counts: Array
    totals: Array
    tries: int


class DemandColumns(NamedTuple):
    """Columns (D,) of the demands; see :class:`~lagco.problems.traffic.env.Traffic`."""

    utilisation: Array
    share: Array
    hops: Array
    crowded: Array
    gain: Array


@njit(cache=True)
def add_loads(used, volumes, loads):  # type: ignore[no-untyped-def]
    """Loads of all demands over the arcs they use, (D, T - 1) padded with -1."""
    for arc in range(loads.shape[0]):
        loads[arc] = 0.0
    for d in range(used.shape[0]):
        for i in range(used.shape[1]):
            if used[d, i] < 0:
                break
            loads[used[d, i]] += volumes[d]


@njit(cache=True)
def use_path(demand, row, network, limits, routed):  # type: ignore[no-untyped-def]
    """Put a demand on a path; return False (and change nothing) if that is not admissible."""
    paths, used, _ = routed
    found = np.empty(used.shape[1], dtype=np.int64)
    source, target = network.sources[demand], network.targets[demand]
    length = path_arcs(row, network.arc_of, source, target, limits[demand], found)
    if length == 0:
        return False
    for i in range(row.shape[0]):
        paths[demand, i] = row[i]
    for i in range(found.shape[0]):
        used[demand, i] = found[i] if i < length else -1
    return True


@njit(cache=True)
def are_valid(actions, network, limits, routed, largest, out):  # type: ignore[no-untyped-def]
    """Whether each action (demand, path) is admissible, new, and fills no link too far."""
    sources, targets, arc_of = network.sources, network.targets, network.arc_of
    volumes, capacities = network.volumes, network.capacities
    paths, used, loads = routed
    ceiling = max(1.0, largest) * SLACK
    found = np.empty(used.shape[1], dtype=np.int64)
    for a in range(actions.shape[0]):
        out[a] = False
        d = actions[a, 0]
        if d < 0 or d >= sources.shape[0] or actions.shape[1] != 1 + paths.shape[1]:
            continue
        row = actions[a, 1:]
        length = path_arcs(row, arc_of, sources[d], targets[d], limits[d], found)
        if length == 0:
            continue
        new = False
        for i in range(row.shape[0]):
            new |= row[i] != paths[d, i]
        for i in range(length):
            arc = found[i]
            most = capacities[arc] * ceiling
            if loads[arc] + volumes[d] > most:
                there = False  # on an arc that the demand uses already nothing is added
                for j in range(used.shape[1]):
                    there |= used[d, j] == arc
                new &= there and loads[arc] <= most
        out[a] = new


@njit(cache=True)
def _find_room(d, network, routed, ceiling, room):  # type: ignore[no-untyped-def]
    """Mark the arcs that demand `d` may use."""
    volumes, capacities = network.volumes, network.capacities
    _, used, loads = routed
    for arc in range(loads.shape[0]):
        room[arc] = loads[arc] + volumes[d] <= capacities[arc] * ceiling
    for i in range(used.shape[1]):
        if used[d, i] < 0:
            break
        room[used[d, i]] = loads[used[d, i]] <= capacities[used[d, i]] * ceiling


@njit(cache=True)
def find_action(network, limits, routed, largest, begin, stream, path):  # type: ignore[no-untyped-def]
    """The first demand from `begin` on that has a valid path, -1 if none has; writes the path."""
    ceiling = max(1.0, largest) * SLACK
    room = np.empty(routed.loads.shape[0], dtype=np.bool_)
    demands = limits.shape[0]
    for turn in range(demands):
        d = (begin + turn) % demands
        _find_room(d, network, routed, ceiling, room)
        if draw_open_path(d, network, limits, room, routed.paths[d], 1, stream, path) > 0:
            return d
    return -1


@njit(cache=True)
def draw_action(network, limits, routed, largest, walks, stream, action):  # type: ignore[no-untyped-def]
    """Draw an action uniformly over the valid ones; return its demand, -1 if there is none.

    Demands with walks are drawn uniformly over all of them until one is a valid path, which leaves
    these uniform. After so many tries every valid path is walked and one of them drawn.
    """
    ceiling = max(1.0, largest) * SLACK
    demands, totals = limits.shape[0], walks.totals
    for _ in range(walks.tries):
        d = min(np.searchsorted(totals, next_float(stream) * totals[-1], "right"), demands - 1)
        if _draw_walk(d, network, limits[d], routed, ceiling, walks.counts, stream, action[1:]):
            action[0] = d
            return d
    room = np.empty(routed.loads.shape[0], dtype=np.bool_)
    path = np.empty(action.shape[0] - 1, dtype=np.int64)
    count, chosen = 0, -1
    for d in range(demands):
        _find_room(d, network, routed, ceiling, room)
        found = draw_open_path(d, network, limits, room, routed.paths[d], MOST, stream, path)
        count += found
        if found > 0 and next_below(stream, count) < found:
            chosen = action[0] = d
            action[1:] = path
    return chosen


@njit(cache=True, forceinline=True)
def _draw_walk(demand, network, limit, routed, ceiling, walks, stream, path):  # type: ignore[no-untyped-def]
    """Draw a walk of a demand, uniformly over all; write it if it is a valid path, else False."""
    first, heads, arcs = network.first, network.heads, network.arcs
    target, volume = network.targets[demand], network.volumes[demand]
    present, used, loads = routed.paths[demand], routed.used[demand], routed.loads
    v, same = network.sources[demand], True
    path[0] = v
    for hop in range(limit):
        rest = walks[limit - hop - 1, target]
        left = next_float(stream) * walks[limit - hop, target, v]
        at = -1
        for k in range(first[v], first[v + 1]):
            if rest[heads[k]] > 0.0:
                at = k
                left -= rest[heads[k]]
                if left < 0.0:
                    break
        v, arc = heads[at], arcs[at]
        for i in range(hop + 1):
            if path[i] == v:
                return False
        load = loads[arc] + volume
        for i in range(used.shape[0]):
            if used[i] == arc:
                load = loads[arc]
                break
        if load > network.capacities[arc] * ceiling:
            return False
        path[hop + 1] = v
        same = same and present[hop + 1] == v
        if v == target:
            for i in range(hop + 2, path.shape[0]):
                path[i] = network.num_nodes
            return not same
    return False


@njit(cache=True)
def demand_state(network, limits, routed, largest, most_used, columns):  # type: ignore[no-untyped-def]
    """Per demand: its path's fullest link over the fullest of all, its share there, its hops, and
    whether it uses the arc `most_used`.
    """
    volumes, capacities = network.volumes, network.capacities
    _, used, loads = routed
    utilisation, share, hops, crowded, _ = columns
    for d in range(used.shape[0]):
        fullest, at, length = -1.0, -1, 0
        crowded[d] = 0
        for i in range(used.shape[1]):
            arc = used[d, i]
            if arc < 0:
                break
            length += 1
            if arc == most_used:
                crowded[d] = 1
            use = loads[arc] / capacities[arc]
            if use > fullest:
                fullest, at = use, arc
        utilisation[d] = min(1.0, fullest / largest) if largest > 0.0 else 0.0
        share[d] = min(1.0, volumes[d] / loads[at]) if loads[at] > 0.0 else 0.0
        hops[d] = length / limits[d]


@njit(cache=True)
def demand_gains(network, limits, routed, largest, gain):  # type: ignore[no-untyped-def]
    """By which share the 8-norm of all utilisations would fall, to first order, if each demand took
    the cheapest path it may take, arcs costing the marginals of that norm; return the level.
    """
    first, heads, arcs = network.first, network.heads, network.arcs
    sources, targets, volumes = network.sources, network.targets, network.volumes
    _, used, loads = routed
    n, demands = network.num_nodes, used.shape[0]
    marginal = np.empty(loads.shape[0])
    total = marginal_costs(loads, network.capacities, largest, marginal)
    norm = 1.0 / total if total > 0.0 else 0.0
    longest = 0
    for d in range(demands):
        longest = max(longest, limits[d])
    cheapest = np.empty((longest, n, n))  # with at most so many hops, between all nodes
    cheapest[0] = np.inf
    for v in range(n):
        cheapest[0, v, v] = 0.0
    for h in range(1, longest):
        before, now = cheapest[h - 1], cheapest[h]
        for v in range(n):
            row = now[v]
            for t in range(n):
                row[t] = before[v, t]
            for k in range(first[v], first[v + 1]):
                w, step = heads[k], marginal[arcs[k]]
                if h == 1:
                    row[w] = min(row[w], step)
                    continue
                onward = before[w]
                for t in range(n):
                    row[t] = min(row[t], step + onward[t])
    for d in range(demands):
        s, t = sources[d], targets[d]
        rest = cheapest[limits[d] - 1]  # behind the first hop
        best = rest[s, t]
        for k in range(first[s], first[s + 1]):
            best = min(best, marginal[arcs[k]] + rest[heads[k], t])
        present = 0.0
        for i in range(used.shape[1]):
            if used[d, i] < 0:
                break
            present += marginal[used[d, i]]
        gain[d] = np.tanh(max(0.0, volumes[d] * (present - best) * norm))
    return level_of(largest, total)


@njit(cache=True)
def write_full_state(network, limits, routed, links, demands):  # type: ignore[no-untyped-def]
    """Loads from all paths and all columns of `full`; return what `measure` does and the level.

    One call instead of six, since a call with arrays takes as long as most of these.
    """
    loads = routed.loads
    add_loads(routed.used, network.volumes, loads)
    largest, norm, fullest = measure(loads, network.capacities)
    relative_link_state(network, loads, largest, links)
    demand_state(network, limits, routed, largest, fullest, demands)
    level = demand_gains(network, limits, routed, largest, demands.gain)
    return (largest, norm, fullest), level


@njit(cache=True)
def preview_paths(actions, network, limits, used, loads):  # type: ignore[no-untyped-def]
    """Largest utilisation after each action; infinite where the path is not admissible.

    Of the arcs that a change leaves as they are, the fullest decides: it comes soon in their order.
    """
    sources, targets, arc_of = network.sources, network.targets, network.arc_of
    volumes, capacities = network.volumes, network.capacities
    out = np.empty(actions.shape[0])
    found = np.empty(used.shape[1], dtype=np.int64)
    total = loads.copy()
    fullness = np.empty(loads.shape[0])
    for arc in range(loads.shape[0]):
        fullness[arc] = loads[arc] / capacities[arc]
    order = np.argsort(-fullness)
    changed_by = np.full(loads.shape[0], -1, dtype=np.int64)
    for a in range(actions.shape[0]):
        d = actions[a, 0]
        length = path_arcs(actions[a, 1:], arc_of, sources[d], targets[d], limits[d], found)
        if length == 0:
            out[a] = np.inf
            continue
        for i in range(used.shape[1]):
            if used[d, i] < 0:
                break
            total[used[d, i]] -= volumes[d]
            changed_by[used[d, i]] = a
        for i in range(length):
            total[found[i]] += volumes[d]
            changed_by[found[i]] = a
        largest = 0.0
        for arc in order:
            if changed_by[arc] != a:
                largest = fullness[arc]
                break
        for i in range(length):
            largest = max(largest, total[found[i]] / capacities[found[i]])
        for i in range(used.shape[1]):
            arc = used[d, i]
            if arc < 0:
                break
            largest = max(largest, total[arc] / capacities[arc])
            total[arc] = loads[arc]
        for i in range(length):
            total[found[i]] = loads[found[i]]
        out[a] = largest
    return out
