"""Strong weights: simulated annealing over single links, and the flow bound to compare with.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.bound import annealed, flow_bound
from lagco.problems.networks.kernels import largest_utilisation, smooth_utilisation
from lagco.problems.networks.network import network_of
from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.kernels import loads_by_destination
from lagco.problems.ospf.routing import (
    aggregate_loads,
    clear,
    is_affected,
    settle,
    steps_along,
)
from lagco.problems.ospf.weights import routed_network, scratch, utilisation_of, weight_bounds
from lagco.problems.random_stream import next_below, next_float, random_stream

MOVES = 120_000
RESTARTS = 6
HOTTEST, COLDEST = 0.1, 0.0005
WARM = 0.03  # where a run starts from good weights


def lower_bound(instance: Instance, seconds: float | None = None) -> float | None:
    """What no weights can go below: the multi-commodity-flow bound."""
    return flow_bound(network_of(instance), seconds)


def solve_weights(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best weights found: best-known, or optimal where they meet the flow bound.

    `effort` multiplies the moves.
    """
    network = network_of(instance)
    best = improve_weights(instance, None, seed, effort)
    value = utilisation_of(instance, network, best)
    return annealed(value, flow_bound(network), best)


def improve_weights(instance: Instance, weights: Array | None, seed: int, effort: float) -> Array:
    """The best weights met: in runs from random ones, or in a warm run from `weights`."""
    network = network_of(instance)
    low, high = weight_bounds(instance)
    best = np.full(network.num_links, low, dtype=np.int64)
    runs, hottest = RESTARTS, HOTTEST
    if weights is not None:
        best[:] = weights
        runs, hottest = 1, WARM
    _anneal(
        *routed_network(instance, network),
        low,
        high,
        runs,
        hottest,
        int(effort * MOVES) // runs,
        *scratch(network, high),
        best,
        random_stream(seed),
    )
    return best


@njit(cache=True)
def _add(target, source, sign):  # type: ignore[no-untyped-def]
    for i in range(target.shape[0]):
        target[i] += sign * source[i]


@njit(cache=True)
def _anneal(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, capacities, ecmp, demands, low, high, runs, hottest, moves,
    buckets, entries, best, stream,
):  # fmt: skip
    """Leave in `best` the weights with the lowest utilisation met in `runs` runs of `moves` moves.

    A single run starts from there; of several, every other one, and the first from random weights.
    """
    n, links = first.shape[0] - 1, capacities.shape[0]
    d_first = demands[0]
    distance = np.empty((n, n), dtype=np.int64)
    order = np.empty((n, n), dtype=np.int64)
    new_distance, new_order = distance.copy(), order.copy()
    parts = np.zeros((n, 2 * links))
    new_parts = np.zeros((n, 2 * links))
    loads, total, flow = np.zeros(2 * links), np.zeros(2 * links), np.zeros(n)
    changed = np.empty(n, dtype=np.int64)
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
                settle(t, first, heads, steps, buckets, entries, distance[t], order[t])
        loads_by_destination(first, heads, arcs, weights, ecmp, demands, distance, order, parts)
        clear(loads)
        for t in range(n):
            _add(loads, parts[t], 1.0)
        energy = smooth_utilisation(loads, capacities)
        if largest_utilisation(loads, capacities) < least:
            least = largest_utilisation(loads, capacities)
            copy_values(best, weights)
        for move in range(moves):
            heat = hottest * (COLDEST / hottest) ** (move / moves)
            link = next_below(stream, links)
            if high == low:
                break
            old = weights[link]
            weight = low + next_below(stream, high - low)
            weights[link] = weight + 1 if weight >= old else weight
            steps = steps_along(arcs, weights)
            copy_values(total, loads)
            count = 0
            for t in range(n):
                if d_first[t] == d_first[t + 1]:
                    continue
                if is_affected(distance[t], edges[0, link], edges[1, link], old, weights[link]):
                    settled = settle(
                        t, first, heads, steps, buckets, entries, new_distance[t], new_order[t]
                    )
                    clear(new_parts[t])
                    aggregate_loads(
                        t, first, heads, arcs, steps, ecmp, new_distance[t], new_order[t], settled,
                        demands, flow, new_parts[t],
                    )  # fmt: skip
                    _add(total, new_parts[t], 1.0)
                    _add(total, parts[t], -1.0)
                    changed[count] = t
                    count += 1
            reached = smooth_utilisation(total, capacities)
            if reached <= energy or next_float(stream) < np.exp(
                (energy - reached) / (heat * energy)
            ):
                energy = reached
                copy_values(loads, total)
                for i in range(count):
                    t = changed[i]
                    copy_values(distance[t], new_distance[t])
                    copy_values(order[t], new_order[t])
                    copy_values(parts[t], new_parts[t])
                largest = largest_utilisation(loads, capacities)
                if largest < least * (1.0 - 1e-12):
                    least = largest
                    copy_values(best, weights)
            else:
                weights[link] = old
