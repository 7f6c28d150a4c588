"""Exact effects of weight changes: features of candidates and the search's advice.

A change is worth what the best weight in its direction is worth, since many a link has to be
changed several times before traffic moves: such changes in a row are a compound move.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.core.memory import NEVER
from lagco.problems.networks.kernels import measure
from lagco.problems.networks.tabu import PAUSE, relative_gain, tabu_value
from lagco.problems.ospf.kernels import changed_loads, loads_by_destination

#: features of a candidate
EACH = 31
_MARGIN, _SAME = 1e-6, 1e-9


@njit(cache=True)
def look_at(link, change, bounds, graph, capacities, weights, routing, seen, total, out):  # type: ignore[no-untyped-def]
    """Where changes of a link in one direction lead, to `out` (7,).

    Largest utilisation and norm after the next change; the same for the weight that is best in that
    direction; how many changes away it is; which share of the load of the fullest arc leaves it
    then; how many destinations the next change concerns.

    seen: largest utilisation, norm and fullest arc now.
    """
    ecmp, demands, distance, parts, loads, scratch = routing
    _, norm, fullest = seen
    weight, moves = weights[link] + change, 1
    while bounds[0] <= weight <= bounds[1]:
        count = changed_loads(
            link, weight, graph, weights, ecmp, demands, distance, parts, loads, scratch, total
        )
        largest, after, _ = measure(total, capacities)
        relief = 1.0 - total[fullest] / loads[fullest] if loads[fullest] > 0.0 else 0.0
        better = after < out[3] * (1.0 - _SAME) and after < norm * (1.0 - _MARGIN)
        relieves = out[5] <= _SAME and relief > _SAME and out[3] > norm * (1.0 - _MARGIN)
        if moves == 1:
            out[0], out[1], out[2], out[6] = largest, after, largest, count
        out[2] = min(out[2], largest)
        if moves == 1 or better or relieves:
            out[3], out[4], out[5] = after, moves, relief
        rest = total[2 * link] + total[2 * link + 1]
        if change > 0 and (count == 0 or rest <= _SAME * loads[fullest]):
            break  # nothing is left that could leave
        weight += change
        moves += 1


@njit(cache=True)
def is_begun(link, change, far, norm, memory):  # type: ignore[no-untyped-def]
    """Whether a change goes on with the compound move that the last change began.

    memory: the last link, its change, and whether it brought nothing.
    """
    if link != memory[0] or change != memory[1]:
        return False
    return far[3] < norm * (1.0 - _MARGIN) or (memory[2] and far[5] > _SAME)


@njit(cache=True)
def value_of(far, norm, least, recent, age, begun):  # type: ignore[no-untyped-def]
    """Merit of a change that leads to `far`, from `look_at`."""
    helps = far[5] > _SAME or far[3] <= norm * (1.0 - _MARGIN)
    allowed = not recent or far[3] < least * (1.0 - _SAME) or begun
    value = tabu_value(np.log(norm / far[3]), far[4], helps, allowed, age)
    return value + PAUSE if begun else value  # what was begun is finished first


@njit(cache=True)
def advised_changes(  # type: ignore[no-untyped-def]
    bounds, graph, capacities, weights, ecmp, demands, routes, scratch, ages, recent, least, memory
):
    """The actions (k, 2) that the search would take."""
    first, heads, arcs, _ = graph
    distance, order, _, _, loads, _ = routes
    parts = np.empty((first.shape[0] - 1, loads.shape[0]))
    loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
    routing = ecmp, demands, distance, parts, loads, scratch
    seen = measure(loads, capacities)
    total = np.empty(loads.shape[0])
    far = np.empty(7)
    links = capacities.shape[0]
    values = np.full((links, 3), -np.inf)
    best = -np.inf
    for e in range(links):
        for change in (-1, 1):
            if bounds[0] <= weights[e] + change <= bounds[1]:
                look_at(
                    e, change, bounds, graph, capacities, weights, routing, seen, total, far
                )  # fmt: skip
                begun = is_begun(e, change, far, seen[1], memory)
                value = value_of(far, seen[1], least, recent[e] == 1, ages[e], begun)
                values[e, change + 1] = value
                best = max(best, value)
    found = np.empty((2 * links, 2), np.int64)
    count = 0
    for e in range(links):
        for place in (0, 2):
            if values[e, place] > best - _MARGIN and best > -np.inf:
                found[count, 0], found[count, 1] = e, place
                count += 1
    return found[:count].copy()


@njit(cache=True)
def describe_changes(  # type: ignore[no-untyped-def]
    actions, bounds, graph, capacities, weights, ecmp, demands, routes, scratch, ages, recent,
    directions, tenure, least, best, memory, left, plan, promised, each,
):  # fmt: skip
    """Write features of candidate actions (k, 2) to each (k, EACH).

    plan (E,): weights to go to, the present ones without a plan; promised: largest utilisation
    there. left: share of the steps left, and their number.
    """
    first, heads, arcs, _ = graph
    distance, order, _, _, loads, _ = routes
    n, k = first.shape[0] - 1, actions.shape[0]
    parts = np.empty((n, loads.shape[0]))
    loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
    routing = ecmp, demands, distance, parts, loads, scratch
    seen = measure(loads, capacities)
    largest, norm, _ = seen
    unit = 1.0 / max(largest, 1e-300)
    total = np.empty(loads.shape[0])
    looks = np.empty((k, 7))
    better, lower, away = 0, 0, 0
    for e in range(weights.shape[0]):
        away += abs(plan[e] - weights[e])
    for i in range(k):
        change, far = actions[i, 1] - 1, looks[i]
        far[:] = 0.0
        far[0] = far[2] = largest
        far[1] = far[3] = norm
        if change != 0:
            look_at(
                actions[i, 0], change, bounds, graph, capacities, weights, routing, seen, total, far
            )
        better += far[1] < norm * (1.0 - _SAME)
        lower += far[0] < largest * (1.0 - _SAME)
    for i in range(k):
        e, change, far, f = actions[i, 0], actions[i, 1] - 1, looks[i], each[i]
        near_rank, far_rank = 0, 0
        for j in range(k):
            near_rank += looks[j, 1] < far[1] * (1.0 - _SAME)
            far_rank += looks[j, 3] < far[3] * (1.0 - _SAME)
        age, tabu = ages[i] + 1, recent[e] == 1
        changed = ages[i] < NEVER
        begun = change != 0 and is_begun(e, change, far, norm, memory)
        f[0] = relative_gain(far[1], norm)
        f[1] = relative_gain(far[0], largest)
        f[2] = relative_gain(far[3], norm)
        f[3] = relative_gain(far[2], largest)
        f[4] = (far[4] - 1.0) / max(1, bounds[1] - bounds[0])
        f[5] = near_rank / k
        f[6] = far_rank / k
        f[7] = min(1.0, age / (0.5 * tenure + 2.0))
        f[8] = min(1.0, age / (5.0 * tenure))
        f[9] = 0.0 if changed else 1.0
        f[10] = 1.0 if age == 1 and directions[e] == -change else 0.0
        f[11] = 1.0 if age == 1 and directions[e] == change else 0.0
        f[12] = 1.0 if changed and directions[e] == -change else 0.0
        f[13] = np.arcsinh(10.0 * (largest / best - 1.0)) if best > 0.0 else 0.0
        f[14] = better / k
        f[15] = lower / k
        f[16] = left[0]
        f[17] = 1.0 if far[0] < best * (1.0 - _SAME) else 0.0
        f[18] = 1.0 if far[2] < best * (1.0 - _SAME) else 0.0
        f[19] = max(loads[2 * e], loads[2 * e + 1]) / capacities[e] * unit
        f[20] = change
        f[21] = (weights[e] - bounds[0]) / max(1, bounds[1] - bounds[0])
        f[22] = far[6] / n
        f[23] = 1.0 if far[3] < least * (1.0 - _SAME) else 0.0
        f[24] = far[5]
        f[25] = 1.0 if begun else 0.0
        f[26] = 1.0 if tabu else 0.0
        f[27] = 1.0 if change * (plan[e] - weights[e]) > 0 else 0.0
        f[28] = 1.0 if away > 0 and change * (plan[e] - weights[e]) <= 0 else 0.0
        f[29] = relative_gain(promised, best) if away > 0 else 0.0
        f[30] = away / max(1, left[1])
