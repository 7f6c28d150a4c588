"""The paper's reference for `ospf`: stochastic search over weights, for the best and the worst."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import network_of
from lagco.problems.networks.search import begin_sweep, move, new_search, note, propose
from lagco.problems.ospf.routing.shortest_paths import Scratch, total_loads
from lagco.problems.ospf.routing.weights import setting_of, utilisation_of
from lagco.problems.random_stream import random_stream
from lagco.runtime.stopping import stop_flag

ROUNDS = 2
NEIGHBOURS = 4
#: weights up to which distances are sorted by counting
MOST_COUNTED = 64


def sweep_weights(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Lowest and highest maximum utilisation over `sweeps` sweeps.

    A sweep starts, once for each of the two aims, from random weights or from a disturbed member
    of a small elite pool, and moves twice to one of 4 neighbours that differ in a few links,
    preferring those closer to the aim. Configurations met before are left out.
    """
    network = network_of(instance)
    setting = setting_of(instance, network)
    lowest = np.full(network.num_links, setting.low, dtype=np.int64)
    choices = np.full_like(lowest, setting.high - setting.low + 1)
    search = new_search(lowest, choices, sweeps, ROUNDS, NEIGHBOURS)
    _sweep(search, setting, sweeps, random_stream(seed), stop_flag())
    best, worst = search.records
    return SweepReference(
        best=utilisation_of(instance, network, best),
        worst=utilisation_of(instance, network, worst),
        best_solution=best,
        worst_solution=worst,
        sweeps=sweeps,
    )


@njit(cache=True, nogil=True)
def _sweep(search, setting, sweeps, stream, stop):  # type: ignore[no-untyped-def]
    n, capacities = setting.network.num_nodes, setting.network.capacities
    distance = np.empty((n + 1, n), dtype=np.int32)
    room = 1 if setting.high > MOST_COUNTED else n * setting.high + 2
    counts = np.empty(room, dtype=np.int32)
    scratch = Scratch(distance, counts, np.empty(n, dtype=np.int64), np.zeros(n))
    loads = np.empty(capacities.shape[0])
    for sweep in range(sweeps):
        if stop[0] and sweep > 0:
            break
        for aim in range(2):
            begin_sweep(search, aim, stream)
            for turn in range(ROUNDS + 1):
                found = 0
                for _ in range(1 if turn == 0 else NEIGHBOURS):
                    if propose(search, found, turn, stream):
                        total_loads(setting, search.options[found], scratch, loads)
                        note(search, aim, found, largest_utilisation(loads, capacities))
                        found += 1
                move(search, turn, found, stream)
