"""The paper's reference for `traffic`: stochastic search over paths, for the best and the worst."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SweepReference
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import Network
from lagco.problems.networks.search import begin_sweep, move, new_search, note, propose
from lagco.problems.random_stream import random_stream
from lagco.problems.traffic.paths import list_paths
from lagco.problems.traffic.routing import checked_paths, limits_of, paths_network, utilisation_of
from lagco.runtime.stopping import stop_flag

ROUNDS = 4
NEIGHBOURS = 8
#: paths per demand that are tried; the shortest ones where there are more
MOST = 256


class Options(NamedTuple):
    """The paths of every demand: those of d are ``first[d]`` to ``first[d + 1]``.

    Attributes:
        first: (D + 1,)
        rows: (N, 1 + T) demand and path as node ids
        arcs: (N, T - 1) padded with -1
        complete: whether these are all admissible paths
    """

    first: Array
    rows: Array
    arcs: Array
    complete: bool


def path_options(network: Network, limits: Array) -> Options:
    """The paths that searches choose among."""
    n = network.num_nodes
    rows, first = list_paths(network, limits, most=MOST)
    tails, heads = rows[:, 1:-1], rows[:, 2:]
    slots = np.repeat(np.arange(n), np.diff(network.first)) * n + network.heads  # sorted
    there = heads < n
    arcs = np.full(tails.shape, -1, dtype=np.int64)
    arcs[there] = network.arcs[np.searchsorted(slots, tails[there] * n + heads[there])]
    return Options(first, rows, arcs, bool(np.diff(first).max() < MOST))


def sweep_paths(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Lowest and highest maximum utilisation over `sweeps` sweeps.

    A sweep starts, once for each of the two aims, from random paths or from a disturbed member of
    a small elite pool, and moves 4 times to one of 8 neighbours that differ in a few demands,
    preferring those closer to the aim. Configurations met before are left out.
    """
    network = paths_network(instance)
    limits = limits_of(instance, network)
    options = path_options(network, limits)
    first = options.first
    search = new_search(first[:-1], np.diff(first), sweeps, ROUNDS, NEIGHBOURS)
    stream, stop = random_stream(seed), stop_flag()
    _sweep(search, options.arcs, network.volumes, network.capacities, sweeps, stream, stop)
    found = []
    for choice in search.records:
        paths = options.rows[choice, 1:]
        _, arcs = checked_paths(paths, instance, network, limits)
        found.append((utilisation_of(network, arcs), paths))
    return SweepReference(
        best=found[0][0],
        worst=found[1][0],
        best_solution=found[0][1],
        worst_solution=found[1][1],
        sweeps=sweeps,
    )


@njit(cache=True)
def load_choice(choice, arcs, volumes, loads):  # type: ignore[no-untyped-def]
    """Loads when every demand takes the option chosen for it."""
    for arc in range(loads.shape[0]):
        loads[arc] = 0.0
    for d in range(choice.shape[0]):
        row = choice[d]
        for i in range(arcs.shape[1]):
            if arcs[row, i] < 0:
                break
            loads[arcs[row, i]] += volumes[d]


@njit(cache=True, nogil=True)
def _sweep(search, arcs, volumes, capacities, sweeps, stream, stop):  # type: ignore[no-untyped-def]
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
                        load_choice(search.options[found], arcs, volumes, loads)
                        note(search, aim, found, largest_utilisation(loads, capacities))
                        found += 1
                move(search, turn, found, stream)
