"""Effects of other paths for a demand: features of candidates and the search's advice.

A change is judged together with the best change of another demand on the arc that is then the
fullest: what only clears the way for another change counts too.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.core.memory import NEVER
from lagco.problems.networks.kernels import eighth_power, measure
from lagco.problems.networks.tabu import IDLE, PAUSE, relative_gain, tabu_value
from lagco.problems.traffic.kernels import SLACK
from lagco.problems.traffic.paths import path_arcs

#: features of a candidate
EACH = 24
#: changes that are judged together with what can follow them
_DEEP = 12
#: changes that a ranker sees in any case, and the number of fullest arcs one of which they relieve
SUGGESTED, _ARCS = 12, 8
_MARGIN, _SAME = 1e-6, 1e-9
_TINY = 1e-300


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
        scale = unit / capacities[arc >> 1]
        change -= eighth_power(loads[arc] * scale)
        loads[arc] -= volume
        change += eighth_power(max(0.0, loads[arc]) * scale)
    for i in range(new.shape[0]):
        arc = new[i]
        if arc < 0:
            break
        scale = unit / capacities[arc >> 1]
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
def _best_reply(demand, first, options, volumes, capacities, used, loads, unit):  # type: ignore[no-untyped-def]
    """The lowest change of the sum by another path of another demand on the fullest arc."""
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
def _assess(  # type: ignore[no-untyped-def]
    demands, paths, first, options, volumes, capacities, used, loads, seen, recent, least,
    changes, tops, replies, relieves, allowed,
):  # fmt: skip
    """Judge k changes: arcs `paths` (k, T - 1) for `demands` (k,).

    Writes, relative to the sum of the 8th powers, the change of that sum and the change including
    the best reply; the fullest arc on the path; whether the fullest arc of all is relieved; whether
    the search may do it. Only the most promising ones are judged with a reply.
    """
    largest, norm, fullest = seen
    k = demands.shape[0]
    work = loads.copy()
    unit = 1.0 / max(largest, _TINY)
    total = max(eighth_power(norm * unit), _TINY)
    order = np.empty(k)
    for i in range(k):
        d = demands[i]
        change, tops[i] = _change_of(used[d], paths[i], volumes[d], capacities, work, unit)
        changes[i] = replies[i] = change / total
        relieves[i] = _uses(used[d], fullest) and not _uses(paths[i], fullest)
        after = norm * max(1.0 + changes[i], _TINY) ** 0.125
        allowed[i] = not recent[d] or after < least * (1.0 - _SAME)
        order[i] = changes[i]
        if not relieves[i] and changes[i] > -_MARGIN:
            order[i] += IDLE
        if not allowed[i]:
            order[i] += PAUSE
    for _ in range(min(_DEEP, k)):
        i = int(np.argmin(order))
        order[i] = np.inf
        d = demands[i]
        _shift(used[d], paths[i], volumes[d], work)
        reply = _best_reply(d, first, options, volumes, capacities, used, work, unit)
        _shift(paths[i], used[d], volumes[d], work)
        replies[i] += reply / total


@njit(cache=True)
def advised_paths(  # type: ignore[no-untyped-def]
    demands, first, options, volumes, capacities, used, loads, ages, recent, least
):
    """Places of the options (k,) that the search would choose."""
    k = options.shape[0]
    seen = measure(loads, capacities)
    ceiling = max(1.0, seen[0]) * SLACK / max(seen[0], _TINY)
    changes, tops, replies = np.empty(k), np.empty(k), np.empty(k)
    relieves, allowed = np.empty(k, np.bool_), np.empty(k, np.bool_)
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
    _assess(
        demands[places], options[places], first, options, volumes, capacities, used, loads, seen,
        recent, least, changes, tops, replies, relieves, allowed,
    )  # fmt: skip
    values = np.empty(count)
    best = -np.inf
    for i in range(count):
        gain = -0.125 * np.log(max(1.0 + replies[i], _TINY))
        gain -= 0.0025 * np.log(max(1.0 + changes[i], _TINY))
        helps = relieves[i] or changes[i] <= -_MARGIN
        values[i] = tabu_value(gain, 1.0, helps, allowed[i], ages[demands[places[i]]])
        best = max(best, values[i])
    chosen = 0
    for i in range(count):
        if values[i] > best - _MARGIN:
            places[chosen] = places[i]
            chosen += 1
    return places[:chosen].copy()


@njit(cache=True)
def suggested_paths(first, options, volumes, capacities, used, loads, recent, least):  # type: ignore[no-untyped-def]
    """Places of the options (k,) that lower the norm most among those that relieve a full arc.

    In the order in which the search looks at them: those that neither lower the norm nor relieve
    the fullest arc come later, what was changed recently last.
    """
    largest, norm, fullest = measure(loads, capacities)
    unit = 1.0 / max(largest, _TINY)
    ceiling = max(1.0, largest) * SLACK * unit
    total = max(eighth_power(norm * unit), _TINY)
    work, use = loads.copy(), loads.copy()
    for arc in range(use.shape[0]):
        use[arc] /= capacities[arc >> 1]
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
            if value > -_MARGIN and not (eases and not _uses(options[o], fullest)):
                value += IDLE
            if recent[d] and norm * max(1.0 + value, _TINY) ** 0.125 >= least * (1.0 - _SAME):
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
def describe_paths(  # type: ignore[no-untyped-def]
    actions, graph, ends, first, options, volumes, capacities, used, loads, ages, recent,
    tenure, history, steps, least_norm, least, left, each,
):  # fmt: skip
    """Write features of candidate actions (k, 1 + T) to each (k, EACH).

    history: (H, 1 + T) demands with the paths they left, in turn, the last one at (steps - 1) % H.
    """
    n, arc_of = graph
    sources, targets, limits = ends
    k = actions.shape[0]
    seen = measure(loads, capacities)
    largest, norm, _ = seen
    demands = np.empty(k, np.int64)
    found = np.full((k, used.shape[1]), -1, np.int64)
    changes, tops, replies = np.empty(k), np.empty(k), np.empty(k)
    relieves, allowed = np.empty(k, np.bool_), np.empty(k, np.bool_)
    lengths = np.empty(k, np.int64)
    for i in range(k):
        d = demands[i] = actions[i, 0]
        lengths[i] = path_arcs(
            actions[i, 1:], n, arc_of, sources[d], targets[d], limits[d], found[i]
        )
        for j in range(lengths[i], found.shape[1]):
            found[i, j] = -1
    _assess(
        demands, found, first, options, volumes, capacities, used, loads, seen, recent, least_norm,
        changes, tops, replies, relieves, allowed,
    )  # fmt: skip
    work = loads.copy()
    better, most = 0, 0.0
    for i in range(k):
        better += changes[i] < -_SAME
        most = max(most, volumes[demands[i]])
    for i in range(k):
        d, f = demands[i], each[i]
        near_rank, far_rank = 0, 0
        for j in range(k):
            near_rank += changes[j] < changes[i] - _SAME
            far_rank += replies[j] < replies[i] - _SAME
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
            own = max(own, loads[arc] / capacities[arc >> 1])
            length += 1
        ago = _steps_since(actions[i], history, steps)
        age = ages[i] + 1
        f[0] = relative_gain(near, norm)
        f[1] = relative_gain(after, largest)
        f[2] = relative_gain(far, norm)
        f[3] = near_rank / k
        f[4] = far_rank / k
        f[5] = min(1.0, age / (0.5 * tenure + 2.0))
        f[6] = min(1.0, age / (5.0 * tenure))
        f[7] = 1.0 if ages[i] >= NEVER else 0.0
        f[8] = 1.0 if age == 1 else 0.0
        f[9] = 1.0 if ago == ages[i] else 0.0
        f[10] = min(1.0, (ago + 1.0) / history.shape[0])
        f[11] = np.arcsinh(10.0 * (largest / max(least, _TINY) - 1.0))
        f[12] = better / k
        f[13] = left
        f[14] = 1.0 if after < least * (1.0 - _SAME) else 0.0
        f[15] = 1.0 if near < least_norm * (1.0 - _SAME) else 0.0
        f[16] = tops[i]
        f[17] = own / max(largest, _TINY)
        f[18] = (lengths[i] - length) / 4.0
        f[19] = volumes[d] / most
        f[20] = 1.0 if far < least_norm * (1.0 - _SAME) else 0.0
        f[21] = 1.0 if relieves[i] else 0.0
        f[22] = 1.0 if recent[d] else 0.0
        f[23] = 1.0 if relieves[i] or changes[i] <= -_MARGIN else 0.0


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
