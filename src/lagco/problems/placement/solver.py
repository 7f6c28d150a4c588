"""A strong allocation: restarted simulated annealing over single moves.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.search import copy_values
from lagco.problems.placement.cloud import cloud_of, links_of
from lagco.problems.placement.latency import MATRIX_LIMIT, Latencies
from lagco.problems.placement.state import empty_state, fits, move_vm, terms_after, terms_of
from lagco.problems.placement.sweeps import finish, mean_of, sweep_allocations
from lagco.problems.placement.terms import TERMS, bounds_of, mean_of_terms
from lagco.problems.random_stream import next_below, next_float, random_stream

MOVES = 3_000_000
RESTARTS = 6
HOTTEST, COLDEST = 0.05, 0.0002
SWEEPS = 5_000


def solve_allocation(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best allocation found (best-known); `effort` multiplies the moves.

    J needs the bounds of the sweeps. Where the instance has none, they are made here, as
    generation would make them from the same seed with the paper's number of sweeps.
    """
    cloud, links = cloud_of(instance), links_of(instance)
    sweeps = instance.references.sweeps
    if sweeps is None or cloud.num_pms > MATRIX_LIMIT:  # which the sweeps refuse
        sweeps = sweep_allocations(instance, SWEEPS, seed)
        bounds: Array = np.array([sweeps.bounds[name] for name in TERMS])
    else:
        bounds = bounds_of(instance, cloud, Latencies(links))
    latencies = Latencies(links).matrix
    state = empty_state(cloud)
    best = np.array(sweeps.best_solution, dtype=np.int64)
    _anneal(
        cloud, latencies, bounds, int(effort * MOVES) // RESTARTS, state, best, random_stream(seed)
    )
    value = mean_of(instance, cloud, state, best, bounds)
    return SolverReference(value, "best-known", "annealing", best)


@njit(cache=True)
def _anneal(cloud, latencies, bounds, moves, state, best, stream):  # type: ignore[no-untyped-def]
    """Leave in `best` the highest J met in `RESTARTS` runs of `moves` moves, the first from there.

    Each run starts from the best allocation so far, hot enough to leave it behind.
    """
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    terms = np.empty(5)
    record = -np.inf
    for _ in range(RESTARTS):
        copy_values(state.allocation, best)
        finish(cloud, latencies, state)
        terms_of(state.totals, cloud.tenant_share, terms)
        present = mean_of_terms(terms, bounds)
        record = max(record, present)
        for move in range(moves):
            v, p = next_below(stream, vms), next_below(stream, pms)
            if next_below(stream, 2) == 0:  # where VMs are already: half of the time
                p = state.allocation[next_below(stream, vms)]
            source = state.allocation[v]
            if p == source or not fits(v, p, cloud, state):
                continue
            terms_after(v, p, cloud, state, latencies[source], latencies[p], terms)
            reached = mean_of_terms(terms, bounds)
            heat = HOTTEST * (COLDEST / HOTTEST) ** (move / moves)
            if reached >= present or next_float(stream) < np.exp((reached - present) / heat):
                move_vm(v, p, cloud, state, latencies[source], latencies[p])
                present = reached
                if present > record + 1e-12:
                    record = present
                    copy_values(best, state.allocation)
