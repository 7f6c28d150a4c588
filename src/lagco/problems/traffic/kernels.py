"""Compiled steps of `traffic`."""

from __future__ import annotations

import numpy as np
from numba import njit

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
def use_path(demand, row, n, arc_of, sources, targets, limits, paths, used):  # type: ignore[no-untyped-def]
    """Put a demand on a path; return False (and change nothing) if that is not admissible."""
    found = np.empty(used.shape[1], dtype=np.int64)
    length = path_arcs(row, n, arc_of, sources[demand], targets[demand], limits[demand], found)
    if length == 0:
        return False
    for i in range(row.shape[0]):
        paths[demand, i] = row[i]
    for i in range(found.shape[0]):
        used[demand, i] = found[i] if i < length else -1
    return True


@njit(cache=True)
def are_valid(  # type: ignore[no-untyped-def]
    actions, n, arc_of, sources, targets, limits, volumes, capacities, paths, used, loads,
    largest, out,
):  # fmt: skip
    """Whether each action (demand, path) is admissible, new, and fills no link too far."""
    ceiling = max(1.0, largest) * SLACK
    found = np.empty(used.shape[1], dtype=np.int64)
    for a in range(actions.shape[0]):
        out[a] = False
        d = actions[a, 0]
        if d < 0 or d >= sources.shape[0] or actions.shape[1] != 1 + paths.shape[1]:
            continue
        row = actions[a, 1:]
        length = path_arcs(row, n, arc_of, sources[d], targets[d], limits[d], found)
        if length == 0:
            continue
        new = False
        for i in range(row.shape[0]):
            new |= row[i] != paths[d, i]
        for i in range(length):
            arc = found[i]
            most = capacities[arc >> 1] * ceiling
            if loads[arc] + volumes[d] > most:
                there = False  # on an arc that the demand uses already nothing is added
                for j in range(used.shape[1]):
                    there |= used[d, j] == arc
                new &= there and loads[arc] <= most
        out[a] = new


@njit(cache=True)
def _find_room(d, volumes, capacities, used, loads, ceiling, room):  # type: ignore[no-untyped-def]
    """Mark the arcs that demand `d` may use."""
    for arc in range(loads.shape[0]):
        room[arc] = loads[arc] + volumes[d] <= capacities[arc >> 1] * ceiling
    for i in range(used.shape[1]):
        if used[d, i] < 0:
            break
        room[used[d, i]] = loads[used[d, i]] <= capacities[used[d, i] >> 1] * ceiling


@njit(cache=True)
def find_action(  # type: ignore[no-untyped-def]
    n, first, heads, arcs, hops, sources, targets, limits, volumes, capacities, paths, used, loads,
    largest, begin, stream, path,
):  # fmt: skip
    """The first demand from `begin` on that has a valid path, -1 if none has; writes the path."""
    ceiling = max(1.0, largest) * SLACK
    room = np.empty(loads.shape[0], dtype=np.bool_)
    demands = sources.shape[0]
    for turn in range(demands):
        d = (begin + turn) % demands
        _find_room(d, volumes, capacities, used, loads, ceiling, room)
        found = draw_open_path(
            n, first, heads, arcs, hops, sources[d], targets[d], limits[d], room, paths[d], 1,
            stream, path,
        )  # fmt: skip
        if found > 0:
            return d
    return -1


@njit(cache=True)
def draw_action(  # type: ignore[no-untyped-def]
    n, first, heads, arcs, hops, sources, targets, limits, volumes, capacities, paths, used, loads,
    largest, walks, totals, tries, stream, action,
):  # fmt: skip
    """Draw an action uniformly over the valid ones; return its demand, -1 if there is none.

    Demands with walks are drawn uniformly over all of them until one is a valid path, which leaves
    these uniform. After `tries` every valid path is walked and one of them drawn.

    walks: from `count_walks`. totals: (D,), sums of the numbers of walks of the first demands.
    """
    ceiling = max(1.0, largest) * SLACK
    demands = sources.shape[0]
    for _ in range(tries):
        d = min(np.searchsorted(totals, next_float(stream) * totals[-1], "right"), demands - 1)
        if _draw_walk(
            n, first, heads, arcs, sources[d], targets[d], limits[d], volumes[d], capacities,
            paths[d], used[d], loads, ceiling, walks, stream, action[1:],
        ):  # fmt: skip
            action[0] = d
            return d
    room = np.empty(loads.shape[0], dtype=np.bool_)
    path = np.empty(action.shape[0] - 1, dtype=np.int64)
    count, chosen = 0, -1
    for d in range(demands):
        _find_room(d, volumes, capacities, used, loads, ceiling, room)
        found = draw_open_path(
            n, first, heads, arcs, hops, sources[d], targets[d], limits[d], room, paths[d], MOST,
            stream, path,
        )  # fmt: skip
        count += found
        if found > 0 and next_below(stream, count) < found:
            chosen = action[0] = d
            action[1:] = path
    return chosen


@njit(cache=True)
def _draw_walk(  # type: ignore[no-untyped-def]
    n, first, heads, arcs, source, target, limit, volume, capacities, present, used, loads, ceiling,
    walks, stream, path,
):  # fmt: skip
    """Draw a walk of a demand, uniformly over all; write it if it is a valid path, else False."""
    v, same = source, True
    path[0] = source
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
        if load > capacities[arc >> 1] * ceiling:
            return False
        path[hop + 1] = v
        same = same and present[hop + 1] == v
        if v == target:
            for i in range(hop + 2, path.shape[0]):
                path[i] = n
            return not same
    return False


@njit(cache=True)
def demand_state(  # type: ignore[no-untyped-def]
    used, volumes, limits, loads, capacities, largest, most_used, utilisation, share, hops, crowded
):
    """Per demand: its path's fullest link over the fullest of all, its share there, its hops, and
    whether it uses the arc `most_used`.
    """
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
            use = loads[arc] / capacities[arc >> 1]
            if use > fullest:
                fullest, at = use, arc
        utilisation[d] = min(1.0, fullest / largest)
        share[d] = min(1.0, volumes[d] / loads[at])
        hops[d] = length / limits[d]


@njit(cache=True)
def demand_gains(  # type: ignore[no-untyped-def]
    first, heads, arcs, sources, targets, limits, volumes, capacities, used, loads, largest, gain
):
    """By which share the 8-norm of all utilisations would fall, to first order, if each demand took
    the cheapest path it may take, arcs costing the marginals of that norm; return the level.
    """
    n, demands = first.shape[0] - 1, used.shape[0]
    marginal = np.empty(loads.shape[0])
    total = marginal_costs(loads, capacities, largest, marginal)
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
def write_full_state(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, sources, targets, limits, volumes, capacities, used, loads,
    utilisation, return_utilisation, peak, hot, path_utilisation, share, hops, crowded,
    gain,
):  # fmt: skip
    """Loads from all paths and all columns of `full`; return what `measure` does and the level.

    One call instead of six, since a call with arrays takes as long as most of these.
    """
    add_loads(used, volumes, loads)
    largest, norm, fullest = measure(loads, capacities)
    relative_link_state(
        loads, capacities, edges, largest, utilisation, return_utilisation, peak, hot
    )
    demand_state(
        used, volumes, limits, loads, capacities, largest, fullest, path_utilisation, share, hops,
        crowded,
    )  # fmt: skip
    level = demand_gains(
        first, heads, arcs, sources, targets, limits, volumes, capacities, used, loads, largest,
        gain,
    )  # fmt: skip
    return (largest, norm, fullest), level


@njit(cache=True)
def preview_paths(  # type: ignore[no-untyped-def]
    actions, n, arc_of, sources, targets, limits, volumes, capacities, used, loads
):
    """Largest utilisation after each action; infinite where the path is not admissible.

    Of the arcs that a change leaves as they are, the fullest decides: it comes soon in their order.
    """
    out = np.empty(actions.shape[0])
    found = np.empty(used.shape[1], dtype=np.int64)
    total = loads.copy()
    fullness = np.empty(loads.shape[0])
    for arc in range(loads.shape[0]):
        fullness[arc] = loads[arc] / capacities[arc >> 1]
    order = np.argsort(-fullness)
    changed_by = np.full(loads.shape[0], -1, dtype=np.int64)
    for a in range(actions.shape[0]):
        d = actions[a, 0]
        length = path_arcs(actions[a, 1:], n, arc_of, sources[d], targets[d], limits[d], found)
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
            largest = max(largest, total[found[i]] / capacities[found[i] >> 1])
        for i in range(used.shape[1]):
            arc = used[d, i]
            if arc < 0:
                break
            largest = max(largest, total[arc] / capacities[arc >> 1])
            total[arc] = loads[arc]
        for i in range(length):
            total[found[i]] = loads[found[i]]
        out[a] = largest
    return out
