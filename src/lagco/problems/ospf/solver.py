"""Strong weights: simulated annealing over single links, and the flow bound to compare with.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.bound import annealed, flow_bound
from lagco.problems.networks.core import Core, core_of
from lagco.problems.networks.kernels import (
    eighth_power,
    fullest_arc,
    largest_utilisation,
    smooth_utilisation,
)
from lagco.problems.networks.network import network_of
from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.kernels import loads_by_destination
from lagco.problems.ospf.resettling import resettle
from lagco.problems.ospf.routing import clear, is_affected, settle, spread, steps_along
from lagco.problems.ospf.weights import routed_network, scratch, utilisation_of, weight_bounds
from lagco.problems.random_stream import next_below, next_float, random_stream

MOVES = 120_000
RESTARTS = 6
HOTTEST, COLDEST = 0.1, 0.0005
_SURE = 1.0 + 1e-9  # by so much more a sum is larger whatever its rounding
FULL = 0.5  # chance of a move at the fullest link, or at an end of it
SAME = 0.3  # chance that it is that link itself
NEAR = 0.5  # chance of a small change
WARM = 0.03  # where a run starts from good weights


def lower_bound(instance: Instance, seconds: float | None = None) -> float | None:
    """Lower bound for all weights: the multi-commodity-flow bound."""
    return flow_bound(network_of(instance), seconds)


def solve_weights(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best weights found: best-known, or optimal where they meet the flow bound.

    `effort` multiplies the moves.
    """
    network = network_of(instance)
    # not on the core alone, and not guided: references stay what they were in earlier
    # data sets
    whole = Core(network, np.arange(network.num_links), 0.0)
    best = _search(instance, whole, None, seed, RESTARTS, int(effort * MOVES) // RESTARTS, False)
    value = utilisation_of(instance, network, best)
    return annealed(value, flow_bound(network), best)


def improve_weights(instance: Instance, weights: Array | None, seed: int, effort: float) -> Array:
    """The best weights met in a run of annealing; from `weights`, where given, a warm one."""
    return _search(instance, _core(instance), weights, seed, 1, int(effort * MOVES), True)


def _search(
    instance: Instance,
    core: Core,
    weights: Array | None,
    seed: int,
    runs: int,
    moves: int,
    guided: bool,
) -> Array:
    """The best weights met in so many runs of so many moves, warm ones from `weights`."""
    low, high = weight_bounds(instance)
    best = np.full(instance.array("edges").shape[1], low, dtype=np.int64)
    hottest = HOTTEST
    if weights is not None:
        best[:] = weights
        hottest = WARM
    if core.network is not None:
        found = best[core.links]
        _anneal(
            *routed_network(instance, core.network),
            low,
            high,
            guided,
            runs,
            hottest,
            moves,
            *scratch(core.network, high),
            found,
            random_stream(seed),
        )
        best[core.links] = found
    return best


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
    for e in range(inverse.shape[0]):
        for arc in range(2 * e, 2 * e + 2):
            power = eighth_power(loads[arc] * inverse[e])
            total += power * power
    return total


@njit(cache=True)
def _anneal(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, capacities, ecmp, demands, low, high, guided, runs, hottest, moves,
    buckets, entries, best, stream,
):  # fmt: skip
    """Leave in `best` the weights with the lowest utilisation met in `runs` runs of `moves` moves.

    A single run starts from there; of several, every other one, and the first from random weights.
    If they are guided, every other move is at the fullest link or at an end of it, and every other
    one changes a weight by one only.
    """
    n, links = first.shape[0] - 1, capacities.shape[0]
    d_first = demands[0]
    distance = np.empty((n, n), dtype=np.int64)
    order = np.empty((n, n), dtype=np.int64)
    new_distance, new_order = distance.copy(), order.copy()
    parts = np.zeros((n, 2 * links))
    new_parts = np.zeros((n, 2 * links))
    loads, total, flow = np.zeros(2 * links), np.zeros(2 * links), np.zeros(n)
    changed, rerouted = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.bool_)
    resettled, reached_nodes = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
    moved, is_moved = np.empty(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    tight = np.empty(n + 1, dtype=np.int64)
    _, d_sources, d_volumes = demands
    busiest, places, inverse = _busiest(demands), _places(arcs), 1.0 / capacities
    weights = np.full(links, low, dtype=np.int64)
    least = np.inf
    for run in range(runs):
        for e in range(links):
            if runs > 1 and run % 2 == 0:
                weights[e] = low + next_below(stream, high - low + 1)
            else:
                weights[e] = low if runs > 1 and run == 1 else best[e]
        steps = steps_along(arcs, weights)
        for t in range(n):
            if d_first[t] < d_first[t + 1]:
                reached_nodes[t] = settle(
                    t, first, heads, steps, buckets, entries, distance[t], order[t]
                )
        loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
        clear(loads)
        for t in range(n):
            _add(loads, parts[t], 1.0)
        energy = smooth_utilisation(loads, capacities)
        fullest = fullest_arc(loads, inverse)
        if largest_utilisation(loads, capacities) < least:
            least = largest_utilisation(loads, capacities)
            copy_values(best, weights)
        for move in range(moves):
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
                    edges[0, link], edges[1, link], weights[link], old, first, heads, steps,
                    distance[t], order[t], reached_nodes[t], new_distance[t], new_order[t],
                    moved, is_moved,
                )  # fmt: skip
                clear(new_parts[t])
                for d in range(d_first[t], d_first[t + 1]):
                    flow[d_sources[d]] += d_volumes[d]
                spread(
                    reached_nodes[t] - 1, first, heads, arcs, steps, ecmp,
                    new_distance[t] if resettled[t] else distance[t],
                    new_order[t] if resettled[t] else order[t],
                    flow, tight, new_parts[t],
                )  # fmt: skip
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
