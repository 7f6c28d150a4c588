"""Exact effects of weight changes: features of candidates, and the actions of tabu search.

A change is valued by the best weight in its direction, since traffic often moves only after several
changes of a link: a compound move. Loads are recomputed for the destinations whose routes a change
affects, so effects are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.memory import NEVER
from lagco.problems.networks.kernels import measure
from lagco.problems.networks.tabu import (
    FINE,
    MARGIN,
    PAUSE,
    SAME,
    Past,
    relative_gain,
    since_change,
    tabu_value,
)
from lagco.problems.ospf.kernels import changed_loads, loads_by_destination
from lagco.problems.ospf.routing.shortest_paths import stepped

#: a ranker's features of a change of a weight; near: after the change, far: with the best weight in
#: its direction; norm: the 8-norm of all utilisations
EACH = Columns(
    near_norm_gain="fall of the norm by the change",
    near_gain="fall of the largest utilisation by the change",
    far_norm_gain="fall of the norm with the best weight in that direction",
    far_gain="fall of the largest utilisation on the way there, at its lowest",
    far_changes="further changes to that weight, over the range of weights",
    near_rank="share of the candidates whose change leads to a lower norm",
    far_rank="share of the candidates whose best weight leads to a lower norm",
    age_by_tenure="steps since the link was changed, over half the tenure",
    age="the same over five times the tenure",
    never_changed="the link was never changed",
    undoes_last="the change undoes the last step",
    repeats_last="the change repeats the last step",
    turns_back="the link was last changed in the other direction",
    behind="largest utilisation now over the lowest so far",
    improving="share of the candidates that lower the norm",
    lowering="share of the candidates that lower the largest utilisation",
    steps_left="share of the steps that is left",
    best_near="the change leads to the lowest utilisation so far",
    best_far="so does the best weight in that direction",
    use="utilisation of the link's busier direction over the largest",
    change="-1, 0 or 1",
    weight="weight of the link, 0 at the smallest, 1 at the largest",
    destinations="share of the destinations whose routes the change concerns",
    best_norm="the best weight leads to the lowest norm so far",
    relief="share of the load of the fullest arc that leaves it with the best weight",
    begun="the change goes on with the compound move of the last step",
    recent="the link was changed within the tenure",
    planned="the change leads towards the plan",
    against_plan="there is a plan, and the change does not lead there",
    promised="fall of the lowest utilisation so far that the plan promises",
    plan_distance="changes to the plan over the steps that are left",
)


class Outlook(NamedTuple):
    """Effects of changing the weight of a link in one direction.

    near: after the next change. far: with the weight that is best in that direction.

    Attributes:
        near: largest utilisation
        near_norm: 8-norm of all utilisations
        lowest: smallest value of the largest utilisation on the way
        far_norm: 8-norm of all utilisations
        moves: number of changes to the best weight
        relief: share of the load of the fullest arc that then leaves it
        destinations: number of destinations whose routes the next change affects
    """

    near: float
    near_norm: float
    lowest: float
    far_norm: float
    moves: float
    relief: float
    destinations: float


class Memory(NamedTuple):
    """Changes so far.

    Attributes:
        past: of the links considered
        recent: (E,) whether a link was changed within the tenure
        directions: (E,) of the last change of each link
        last: the last link, its change, and whether it brought nothing
        least_norm: lowest norm so far
        least: lowest utilisation so far
    """

    past: Past
    recent: Array
    directions: Array
    last: tuple[int, int, bool]
    least_norm: float
    least: float


@njit(cache=True, forceinline=True)
def look_ahead(link, change, setting, weights, routes, parts, seen, total):  # type: ignore[no-untyped-def]
    """The :class:`Outlook` of changing a link in one direction.

    seen: largest utilisation, norm and fullest arc now. parts: from `loads_by_destination`.
    total: scratch (2 E,).
    """
    capacities, loads = setting.network.capacities, routes.loads
    now, norm, fullest = seen
    near = lowest = now
    near_norm = far_norm = norm
    far_moves = relief_there = destinations = 0.0
    weight, before, moves = stepped(weights[link], change, setting), weights[link], 1
    while weight != before and moves <= setting.span:
        count = changed_loads(link, weight, setting, weights, routes, parts, total)
        largest, after, _ = measure(total, capacities)
        relief = 1.0 - total[fullest] / loads[fullest] if loads[fullest] > 0.0 else 0.0
        better = after < far_norm * (1.0 - SAME) and after < norm * (1.0 - MARGIN)
        relieves = relief_there <= SAME and relief > SAME and far_norm > norm * (1.0 - MARGIN)
        if moves == 1:
            near, near_norm, lowest, destinations = largest, after, largest, float(count)
        lowest = min(lowest, largest)
        if moves == 1 or better or relieves:
            far_norm, far_moves, relief_there = after, float(moves), relief
        rest = total[2 * link] + total[2 * link + 1]
        if change > 0 and (count == 0 or rest <= SAME * loads[fullest]):
            break  # no traffic is left that could leave
        before, weight = weight, stepped(weight, change, setting)
        moves += 1
    return Outlook(near, near_norm, lowest, far_norm, far_moves, relief_there, destinations)


@njit(cache=True)
def is_begun(link, change, outlook, norm, last):  # type: ignore[no-untyped-def]
    """Whether a change continues the compound move that the last change began."""
    if link != last[0] or change != last[1]:
        return False
    return outlook.far_norm < norm * (1.0 - MARGIN) or (last[2] and outlook.relief > SAME)


@njit(cache=True)
def value_of(outlook, norm, least, recent, age, begun):  # type: ignore[no-untyped-def]
    """Merit of a change."""
    helps = outlook.relief > SAME or outlook.far_norm <= norm * (1.0 - MARGIN)
    allowed = not recent or outlook.far_norm < least * (1.0 - SAME) or begun
    value = tabu_value(np.log(norm / outlook.far_norm), outlook.moves, helps, allowed, age)
    return value + PAUSE if begun else value  # what was begun is finished first


@njit(cache=True)
def advised_changes(setting, weights, routes, memory):  # type: ignore[no-untyped-def]
    """The actions (k, 2) that the search would take; `memory` is of all links."""
    loads = routes.loads
    parts = np.empty((setting.network.num_nodes, loads.shape[0]))
    loads_by_destination(setting, weights, routes.distance, routes.order, parts)
    seen = measure(loads, setting.network.capacities)
    total = np.empty(loads.shape[0])
    links = weights.shape[0]
    values = np.full((links, 3), -np.inf)
    best = -np.inf
    for e in range(links):
        for change in (-1, 1):
            if stepped(weights[e], change, setting) != weights[e]:
                outlook = look_ahead(e, change, setting, weights, routes, parts, seen, total)
                begun = is_begun(e, change, outlook, seen[1], memory.last)
                recent, age = memory.recent[e] == 1, memory.past.ages[e]
                value = value_of(outlook, seen[1], memory.least_norm, recent, age, begun)
                values[e, change + 1] = value
                best = max(best, value)
    found = np.empty((2 * links, 2), np.int64)
    count = 0
    for e in range(links):
        for place in (0, 2):
            if values[e, place] > best - MARGIN and best > -np.inf:
                found[count, 0], found[count, 1] = e, place
                count += 1
    return found[:count].copy()


@njit(cache=True)
def describe_changes(actions, setting, weights, routes, memory, goal, each):  # type: ignore[no-untyped-def]
    """Write features of candidate actions (k, 2) to the records `each` (k,).

    memory: its ages (k,) are of the candidates' links.
    """
    capacities, loads, plan = setting.network.capacities, routes.loads, goal.target
    n, k = setting.network.num_nodes, actions.shape[0]
    parts = np.empty((n, loads.shape[0]))
    loads_by_destination(setting, weights, routes.distance, routes.order, parts)
    seen = measure(loads, capacities)
    largest, norm, _ = seen
    unit = 1.0 / max(largest, 1e-300)
    span = max(1, setting.span)
    best, least = memory.least, memory.least_norm
    total = np.empty(loads.shape[0])
    outlooks = []
    better, lower, away = 0, 0, 0
    for e in range(weights.shape[0]):
        away += abs(plan[e] - weights[e])
    for i in range(k):
        change = actions[i, 1] - 1
        outlook = Outlook(largest, norm, largest, norm, 0.0, 0.0, 0.0)
        if change != 0:
            link = actions[i, 0]
            outlook = look_ahead(link, change, setting, weights, routes, parts, seen, total)
        outlooks.append(outlook)
        better += outlook.near_norm < norm * (1.0 - SAME)
        lower += outlook.near < largest * (1.0 - SAME)
    for i in range(k):
        e, change, outlook, f = actions[i, 0], actions[i, 1] - 1, outlooks[i], each[i]
        near_rank, far_rank = 0, 0
        for j in range(k):
            near_rank += outlooks[j].near_norm < outlook.near_norm * (1.0 - SAME)
            far_rank += outlooks[j].far_norm < outlook.far_norm * (1.0 - SAME)
        age, direction = memory.past.ages[i], memory.directions[e]
        changed = age < NEVER
        f.near_norm_gain = relative_gain(outlook.near_norm, norm)
        f.near_gain = relative_gain(outlook.near, largest)
        f.far_norm_gain = relative_gain(outlook.far_norm, norm)
        f.far_gain = relative_gain(outlook.lowest, largest)
        f.far_changes = (outlook.moves - 1.0) / span
        f.near_rank = near_rank / k
        f.far_rank = far_rank / k
        f.age_by_tenure, f.age = since_change(age, memory.past.tenure)
        f.never_changed = not changed
        f.undoes_last = age == 0 and direction == -change
        f.repeats_last = age == 0 and direction == change
        f.turns_back = changed and direction == -change
        f.behind = np.arcsinh(FINE * (largest / best - 1.0)) if best > 0.0 else 0.0
        f.improving = better / k
        f.lowering = lower / k
        f.steps_left = goal.share
        f.best_near = outlook.near < best * (1.0 - SAME)
        f.best_far = outlook.lowest < best * (1.0 - SAME)
        f.use = max(loads[2 * e], loads[2 * e + 1]) / capacities[2 * e] * unit
        f.change = change
        f.weight = min(1.0, (weights[e] - setting.low) / (span * setting.step))
        f.destinations = outlook.destinations / n
        f.best_norm = outlook.far_norm < least * (1.0 - SAME)
        f.relief = outlook.relief
        f.begun = change != 0 and is_begun(e, change, outlook, norm, memory.last)
        f.recent = memory.recent[e] == 1
        f.planned = change * (plan[e] - weights[e]) > 0
        f.against_plan = away > 0 and change * (plan[e] - weights[e]) <= 0
        f.promised = relative_gain(goal.promised, best) if away > 0 else 0.0
        f.plan_distance = away / max(1, goal.steps)
