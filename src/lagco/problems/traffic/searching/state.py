"""Loads of all scenarios under one choice of paths, compiled.

A demand whose path is gone in a scenario takes the fewest hops there, so what a path uses in a
scenario follows from the path alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.scenarios import has_scenarios, joins_by_mean, scenario_shares, variants
from lagco.instances import Instance
from lagco.problems.networks.kernels import largest_utilisation, sixteenth_power
from lagco.problems.networks.network import FAILED, Network
from lagco.problems.traffic.paths import all_arcs, hop_limits
from lagco.problems.traffic.routing import default_paths, longest_path, paths_network


class Scenarios(NamedTuple):
    """What differs between scenarios, and how they count.

    Attributes:
        capacities: (2 E,) of every arc
        volumes: (S, D), 0 where nothing is demanded or can be carried
        failed: (S, 2 E) bool, arcs that have failed
        instead: (S, D, any) arcs of the fewest hops, padded with -1; of a scenario in which nothing
            has failed none
        shares: (S,)
        mean: whether the mean over scenarios counts instead of the worst
    """

    capacities: Array
    volumes: Array
    failed: Array
    instead: Array
    shares: Array
    mean: bool


def intact(instance: Instance) -> Network:
    """The network with all links."""
    plain = {name: array for name, array in instance.arrays.items() if name != FAILED}
    return paths_network(replace(instance, arrays=plain))


@lru_cache(maxsize=2)
def scenarios_of(instance: Instance) -> Scenarios:
    """The scenarios of an instance; one where it is plain."""
    whole, cases = intact(instance), variants(instance)
    arcs = 2 * whole.num_links
    there = np.zeros((len(cases), arcs), dtype=np.bool_)
    volumes = np.empty((len(cases), whole.num_demands))
    mended: list[Array] = []
    for s, case in enumerate(cases):
        network = paths_network(case)
        there[s, network.arcs] = True
        volumes[s] = network.volumes
        mended.append(_fewest_hops(case, network))
    failed = np.zeros_like(there)
    failed[:, whole.arcs] = ~there[:, whole.arcs]
    width = max(part.shape[1] for part in mended)
    instead = np.full((len(cases), whole.num_demands, width), -1, dtype=np.int64)
    for s, part in enumerate(mended):
        instead[s, :, : part.shape[1]] = part
    spans = has_scenarios(instance)
    shares = scenario_shares(instance) if spans else np.ones(1)
    mean = spans and joins_by_mean(instance)
    return Scenarios(whole.capacities, volumes, failed, instead, shares, mean)


def _fewest_hops(case: Instance, network: Network) -> Array:
    """Arcs (D, T - 1) of the default paths of a variant, padded with -1."""
    limits = hop_limits(network, longest_path(case))
    limits = np.minimum(limits, network.num_nodes - 1)
    arcs = np.full((network.num_demands, int(limits.max())), -1, dtype=np.int64)
    if case.arrays.get(FAILED) is not None and case.arrays[FAILED].any():
        paths = default_paths(network, limits)
        all_arcs(paths, network, limits, arcs)
    return arcs


@njit(cache=True)
def _is_gone(scenarios, s, row):  # type: ignore[no-untyped-def]
    """Whether a path, as arcs padded with -1, uses what has failed."""
    for i in range(row.shape[0]):
        if row[i] < 0:
            return False
        if scenarios.failed[s, row[i]]:
            return True
    return False


@njit(cache=True)
def put(scenarios, s, demand, row, sign, loads):  # type: ignore[no-untyped-def]
    """Add a demand on a path to the loads of a scenario, or with the sign -1 take it away."""
    used = row
    if _is_gone(scenarios, s, row):
        used = scenarios.instead[s, demand]
    amount = sign * scenarios.volumes[s, demand]
    for i in range(used.shape[0]):
        if used[i] < 0:
            break
        loads[used[i]] += amount


@njit(cache=True)
def load_all(scenarios, used, loads):  # type: ignore[no-untyped-def]
    """Loads (S, 2 E) of all demands over the arcs they use, (D, T - 1) padded with -1."""
    for s in range(loads.shape[0]):
        for arc in range(loads.shape[1]):
            loads[s, arc] = 0.0
        for d in range(used.shape[0]):
            put(scenarios, s, d, used[d], 1.0, loads[s])


@njit(cache=True)
def power_of(loads, capacities):  # type: ignore[no-untyped-def]
    """Sum of the 16th powers of utilisations."""
    total = 0.0
    for arc in range(loads.shape[0]):
        total += sixteenth_power(loads[arc], capacities[arc])
    return total


@njit(cache=True)
def joint(scenarios, values):  # type: ignore[no-untyped-def]
    """The worst, or the mean, of the values (S,) of scenarios."""
    if scenarios.mean:
        return (scenarios.shares * values).sum()
    return values.max()


@njit(cache=True)
def joint_energy(scenarios, powers):  # type: ignore[no-untyped-def]
    """Close to the joint utilisation, and moved by the next fullest arcs too."""
    if scenarios.mean:
        return (scenarios.shares * powers**0.0625).sum()
    return powers.sum() ** 0.0625


@njit(cache=True)
def look(scenarios, used, loads, demands, rows, out):  # type: ignore[no-untyped-def]
    """Write joint energy and utilisation after each demand (k,) alone took other arcs (k, any).

    loads: (S, 2 E) now, left as they are. out: (2, k).
    """
    count = loads.shape[0]
    powers, values = np.empty(count), np.empty(count)
    total = np.empty(loads.shape[1])
    for i in range(demands.shape[0]):
        d = demands[i]
        for s in range(count):
            for arc in range(total.shape[0]):
                total[arc] = loads[s, arc]
            put(scenarios, s, d, used[d], -1.0, total)
            put(scenarios, s, d, rows[i], 1.0, total)
            powers[s] = power_of(total, scenarios.capacities)
            values[s] = largest_utilisation(total, scenarios.capacities)
        out[0, i], out[1, i] = joint_energy(scenarios, powers), joint(scenarios, values)


def scenario_utilisations(instance: Instance, used: Array) -> Array:
    """Largest utilisation in every scenario when demands use these arcs: (S,)."""
    scenarios = scenarios_of(instance)
    loads = np.empty(scenarios.failed.shape)
    load_all(scenarios, used, loads)
    found: Array = (loads / scenarios.capacities).max(axis=1)
    return found
