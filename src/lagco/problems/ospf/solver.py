"""Strong weights: simulated annealing over single links, and the flow bound to compare with.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.few import FEW
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.core.scenarios.variants import NAMES
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.bound import annealed, flow_bound
from lagco.problems.networks.core import Core, core_of
from lagco.problems.networks.kernels import (
    eighth_power,
    fullest_arc,
    largest_utilisation,
    smooth_utilisation,
)
from lagco.problems.networks.network import DIRECTED, FAILED, network_of
from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.kernels import loads_by_destination
from lagco.problems.ospf.routing.resettling import resettle
from lagco.problems.ospf.routing.shortest_paths import (
    clear,
    is_affected,
    settle,
    spread,
    star_of,
    steps_along,
)
from lagco.problems.ospf.routing.weights import (
    HIGHEST,
    LOWEST,
    is_wide,
    setting_of,
    utilisation_of,
    weight_bounds,
)
from lagco.problems.ospf.searching.annealing import Prepared, anneal, prepare
from lagco.problems.ospf.searching.singles import few_changes
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.runtime.stopping import stop_flag

MOVES = 120_000
RESTARTS = 6
HOTTEST, COLDEST = 0.1, 0.0005
_SURE = 1.0 + 1e-9  # by so much more a sum is larger whatever its rounding
FULL = 0.5  # chance of a move at the fullest link, or at an end of it
SAME = 0.3  # chance that it is that link itself
NEAR = 0.5  # chance of a small change
WARM = 0.03  # where a run starts from good weights


class Schedule(NamedTuple):
    """Runs of an annealing.

    Attributes:
        runs: how many
        moves: of each run
        hottest: temperature at which a run begins
        guided: whether every other move is at the fullest link or at an end of it, and every other
            one changes a weight by one only
    """

    runs: int
    moves: int
    hottest: float
    guided: bool


def lower_bound(instance: Instance, seconds: float | None = None) -> float | None:
    """Lower bound for all weights: the multi-commodity-flow bound."""
    return flow_bound(network_of(instance), seconds)


def solve_weights(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best weights found: best-known, or optimal where they meet the flow bound.

    `effort` multiplies the moves.
    """
    network = network_of(instance)
    if not is_plain(instance):
        moves, prepared = int(effort * MOVES) // RESTARTS, prepare(instance)
        runs = [anneal(prepared, None, seed + run, moves, HOTTEST) for run in range(RESTARTS)]
        values = [utilisation_of(instance, network, run) for run in runs]
        best = runs[int(np.argmin(values))]
        return annealed(min(values), flow_bound(network), best)
    # not on the core alone, and not guided: references stay what they were in earlier
    # data sets
    whole = Core(network, np.arange(network.num_links), 0.0)
    schedule = Schedule(RESTARTS, int(effort * MOVES) // RESTARTS, HOTTEST, False)
    best = _search(instance, whole, None, seed, schedule)
    value = utilisation_of(instance, network, best)
    return annealed(value, flow_bound(network), best)


def improve_weights(instance: Instance, weights: Array | None, seed: int, effort: float) -> Array:
    """The best weights met in a run of annealing; from `weights`, where given, a warm one.

    Within a budget of few changes half of the runs, by the seed, look at single changes instead.
    """
    hottest, moves = HOTTEST if weights is None else WARM, int(effort * MOVES)
    if not is_plain(instance):
        prepared = _prepared(instance)
        if seed // 2 % 2 and 0 < prepared.choice.most <= FEW:  # by turns with annealing
            return few_changes(prepared, weights, seed, moves)
        return anneal(prepared, weights, seed, moves, hottest)
    schedule = Schedule(1, moves, hottest, True)
    return _search(instance, _core(instance), weights, seed, schedule)


def _search(
    instance: Instance, core: Core, weights: Array | None, seed: int, schedule: Schedule
) -> Array:
    """The best weights met in annealing the core, from `weights` where given."""
    low, _ = weight_bounds(instance)
    best = np.full(instance.array("edges").shape[1], low, dtype=np.int64)
    if weights is not None:
        best[:] = weights
    if core.network is not None:
        found = best[core.links]
        setting = setting_of(instance, core.network)
        _anneal(setting, schedule, found, random_stream(seed), stop_flag())
        best[core.links] = found
    return best


def is_plain(instance: Instance) -> bool:
    """Whether nothing asks for the search within limits and over scenarios."""
    limited = any(name in instance.arrays for name in (FIXED, LOWEST, HIGHEST, FAILED, NAMES))
    wide = is_wide(instance) or instance.params.get("weight_step", 1) != 1
    directed = instance.params.get(DIRECTED, False)
    return not (limited or wide or directed or instance.params.get(MAX_CHANGES) is not None)


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> Prepared:
    """Scenarios and choice, kept while one instance is improved again and again."""
    return prepare(instance)


@lru_cache(maxsize=1)
def _core(instance: Instance) -> Core:
    """The core of the network, kept while one instance is improved again and again."""
    return core_of(network_of(instance))


@njit(cache=True)
def _add(target, source, sign):  # type: ignore[no-untyped-def]
    for i in range(target.shape[0]):
        target[i] += sign * source[i]


@njit(cache=True)
def _busiest(demands):  # type: ignore[no-untyped-def]
    """Destinations of any demand, the largest volume first."""
    first, _, volumes = demands
    n = first.shape[0] - 1
    sums = np.zeros(n)
    for t in range(n):
        for d in range(first[t], first[t + 1]):
            sums[t] += volumes[d]
    order = np.argsort(-sums, kind="mergesort")
    wanted = np.empty(n, dtype=np.int64)
    count = 0
    for t in order:
        if first[t] < first[t + 1]:
            wanted[count] = t
            count += 1
    return wanted[:count]


@njit(cache=True)
def _places(arcs):  # type: ignore[no-untyped-def]
    """Places of the two arcs of every link among all arcs: (E, 2)."""
    places = np.empty((arcs.shape[0] // 2, 2), dtype=np.int64)
    for k in range(arcs.shape[0]):
        places[arcs[k] >> 1, arcs[k] & 1] = k
    return places


@njit(cache=True)
def _set_steps(steps, places, link, weight):  # type: ignore[no-untyped-def]
    steps[places[link, 0]] = weight
    steps[places[link, 1]] = weight


@njit(cache=True, fastmath=True)
def _power_sum(loads, inverse):  # type: ignore[no-untyped-def]
    """The sum of the 16th powers of utilisations; inverse: 1 / capacities."""
    total = 0.0
    for arc in range(inverse.shape[0]):
        power = eighth_power(loads[arc] * inverse[arc])
        total += power * power
    return total


@njit(cache=True, nogil=True)
def _anneal(setting, schedule, best, stream, stop):  # type: ignore[no-untyped-def]
    """Leave in `best` the weights with the lowest utilisation met.

    A single run starts from there; of several, every other one, and the first from random weights.
    All ends early when stop (1,) is set.
    """
    network, demands, ecmp, low = setting.network, setting.demands, setting.ecmp, setting.low
    high, queue = setting.high, setting.queue
    runs, moves, hottest, guided = schedule
    star = first, heads, arcs = star_of(network)
    edges, capacities = network.edges, network.capacities
    n, links = network.num_nodes, edges.shape[1]
    distance = np.empty((n, n), dtype=np.int64)
    order = np.empty((n, n), dtype=np.int64)
    new_distance, new_order = distance.copy(), order.copy()
    parts = np.zeros((n, 2 * links))
    new_parts = np.zeros((n, 2 * links))
    loads, total, flow = np.zeros(2 * links), np.zeros(2 * links), np.zeros(n)
    changed, rerouted = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    resettled, reached_nodes = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
    moved = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    tight = np.empty(n + 1, dtype=np.int64)
    d_first, d_sources, d_volumes = demands
    busiest, places, inverse = _busiest(demands), _places(arcs), 1.0 / capacities
    weights = np.full(links, low, dtype=np.int64)
    least = np.inf
    for run in range(runs):
        if stop[0] and run > 0:
            break
        for e in range(links):
            if runs > 1 and run % 2 == 0:
                weights[e] = low + next_below(stream, high - low + 1)
            else:
                weights[e] = low if runs > 1 and run == 1 else best[e]
        steps = steps_along(arcs, weights)
        for t in range(n):
            if d_first[t] < d_first[t + 1]:
                reached_nodes[t] = settle(t, first, heads, steps, queue, distance[t], order[t])
        loads_by_destination(setting, weights, distance, order, parts)
        clear(loads)
        for t in range(n):
            _add(loads, parts[t], 1.0)
        energy = smooth_utilisation(loads, capacities)
        fullest = fullest_arc(loads, inverse)
        if largest_utilisation(loads, capacities) < least:
            least = largest_utilisation(loads, capacities)
            copy_values(best, weights)
        for move in range(moves):
            if stop[0]:
                break
            heat = hottest * (COLDEST / hottest) ** (move / moves)
            link = next_below(stream, links)
            if guided and next_float(stream) < FULL:
                link = fullest >> 1
                if next_float(stream) >= SAME:
                    end = edges[next_below(stream, 2), link]
                    link = arcs[first[end] + next_below(stream, first[end + 1] - first[end])] >> 1
            if high == low:
                break
            old = weights[link]
            if guided and next_float(stream) < NEAR:
                weight = old + 2 * next_below(stream, 2) - 1
                if weight < low or weight > high:
                    continue
                weights[link] = weight
            else:
                weight = low + next_below(stream, high - low)
                weights[link] = weight + 1 if weight >= old else weight
            _set_steps(steps, places, link, weights[link])
            count = 0
            copy_values(total, loads)
            for i in range(busiest.shape[0]):
                t = busiest[i]
                if is_affected(distance[t], edges[0, link], edges[1, link], old, weights[link]):
                    _add(total, parts[t], -1.0)
                    changed[count] = t
                    count += 1
            # from here on loads only grow: a move may be given up before all of it is known
            present = energy**16
            chance, most = -1.0, present
            rejected = False
            for i in range(count):
                t = changed[i]
                resettled[t] = resettle(
                    (edges[0, link], edges[1, link], weights[link], old, False),
                    (first, heads, steps, first, heads, steps), (distance[t], order[t]),
                    reached_nodes[t], (new_distance[t], new_order[t]), moved,
                )  # fmt: skip
                clear(new_parts[t])
                for d in range(d_first[t], d_first[t + 1]):
                    flow[d_sources[d]] += d_volumes[d]
                tree = distance[t], order[t]
                if resettled[t]:
                    tree = new_distance[t], new_order[t]
                spread(reached_nodes[t] - 1, star, steps, ecmp, tree, flow, tight, new_parts[t])
                _add(total, new_parts[t], 1.0)
                least_power = _power_sum(total, inverse)
                if least_power > most * _SURE and chance < 0.0:
                    chance = next_float(stream)
                    most = present * (1.0 - heat * np.log(chance)) ** 16
                if least_power > most * _SURE:
                    rejected = True
                    break
            if not rejected:
                copy_values(total, loads)
                for t in range(n):
                    rerouted[t] = False
                for i in range(count):
                    rerouted[changed[i]] = True
                for t in range(n):
                    if rerouted[t]:
                        _add(total, new_parts[t], 1.0)
                        _add(total, parts[t], -1.0)
                reached = smooth_utilisation(total, capacities)
                if reached > energy:
                    if chance < 0.0:
                        chance = next_float(stream)
                    rejected = chance >= np.exp((energy - reached) / (heat * energy))
            if rejected:
                weights[link] = old
                _set_steps(steps, places, link, old)
                continue
            energy = reached
            copy_values(loads, total)
            fullest = fullest_arc(loads, inverse)
            for i in range(count):
                t = changed[i]
                if resettled[t]:
                    copy_values(distance[t], new_distance[t])
                    copy_values(order[t], new_order[t])
                copy_values(parts[t], new_parts[t])
            largest = largest_utilisation(loads, capacities)
            if largest < least * (1.0 - 1e-12):
                least = largest
                copy_values(best, weights)
