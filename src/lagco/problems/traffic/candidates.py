"""Effects of other paths for a demand: features of candidates and the search's advice.

A change is judged together with the best change of another demand on the arc that is then the
fullest: what only clears the way for another change counts too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.core.memory import NEVER
from lagco.problems.networks.kernels import eighth_power, measure
from lagco.problems.networks.network import Network
from lagco.problems.networks.tabu import (
    FINE,
    IDLE,
    MARGIN,
    PAUSE,
    SAME,
    relative_gain,
    since_change,
    tabu_value,
)
from lagco.problems.traffic.kernels import SLACK
from lagco.problems.traffic.paths import path_arcs

#: what a ranker sees of a demand and another path for it; near: after the change, far: after the
#: best reply too, both measured by the 8-norm of all utilisations
EACH = Columns(
    near_gain="fall of the norm by the change",
    largest_gain="fall of the largest utilisation by the change",
    far_gain="fall of the norm by the change and the best reply",
    near_rank="share of the candidates whose change alone leads lower",
    far_rank="share of the candidates that lead lower with their reply",
    age_by_tenure="steps since the demand was changed, over half the tenure",
    age="the same over five times the tenure",
    never_changed="the demand was never changed",
    changed_last="the demand was changed by the last step",
    returns="the demand would go back to the path it left last",
    left_ago="steps since the demand left this path, over the length of the history",
    behind="largest utilisation now over the lowest so far",
    improving="share of the candidates that lower the norm",
    steps_left="share of the steps that is left",
    best_utilisation="the change leads to the lowest utilisation so far",
    best_near="the change leads to the lowest norm so far",
    path_use="utilisation of the fullest arc on the new path, over the largest",
    own_use="utilisation of the fullest arc on the present path, over the largest",
    detour="hops by which the new path is longer, over 4",
    volume="volume of the demand over the largest among the candidates",
    best_far="with its reply the change leads to the lowest norm so far",
    relieves="the change takes load off the fullest arc",
    recent="the demand was changed within the tenure",
    helps="the change lowers the norm or relieves the fullest arc",
)
#: hops that count as one in `detour`: networks have paths of few hops
_HOPS = 4.0
#: what the first change alone counts for in the advice, compared with change and reply
_ALONE = 0.0025
#: changes that are judged together with what can follow them
_DEEP = 12
#: changes that a ranker sees in any case, and the number of fullest arcs one of which they relieve
SUGGESTED, _ARCS = 12, 8
_TINY = 1e-300


class Search(NamedTuple):
    """State of the search that changes are judged in.

    Attributes:
        network: links and demands
        first: (D + 1,), the paths of demand d are the options ``first[d]`` to ``first[d + 1]``
        options: (N, T - 1) arcs of these paths, padded with -1
        used: (D, T - 1) arcs of the present paths, likewise
        loads: (2 E,) per arc
        recent: (D,) whether a demand was changed within the tenure
        least: lowest norm so far
    """

    network: Network
    first: Array
    options: Array
    used: Array
    loads: Array
    recent: Array
    least: float


class Judged(NamedTuple):
    """Effects of k changes, relative to the sum of the 8th powers of all utilisations.

    Attributes:
        changes: (k,) of that sum
        tops: (k,) utilisation of the fullest arc on the new path, over the largest of all
        replies: (k,) `changes` with the best reply, where they are promising
        relieves: (k,) whether the change takes load off the fullest arc
        allowed: (k,) whether the search may make it
    """

    changes: Array
    tops: Array
    replies: Array
    relieves: Array
    allowed: Array


@njit(cache=True)
def _shift(old, new, volume, loads):  # type: ignore[no-untyped-def]
    """Take a volume off the arcs of a path, padded with -1, and put it on another one's."""
    for i in range(old.shape[0]):
        if old[i] < 0:
            break
        loads[old[i]] -= volume
    for i in range(new.shape[0]):
        if new[i] < 0:
            break
        loads[new[i]] += volume


@njit(cache=True)
def _change_of(old, new, volume, capacities, loads, unit):  # type: ignore[no-untyped-def]
    """Change of the sum of the 8th powers of utilisations times `unit`, and the fullest arc on the
    new path in these terms. `loads` is left as it was.
    """
    change, top = 0.0, 0.0
    for i in range(old.shape[0]):
        arc = old[i]
        if arc < 0:
            break
        scale = unit / capacities[arc]
        change -= eighth_power(loads[arc] * scale)
        loads[arc] -= volume
        change += eighth_power(max(0.0, loads[arc]) * scale)
    for i in range(new.shape[0]):
        arc = new[i]
        if arc < 0:
            break
        scale = unit / capacities[arc]
        change -= eighth_power(max(0.0, loads[arc]) * scale)
        loads[arc] += volume
        use = loads[arc] * scale
        change += eighth_power(use)
        top = max(top, use)
    _shift(new, old, volume, loads)
    return change, top


@njit(cache=True)
def _uses(path, arc):  # type: ignore[no-untyped-def]
    """Whether a path, given by its arcs, uses an arc."""
    found = False
    for i in range(path.shape[0]):
        found = found or path[i] == arc
    return found


@njit(cache=True)
def _best_reply(demand, search, loads, unit):  # type: ignore[no-untyped-def]
    """The lowest change of the sum by another path of another demand on the fullest arc."""
    volumes, capacities = search.network.volumes, search.network.capacities
    first, options, used = search.first, search.options, search.used
    _, _, fullest = measure(loads, capacities)
    best = 0.0
    for d in range(used.shape[0]):
        if d == demand or not _uses(used[d], fullest):
            continue
        for o in range(first[d], first[d + 1]):
            if not _uses(options[o], fullest):
                change, _ = _change_of(used[d], options[o], volumes[d], capacities, loads, unit)
                best = min(best, change)
    return best


@njit(cache=True)
def _judge(demands, paths, search, seen):  # type: ignore[no-untyped-def]
    """Effects of k changes: arcs `paths` (k, T - 1) for `demands` (k,).

    Only the most promising ones are judged with a reply.
    """
    largest, norm, fullest = seen
    volumes, capacities = search.network.volumes, search.network.capacities
    used, k = search.used, demands.shape[0]
    changes, tops, replies = np.empty(k), np.empty(k), np.empty(k)
    relieves, allowed = np.empty(k, np.bool_), np.empty(k, np.bool_)
    work = search.loads.copy()
    unit = 1.0 / max(largest, _TINY)
    total = max(eighth_power(norm * unit), _TINY)
    order = np.empty(k)
    for i in range(k):
        d = demands[i]
        change, tops[i] = _change_of(used[d], paths[i], volumes[d], capacities, work, unit)
        changes[i] = replies[i] = change / total
        relieves[i] = _uses(used[d], fullest) and not _uses(paths[i], fullest)
        after = norm * max(1.0 + changes[i], _TINY) ** 0.125
        allowed[i] = not search.recent[d] or after < search.least * (1.0 - SAME)
        order[i] = changes[i]
        if not relieves[i] and changes[i] > -MARGIN:
            order[i] += IDLE
        if not allowed[i]:
            order[i] += PAUSE
    for _ in range(min(_DEEP, k)):
        i = int(np.argmin(order))
        order[i] = np.inf
        d = demands[i]
        _shift(used[d], paths[i], volumes[d], work)
        reply = _best_reply(d, search, work, unit)
        _shift(paths[i], used[d], volumes[d], work)
        replies[i] += reply / total
    return Judged(changes, tops, replies, relieves, allowed)


@njit(cache=True)
def advised_paths(demands, search, ages):  # type: ignore[no-untyped-def]
    """Places of the options (k,) that the search would choose.

    demands (N,) of the options; ages (D,): steps since a demand was changed.
    """
    volumes, capacities = search.network.volumes, search.network.capacities
    options, used, loads = search.options, search.used, search.loads
    k = options.shape[0]
    seen = measure(loads, capacities)
    ceiling = max(1.0, seen[0]) * SLACK / max(seen[0], _TINY)
    possible = np.empty(k, np.int64)
    count = 0
    work, unit = loads.copy(), 1.0 / max(seen[0], _TINY)
    for o in range(k):
        d = demands[o]
        same = True
        for i in range(options.shape[1]):
            same = same and options[o, i] == used[d, i]
        if same:
            continue
        _, top = _change_of(used[d], options[o], volumes[d], capacities, work, unit)
        if top <= ceiling:
            possible[count] = o
            count += 1
    places = possible[:count]
    found = _judge(demands[places], options[places], search, seen)
    values = np.empty(count)
    best = -np.inf
    for i in range(count):
        gain = -0.125 * np.log(max(1.0 + found.replies[i], _TINY))
        gain -= _ALONE * np.log(max(1.0 + found.changes[i], _TINY))
        helps = found.relieves[i] or found.changes[i] <= -MARGIN
        values[i] = tabu_value(gain, 1.0, helps, found.allowed[i], ages[demands[places[i]]])
        best = max(best, values[i])
    chosen = 0
    for i in range(count):
        if values[i] > best - MARGIN:
            places[chosen] = places[i]
            chosen += 1
    return places[:chosen].copy()


@njit(cache=True)
def suggested_paths(search):  # type: ignore[no-untyped-def]
    """Places of the options (k,) that lower the norm most among those that relieve a full arc.

    In the order in which the search looks at them: those that neither lower the norm nor relieve
    the fullest arc come later, what was changed recently last.
    """
    volumes, capacities = search.network.volumes, search.network.capacities
    first, options, used, loads = search.first, search.options, search.used, search.loads
    largest, norm, fullest = measure(loads, capacities)
    unit = 1.0 / max(largest, _TINY)
    ceiling = max(1.0, largest) * SLACK * unit
    total = max(eighth_power(norm * unit), _TINY)
    work, use = loads.copy(), loads.copy()
    for arc in range(use.shape[0]):
        use[arc] /= capacities[arc]
    full = np.zeros(use.shape[0], np.bool_)
    for _ in range(min(_ARCS, use.shape[0])):
        arc = int(np.argmax(use))
        full[arc], use[arc] = True, -1.0
    found, values = np.empty(SUGGESTED, np.int64), np.empty(SUGGESTED)
    count = 0
    for d in range(used.shape[0]):
        crosses = False
        for i in range(used.shape[1]):
            crosses = crosses or (used[d, i] >= 0 and full[used[d, i]])
        if not crosses:
            continue
        eases = _uses(used[d], fullest)
        for o in range(first[d], first[d + 1]):
            change, top = _change_of(used[d], options[o], volumes[d], capacities, work, unit)
            value = change / total
            if value > -MARGIN and not (eases and not _uses(options[o], fullest)):
                value += IDLE
            after = norm * max(1.0 + value, _TINY) ** 0.125
            if search.recent[d] and after >= search.least * (1.0 - SAME):
                value += PAUSE
            if top > ceiling or (count == SUGGESTED and value >= values[count - 1]):
                continue
            same = True
            for i in range(options.shape[1]):
                same = same and options[o, i] == used[d, i]
            if same:
                continue
            at = min(count, SUGGESTED - 1)
            while at > 0 and values[at - 1] > value:
                found[at], values[at] = found[at - 1], values[at - 1]
                at -= 1
            found[at], values[at] = o, value
            count = min(count + 1, SUGGESTED)
    return found[:count]


@njit(cache=True)
def describe_paths(actions, search, limits, past, history, least, left, each):  # type: ignore[no-untyped-def]
    """Write features of candidate actions (k, 1 + T) to the records `each` (k,).

    limits (D,): most hops. past: ages (k,) of the candidates' demands. history: (H, 1 + T) demands
    with the paths they left, in turn, the last one at (steps - 1) % H. least: lowest utilisation so
    far. left: share of the steps that is left.
    """
    network, used, loads = search.network, search.used, search.loads
    arc_of, capacities, volumes = network.arc_of, network.capacities, network.volumes
    k = actions.shape[0]
    seen = measure(loads, capacities)
    largest, norm, _ = seen
    demands = np.empty(k, np.int64)
    found = np.full((k, used.shape[1]), -1, np.int64)
    lengths = np.empty(k, np.int64)
    for i in range(k):
        d = demands[i] = actions[i, 0]
        source, target = network.sources[d], network.targets[d]
        lengths[i] = path_arcs(actions[i, 1:], arc_of, source, target, limits[d], found[i])
        for j in range(lengths[i], found.shape[1]):
            found[i, j] = -1
    judged = _judge(demands, found, search, seen)
    changes, replies, relieves = judged.changes, judged.replies, judged.relieves
    work = loads.copy()
    better, most = 0, 0.0
    for i in range(k):
        better += changes[i] < -SAME
        most = max(most, volumes[demands[i]])
    for i in range(k):
        d, f = demands[i], each[i]
        near_rank, far_rank = 0, 0
        for j in range(k):
            near_rank += changes[j] < changes[i] - SAME
            far_rank += replies[j] < replies[i] - SAME
        _shift(used[d], found[i], volumes[d], work)
        after, _, _ = measure(work, capacities)
        _shift(found[i], used[d], volumes[d], work)
        near = norm * max(1.0 + changes[i], _TINY) ** 0.125
        far = norm * max(1.0 + replies[i], _TINY) ** 0.125
        own, length = 0.0, 0
        for j in range(used.shape[1]):
            arc = used[d, j]
            if arc < 0:
                break
            own = max(own, loads[arc] / capacities[arc])
            length += 1
        ago = _steps_since(actions[i], history, past.steps)
        f.near_gain = relative_gain(near, norm)
        f.largest_gain = relative_gain(after, largest)
        f.far_gain = relative_gain(far, norm)
        f.near_rank = near_rank / k
        f.far_rank = far_rank / k
        f.age_by_tenure, f.age = since_change(past.ages[i], past.tenure)
        f.never_changed = past.ages[i] >= NEVER
        f.changed_last = past.ages[i] == 0
        f.returns = ago == past.ages[i]
        f.left_ago = min(1.0, (ago + 1.0) / history.shape[0])
        f.behind = np.arcsinh(FINE * (largest / max(least, _TINY) - 1.0))
        f.improving = better / k
        f.steps_left = left
        f.best_utilisation = after < least * (1.0 - SAME)
        f.best_near = near < search.least * (1.0 - SAME)
        f.path_use = judged.tops[i]
        f.own_use = own / max(largest, _TINY)
        f.detour = (lengths[i] - length) / _HOPS
        f.volume = volumes[d] / most
        f.best_far = far < search.least * (1.0 - SAME)
        f.relieves = relieves[i]
        f.recent = search.recent[d]
        f.helps = relieves[i] or changes[i] <= -MARGIN


@njit(cache=True)
def _steps_since(action, history, steps):  # type: ignore[no-untyped-def]
    """Steps since a demand left a path, NEVER if that is not in the history."""
    size = history.shape[0]
    for ago in range(min(size, steps)):
        row = history[(steps - 1 - ago) % size]
        same = True
        for i in range(action.shape[0]):
            if row[i] != action[i]:
                same = False
                break
        if same:
            return ago
    return NEVER
