"""The paper's reference for `ospf`: stochastic search over weights, for the best and the worst."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import network_of
from lagco.problems.networks.search import (
    ELITE,
    admit,
    choose_neighbour,
    copy_values,
    is_new,
    pick_elite,
    seen_table,
)
from lagco.problems.ospf.routing import grouped_demands, total_loads
from lagco.problems.ospf.weights import utilisation_of, weight_bounds
from lagco.problems.random_stream import next_below, random_stream

ROUNDS = 2
NEIGHBOURS = 4


def sweep_weights(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Lowest and highest maximum utilisation over `sweeps` sweeps.

    A sweep starts, once for each of the two aims, from random weights or from a disturbed member
    of a small elite pool, and moves twice to one of 4 neighbours that differ in a few links,
    preferring those closer to the aim. Configurations met before are left out.
    """
    network = network_of(instance)
    low, high = weight_bounds(instance)
    best, worst = _sweep(
        network.first,
        network.heads,
        network.arcs,
        network.edges,
        network.capacities,
        bool(instance.params.get("ecmp", True)),
        grouped_demands(network),
        low,
        high,
        sweeps,
        random_stream(seed),
    )
    return SweepReference(
        best=utilisation_of(instance, network, best),
        worst=utilisation_of(instance, network, worst),
        best_solution=best,
        worst_solution=worst,
        sweeps=sweeps,
    )


@njit(cache=True)
def _disturb(weights, count, low, high, stream):  # type: ignore[no-untyped-def]
    """Give `count` random links another random weight."""
    for _ in range(count):
        link = next_below(stream, weights.shape[0])
        if high > low:
            weight = low + next_below(stream, high - low)
            weights[link] = weight + 1 if weight >= weights[link] else weight


@njit(cache=True)
def _sweep(  # type: ignore[no-untyped-def]
    first, heads, arcs, edges, capacities, ecmp, demands, low, high, sweeps, stream
):
    n, links = first.shape[0] - 1, capacities.shape[0]
    distance = np.empty((n + 1, n), dtype=np.int32)
    counts_of_distance = np.empty(n * high + 2, dtype=np.int32)
    order = np.empty(n, dtype=np.int64)
    flow, loads = np.zeros(n), np.empty(2 * links)
    seen = seen_table(sweeps * 2 * (1 + ROUNDS * NEIGHBOURS) + 1)
    pools = np.empty((2, ELITE, links), dtype=np.int64)
    pool_merits = np.empty((2, ELITE))
    counts = np.zeros(2, dtype=np.int64)
    weights = np.full(links, low, dtype=np.int64)
    options = np.empty((NEIGHBOURS, links), dtype=np.int64)
    merits = np.empty(NEIGHBOURS)
    records = np.empty((2, links), dtype=np.int64)
    record_merits = np.full(2, -np.inf)
    for _ in range(sweeps):
        for aim in range(2):
            sign = -1.0 if aim == 0 else 1.0
            chosen = pick_elite(stream, counts[aim])
            if chosen < 0:
                for e in range(links):
                    weights[e] = low + next_below(stream, high - low + 1)
            else:
                copy_values(weights, pools[aim, chosen])
                _disturb(weights, 1 + next_below(stream, 1 + links // 8), low, high, stream)
            present = 0.0
            for turn in range(ROUNDS + 1):
                found = 0
                for _ in range(1 if turn == 0 else NEIGHBOURS):
                    option = options[found]
                    copy_values(option, weights)
                    if turn > 0:
                        _disturb(option, 1 + next_below(stream, 3), low, high, stream)
                    if not is_new(seen, option):
                        continue
                    total_loads(
                        first, heads, arcs, edges, option, ecmp, demands, distance,
                        counts_of_distance, order, flow, loads,
                    )  # fmt: skip
                    reached = largest_utilisation(loads, capacities)
                    merits[found] = sign * reached
                    for other in range(2):
                        merit = -reached if other == 0 else reached
                        counts[other] = admit(
                            pools[other], pool_merits[other], counts[other], option, merit
                        )
                        if merit > record_merits[other]:
                            record_merits[other] = merit
                            copy_values(records[other], option)
                    found += 1
                if found == 0:
                    continue
                chosen = 0 if turn == 0 else choose_neighbour(stream, merits, found, present)
                copy_values(weights, options[chosen])
                present = merits[chosen]
    return records
