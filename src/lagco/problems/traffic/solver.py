"""Strong paths: simulated annealing over single demands, and the flow bound to compare with.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SolverReference
from lagco.problems.networks.bound import annealed, flow_bound, path_bound
from lagco.problems.networks.kernels import largest_utilisation, sixteenth_power
from lagco.problems.networks.network import Network, network_of
from lagco.problems.networks.search import copy_values
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.problems.traffic.routing import checked_paths, limits_of, utilisation_of
from lagco.problems.traffic.sweeps import Options, load_choice, path_options

MOVES = 2_000_000
RESTARTS = 8
HOTTEST, COLDEST = 0.3, 0.001
_LISTED = 100_000  # paths up to which the tighter bound over them is computed


def lower_bound(instance: Instance) -> float:
    """What no paths can go below: the multi-commodity-flow bound.

    Over the admissible paths where they are few enough to list, else over all ways.
    """
    network = network_of(instance)
    return _bound(network, path_options(network, limits_of(instance, network)))


def _bound(network: Network, options: Options) -> float:
    if options.complete and len(options.rows) <= _LISTED:
        return path_bound(network, options.rows)
    return flow_bound(network)


def solve_paths(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best paths found: best-known, or optimal where they meet the flow bound.

    `effort` multiplies the moves.
    """
    network = network_of(instance)
    limits = limits_of(instance, network)
    options = path_options(network, limits)
    best = _anneal(
        options.first,
        options.arcs,
        network.volumes,
        network.capacities,
        int(effort * MOVES) // RESTARTS,
        random_stream(seed),
    )
    paths, arcs = checked_paths(options.rows[best, 1:], instance, network, limits)
    value = utilisation_of(network, arcs)
    return annealed(value, _bound(network, options), paths)


@njit(cache=True)
def _anneal(first, arcs, volumes, capacities, moves, stream):  # type: ignore[no-untyped-def]
    """Options with the lowest utilisation met in `RESTARTS` runs of `moves` moves.

    The energy is the sum of the 16th powers of all utilisations: close to the largest alone, and
    moved by the next ones too.
    """
    demands = volumes.shape[0]
    loads = np.empty(2 * capacities.shape[0])
    choice = first[:-1].copy()
    best = choice.copy()
    load_choice(best, arcs, volumes, loads)
    least = largest_utilisation(loads, capacities)
    for run in range(RESTARTS):
        for d in range(demands):
            if run % 2 == 0:
                choice[d] = first[d] + next_below(stream, first[d + 1] - first[d])
            else:
                choice[d] = best[d]
        load_choice(choice, arcs, volumes, loads)
        energy = 0.0
        for arc in range(loads.shape[0]):
            energy += sixteenth_power(loads[arc], capacities[arc >> 1])
        for move in range(moves):
            d = next_below(stream, demands)
            count = first[d + 1] - first[d]
            if count == 1:
                continue
            new = first[d] + next_below(stream, count - 1)
            old = choice[d]
            if new >= old:
                new += 1
            change = 0.0
            for i in range(arcs.shape[1]):
                arc = arcs[old, i]
                if arc < 0:
                    break
                change -= sixteenth_power(loads[arc], capacities[arc >> 1])
                loads[arc] -= volumes[d]
                change += sixteenth_power(loads[arc], capacities[arc >> 1])
            for i in range(arcs.shape[1]):
                arc = arcs[new, i]
                if arc < 0:
                    break
                change -= sixteenth_power(loads[arc], capacities[arc >> 1])
                loads[arc] += volumes[d]
                change += sixteenth_power(loads[arc], capacities[arc >> 1])
            heat = 16.0 * HOTTEST * (COLDEST / HOTTEST) ** (move / moves)
            if change <= 0.0 or next_float(stream) < np.exp(-change / (heat * energy)):
                choice[d] = new
                energy += change
                if change < 0.0:
                    largest = largest_utilisation(loads, capacities)
                    if largest < least * (1.0 - 1e-12):
                        least = largest
                        copy_values(best, choice)
            else:
                for i in range(arcs.shape[1]):
                    if arcs[new, i] < 0:
                        break
                    loads[arcs[new, i]] -= volumes[d]
                for i in range(arcs.shape[1]):
                    if arcs[old, i] < 0:
                        break
                    loads[arcs[old, i]] += volumes[d]
            if move % 4096 == 0:  # rounding errors do not build up
                load_choice(choice, arcs, volumes, loads)
                energy = 0.0
                for arc in range(loads.shape[0]):
                    energy += sixteenth_power(loads[arc], capacities[arc >> 1])
    return best
