"""Simulated annealing over link weights within limits, over one scenario or several.

For directed links, limits, scenarios and wide ranges of weights; the plain problem has the search
of `lagco.problems.ospf.solver`, on which references and plans rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.instances import Instance
from lagco.problems.networks.kernels import fullest_arc
from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.routing.weights import WIDE, weight_bounds, weight_ranges
from lagco.problems.ospf.searching.state import (
    CUT,
    Routing,
    Scenarios,
    change,
    heap_of,
    joint,
    new_routing,
    route_all,
    scenarios_of,
)
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.runtime.stopping import stop_flag

COLDEST = 0.0005
#: chance of a move at the fullest link or at an end of it, that it is that link, of a weight at
#: which routes change, of a small change else, and of taking a change back
FULL, SAME, TELLING, NEAR, BACK = 0.5, 0.3, 0.6, 0.5, 0.1
#: values closer than this, relatively, are level
_LEVEL = 1e-12


class Choice(NamedTuple):
    """What weights may be chosen.

    Attributes:
        before: (E,) present weights, of which changes are counted
        start: (E,) the same moved into their ranges, as far as the changes suffice
        free: links that may change
        lowest: (E,) smallest weight of each
        highest: (E,) largest weight
        most: changes, -1 for any number
        step: what counts as a small change
        wide: whether most weights are alike
    """

    before: Array
    start: Array
    free: Array
    lowest: Array
    highest: Array
    most: int
    step: int
    wide: bool


class Prepared(NamedTuple):
    """An instance as the search takes it."""

    scenarios: Scenarios
    routing: Routing
    choice: Choice


def prepare(instance: Instance) -> Prepared:
    """Scenarios and choice of an instance."""
    low, high = weight_bounds(instance)
    lowest, highest = weight_ranges(instance)
    scenarios = scenarios_of(instance)
    links = len(lowest)
    present = instance.arrays.get("weights")
    before = np.clip(np.full(links, low), lowest, highest)
    if present is not None:
        before = present.astype(np.int64)
    fixed = instance.arrays.get(FIXED, np.zeros(links)).astype(bool)
    most = instance.params.get(MAX_CHANGES)
    step = int(instance.params.get("weight_step", 1))
    most = -1 if most is None or present is None else int(most)
    choice = Choice(
        before,
        _within(before, fixed, lowest, highest, most),
        np.flatnonzero(~fixed),
        lowest,
        highest,
        most,
        step,
        high - low > WIDE,
    )
    return Prepared(scenarios, new_routing(scenarios), choice)


def anneal(
    prepared: Prepared, weights: Array | None, seed: int, moves: int, hottest: float
) -> Array:
    """The best weights met, from `weights` where they keep to the limits, else from the present."""
    choice = prepared.choice
    best = choice.start.copy()
    if weights is not None and keeps(choice, weights):
        best[:] = weights
    if len(choice.free) and choice.most != 0:
        queue = heap_of(prepared.scenarios.network)
        stream = random_stream(seed)
        _anneal(prepared, best, moves, hottest, queue, stream, stop_flag())
    return best


def _within(before: Array, fixed: Array, lowest: Array, highest: Array, most: int) -> Array:
    """Weights moved into their ranges, of the first links where changes are few."""
    start = before.copy()
    outside = np.flatnonzero(~fixed & ((before < lowest) | (before > highest)))
    if most >= 0:
        outside = outside[:most]
    start[outside] = np.clip(before, lowest, highest)[outside]
    return start


def keeps(choice: Choice, weights: Array) -> bool:
    """Whether weights change no more than they may."""
    changed = weights != choice.before
    kept = np.ones(len(changed), dtype=bool)
    kept[choice.free] = False
    fine = (weights >= choice.lowest) & (weights <= choice.highest)
    within = choice.most < 0 or int(changed.sum()) <= choice.most
    return within and not (changed & (kept | ~fine)).any()


@njit(cache=True)
def joint_energy(scenarios, powers):  # type: ignore[no-untyped-def]
    """What is annealed: close to the joint utilisation, and moved by the next fullest arcs too."""
    if scenarios.mean:
        return (scenarios.shares * powers**0.0625).sum()
    return powers.sum() ** 0.0625


@njit(cache=True)
def _trial_energy(scenarios, routing, weights, links, news, most, ranks):  # type: ignore[no-untyped-def]
    """Energy after changes; infinite as soon as it is known to be above `most`.

    ranks: scenarios, those first that are the fullest.
    """
    total, limit = 0.0, most if scenarios.mean else most**16
    for s in ranks:
        power, _ = change(scenarios, routing, s, weights, links, news, False)
        total += scenarios.shares[s] * power**0.0625 if scenarios.mean else power
        if total > limit * (1.0 + 1e-9):
            return np.inf
    return total if scenarios.mean else total**0.0625


@njit(cache=True)
def _telling_weight(scenarios, routing, weights, link, stream):  # type: ignore[no-untyped-def]
    """A weight with which the link becomes one of the shortest ways of something, or ceases to."""
    network = scenarios.network
    s = next_below(stream, scenarios.volumes.shape[0])
    t = scenarios.targets[next_below(stream, scenarios.targets.shape[0])]
    far, steps = routing.distance[s, t], routing.steps[s]
    u, v = network.edges[0, link], network.edges[1, link]
    if not network.directed and far[u] < far[v]:
        u, v = v, u
    other = CUT
    for k in range(network.first[u], network.first[u + 1]):
        if network.arcs[k] >> 1 != link:
            other = min(other, far[network.heads[k]] + steps[k])
    if other >= CUT or other <= far[v]:
        return weights[link]
    return other - far[v] + next_below(stream, 3) - 1


@njit(cache=True)
def _proposed_weight(scenarios, routing, choice, weights, link, stream):  # type: ignore[no-untyped-def]
    """Another weight for a link; the same where none came up."""
    old, low, high = weights[link], choice.lowest[link], choice.highest[link]
    if old != choice.before[link] and next_float(stream) < BACK:
        return choice.before[link]
    new = old
    if choice.wide and next_float(stream) < TELLING:
        new = _telling_weight(scenarios, routing, weights, link, stream)
    elif choice.wide:
        size = choice.step * (1 + next_below(stream, 4))
        if next_float(stream) < NEAR:
            size = 1
        new = old + size * (2 * next_below(stream, 2) - 1)
    elif next_float(stream) < NEAR:
        new = old + 2 * next_below(stream, 2) - 1
    else:
        new = low + next_below(stream, high - low + 1)
    return min(max(new, low), high)


@njit(cache=True)
def _proposed_link(scenarios, choice, fullest, stream):  # type: ignore[no-untyped-def]
    """A link that may change, often near the fullest arc; -1 where none came up."""
    network = scenarios.network
    if next_float(stream) >= FULL:
        return choice.free[next_below(stream, choice.free.shape[0])]
    link = fullest >> 1
    if next_float(stream) >= SAME:
        end = network.edges[next_below(stream, 2), link]
        out = network.first[end + 1] - network.first[end]
        k = next_below(stream, out + network.back_first[end + 1] - network.back_first[end])
        if k < out:
            link = network.arcs[network.first[end] + k] >> 1
        else:
            link = network.back_arcs[network.back_first[end] + k - out] >> 1
    place = np.searchsorted(choice.free, link)
    return link if place < choice.free.shape[0] and choice.free[place] == link else -1


@njit(cache=True)
def _changed_link(weights, before, count, stream):  # type: ignore[no-untyped-def]
    """One of the `count` changed links."""
    left = next_below(stream, count)
    for e in range(weights.shape[0]):
        if weights[e] != before[e]:
            if left == 0:
                return e
            left -= 1
    return -1


@njit(cache=True, nogil=True)
def _anneal(prepared, best, moves, hottest, queue, stream, stop):  # type: ignore[no-untyped-def]
    """Leave in `best` the weights with the lowest joint utilisation met, from there on.

    Where the number of changes is at its limit, a change goes with one that is taken back.
    """
    scenarios, routing, choice = prepared
    inverse = 1.0 / scenarios.network.capacities
    weights = best.copy()
    route_all(scenarios, routing, weights, queue)
    energy = joint_energy(scenarios, routing.powers)
    least = joint(scenarios, routing.largest)
    changes = fewest = (weights != choice.before).sum()
    ranks = np.argsort(-routing.powers)
    links, news = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    for move in range(moves):
        if stop[0]:
            break
        s = ranks[0]
        if scenarios.mean:
            s = next_below(stream, ranks.shape[0])
        fullest = fullest_arc(routing.loads[s], inverse)
        link = _proposed_link(scenarios, choice, fullest, stream)
        if link < 0:
            continue
        new = _proposed_weight(scenarios, routing, choice, weights, link, stream)
        old, before = weights[link], choice.before[link]
        if new == old:
            continue
        count = 0
        if old == before and changes == choice.most:
            links[0] = _changed_link(weights, choice.before, changes, stream)
            news[0] = choice.before[links[0]]
            count = 1
        links[count], news[count] = link, new
        count += 1
        heat = hottest * (COLDEST / hottest) ** (move / moves)
        most = energy * (1.0 - heat * np.log(max(next_float(stream), 1e-300)))
        reached = _trial_energy(
            scenarios, routing, weights, links[:count], news[:count], most, ranks
        )
        if reached > most:
            continue
        for s in range(ranks.shape[0]):
            change(scenarios, routing, s, weights, links[:count], news[:count], True)
        for i in range(count):
            e = links[i]
            changes += (news[i] != choice.before[e]) - (weights[e] != choice.before[e])
            weights[e] = news[i]
        energy = joint_energy(scenarios, routing.powers)
        ranks = np.argsort(-routing.powers)
        value = joint(scenarios, routing.largest)
        lower = value < least * (1.0 - _LEVEL)
        if lower or (changes < fewest and value <= least * (1.0 + _LEVEL)):
            least = min(value, least)
            fewest = changes
            copy_values(best, weights)
