"""The paper's reference for `ospf`: stochastic search over weights, for the best and the worst."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import network_of
from lagco.problems.networks.search import begin_sweep, move, new_search, note, propose
from lagco.problems.ospf.routing import total_loads
from lagco.problems.ospf.weights import routed_network, utilisation_of, weight_bounds
from lagco.problems.random_stream import random_stream

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
    lowest = np.full(network.num_links, low, dtype=np.int64)
    search = new_search(lowest, np.full_like(lowest, high - low + 1), sweeps, ROUNDS, NEIGHBOURS)
    _sweep(
        search,
        *routed_network(instance, network),
        high,
        sweeps,
        random_stream(seed),
    )
    best, worst = search.records
    return SweepReference(
        best=utilisation_of(instance, network, best),
        worst=utilisation_of(instance, network, worst),
        best_solution=best,
        worst_solution=worst,
        sweeps=sweeps,
    )


@njit(cache=True)
def _sweep(  # type: ignore[no-untyped-def]
    search, first, heads, arcs, edges, capacities, ecmp, demands, high, sweeps, stream
):
    n = first.shape[0] - 1
    distance = np.empty((n + 1, n), dtype=np.int32)
    counts = np.empty(n * high + 2, dtype=np.int32)
    order = np.empty(n, dtype=np.int64)
    flow, loads = np.zeros(n), np.empty(2 * capacities.shape[0])
    for _ in range(sweeps):
        for aim in range(2):
            begin_sweep(search, aim, stream)
            for turn in range(ROUNDS + 1):
                found = 0
                for _ in range(1 if turn == 0 else NEIGHBOURS):
                    if propose(search, found, turn, stream):
                        total_loads(
                            first, heads, arcs, edges, search.options[found], ecmp, demands,
                            distance, counts, order, flow, loads,
                        )  # fmt: skip
                        note(search, aim, found, largest_utilisation(loads, capacities))
                        found += 1
                move(search, turn, found, stream)
