"""Strong paths: simulated annealing over single demands, and the flow bound to compare with.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.core.scenarios.variants import NAMES
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.bound import annealed, flow_bound, path_bound
from lagco.problems.networks.kernels import (
    fullest_arc,
    largest_utilisation,
    sixteenth_power,
)
from lagco.problems.networks.network import Network
from lagco.problems.networks.search import copy_values
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.problems.traffic.limits import FORBIDDEN
from lagco.problems.traffic.routing import checked_paths, limits_of, paths_network, utilisation_of
from lagco.problems.traffic.searching.annealing import search
from lagco.problems.traffic.searching.choices import Prepared, prepare
from lagco.problems.traffic.sweeps import Options, load_choice, path_options
from lagco.runtime.stopping import stop_flag

MOVES = 2_000_000
#: likewise within limits, where a move costs more
LIMITED_MOVES = 500_000
RESTARTS = 8
FEWEST = 100  # moves per demand below which a run has not settled: then there are fewer runs
HOTTEST, COLDEST = 0.3, 0.001
_COOLED = 10.0  # over the square of the number of demands: a run is that cold in the end, if colder
_REFERENCE_FEWEST = 400  # as FEWEST, in runs that references are made by
FULL = 0.5  # chance of a demand over the fullest link, where moves are guided
_LOOKS = 32  # moves after which that link is found again
_TRIED = 30  # demands that are looked at for one over it
_TINY = 1e-300  # is added to an energy by which is divided, which may be too small for a number
_LISTED = 100_000  # paths up to which the tighter bound over them is computed


def lower_bound(instance: Instance, seconds: float | None = None) -> float | None:
    """Lower bound for all paths: the multi-commodity-flow bound.

    Over the admissible paths where they are few enough to list, else over all ways.
    """
    network, _, options = _prepared(instance)
    return _bound(network, options, seconds)


def _bound(network: Network, options: Options, seconds: float | None = None) -> float | None:
    if _lists_all(options):
        found = path_bound(network, options.rows, seconds)
        return None if found is None else found[0]
    return flow_bound(network, seconds)


def _lists_all(options: Options) -> bool:
    return options.complete and len(options.rows) <= _LISTED


def relaxed_paths(instance: Instance, seconds: float | None) -> tuple[float, Array] | None:
    """The bound over the admissible paths, and the path that carries most of each demand there.

    None where they are too many to list, or the time is too short.
    """
    network, _, options = _prepared(instance)
    found = path_bound(network, options.rows, seconds) if _lists_all(options) else None
    if found is None:
        return None
    bound, shares = found
    most = np.maximum.reduceat(shares, options.first[:-1])
    demand = options.rows[:, 0]
    largest = np.flatnonzero(shares >= most[demand])
    _, once = np.unique(demand[largest], return_index=True)
    return bound, options.rows[largest[once], 1:]


def solve_paths(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best paths found: best-known, or optimal where they meet the flow bound.

    `effort` multiplies the moves.
    """
    network, limits, options = _prepared(instance)
    # neither guided nor as cold: references stay what they were in earlier data sets
    paths = _search(instance, None, seed, effort, guided=False)
    value = utilisation_of(network, checked_paths(paths, instance, network, limits)[1])
    return annealed(value, _bound(network, options), paths)


def improve_paths(instance: Instance, paths: Array | None, seed: int, effort: float) -> Array:
    """The best paths met: in runs from random ones, or in a warm run from `paths`.

    A run that is the only one begins with the shortest paths.
    """
    if is_restricted(instance):
        return search(_limited(instance), paths, seed, int(effort * LIMITED_MOVES))
    return _search(instance, paths, seed, effort, guided=True)


def is_restricted(instance: Instance) -> bool:
    """Whether something asks for the search within limits and over scenarios."""
    named = any(name in instance.arrays for name in (FIXED, FORBIDDEN, NAMES))
    return named or instance.params.get(MAX_CHANGES) is not None


@lru_cache(maxsize=1)
def _limited(instance: Instance) -> Prepared:
    """Scenarios and choice, kept while one instance is improved again and again."""
    return prepare(instance)


def _search(
    instance: Instance, paths: Array | None, seed: int, effort: float, *, guided: bool
) -> Array:
    network, limits, options = _prepared(instance)
    best = options.first[:-1].copy()
    moves = int(effort * MOVES)
    fewest = FEWEST if guided else _REFERENCE_FEWEST
    runs = min(RESTARTS, max(1, moves // (fewest * network.num_demands)))
    hottest, coldest, before = HOTTEST, COLDEST, np.inf
    if guided:  # the more demands, the less a single one changes
        coldest = min(COLDEST, _COOLED / network.num_demands**2)
    if paths is not None:
        rows, arcs = checked_paths(paths, instance, network, limits)
        before = utilisation_of(network, arcs)
        _choose(options.first, options.rows, rows, best)
        runs, hottest = 1, math.sqrt(coldest)
    _anneal(
        options.first,
        options.arcs,
        network.volumes,
        network.capacities,
        guided,
        runs,
        hottest,
        coldest,
        moves // runs,
        best,
        random_stream(seed),
        stop_flag(),
    )
    found, arcs = checked_paths(options.rows[best, 1:], instance, network, limits)
    if paths is not None and utilisation_of(network, arcs) > before:
        return paths
    return found


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> tuple[Network, Array, Options]:
    """Network, limits and paths, kept while one instance is improved again and again."""
    network = paths_network(instance)
    limits = limits_of(instance, network)
    return network, limits, path_options(network, limits)


@njit(cache=True)
def _choose(first, listed, paths, chosen):  # type: ignore[no-untyped-def]
    """Numbers of paths (D, T) among the listed (N, 1 + T); one that is not listed is left out."""
    for d in range(paths.shape[0]):
        for k in range(first[d], first[d + 1]):
            same = True
            for i in range(paths.shape[1]):
                if listed[k, i + 1] != paths[d, i]:
                    same = False
                    break
            if same:
                chosen[d] = k
                break


@njit(cache=True)
def _demand_over(arc, start, choice, arcs):  # type: ignore[no-untyped-def]
    """The first demand from `start` on whose path uses an arc; `start` if none is near."""
    for i in range(_TRIED):
        d = (start + i) % choice.shape[0]
        for k in range(arcs.shape[1]):
            used = arcs[choice[d], k]
            if used < 0:
                break
            if used == arc:
                return d
    return start


@njit(cache=True)
def _energy(loads, capacities):  # type: ignore[no-untyped-def]
    """Sum of the 16th powers of all utilisations; 0 where they are too small for that."""
    energy = 0.0
    for arc in range(loads.shape[0]):
        energy += sixteenth_power(loads[arc], capacities[arc])
    return energy


@njit(cache=True, nogil=True)
def _anneal(  # type: ignore[no-untyped-def]
    first, arcs, volumes, capacities, guided, runs, hottest, coldest, moves, best, stream,
    stop,
):  # fmt: skip
    """Leave in `best` the options with the lowest utilisation met in `runs` runs of `moves` moves.

    A single run starts from there; of several, every other one, and the first from random options.

    The energy is the sum of the 16th powers of all utilisations: close to the largest alone, and
    moved by the next ones too. If moves are guided, every other one is of a demand over the fullest
    link. All ends early when stop (1,) is set.
    """
    demands, inverse, fullest = volumes.shape[0], 1.0 / capacities, 0
    loads = np.empty(capacities.shape[0])
    choice = best.copy()
    load_choice(best, arcs, volumes, loads)
    least = largest_utilisation(loads, capacities)
    for run in range(runs):
        if stop[0]:
            break
        for d in range(demands):
            if runs > 1 and run % 2 == 0:
                choice[d] = first[d] + next_below(stream, first[d + 1] - first[d])
            else:
                choice[d] = best[d]
        load_choice(choice, arcs, volumes, loads)
        energy = _energy(loads, capacities)
        for move in range(moves):
            if stop[0]:
                break
            d = next_below(stream, demands)
            if guided:
                if move % _LOOKS == 0:
                    fullest = fullest_arc(loads, inverse)
                if next_float(stream) < FULL:
                    d = _demand_over(fullest, d, choice, arcs)
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
                change -= sixteenth_power(loads[arc], capacities[arc])
                loads[arc] -= volumes[d]
                change += sixteenth_power(loads[arc], capacities[arc])
            for i in range(arcs.shape[1]):
                arc = arcs[new, i]
                if arc < 0:
                    break
                change -= sixteenth_power(loads[arc], capacities[arc])
                loads[arc] += volumes[d]
                change += sixteenth_power(loads[arc], capacities[arc])
            heat = 16.0 * hottest * (coldest / hottest) ** (move / moves)
            if change <= 0.0 or next_float(stream) < np.exp(-change / (heat * energy + _TINY)):
                choice[d] = new
                energy += change
                if energy <= 0.0:  # it has fallen so far that rounding errors are all that is left
                    energy = _energy(loads, capacities)
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
                energy = _energy(loads, capacities)
