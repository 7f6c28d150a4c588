"""A strong allocation: restarted simulated annealing over single moves.

The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance, SolverReference
from lagco.problems.networks.search import copy_values
from lagco.problems.placement.cloud import Cloud, cloud_of, links_of
from lagco.problems.placement.latency import MATRIX_LIMIT, Latencies
from lagco.problems.placement.references.first_fit import first_fit
from lagco.problems.placement.references.sweeps import finish, mean_of, sweep_allocations
from lagco.problems.placement.references.within_limits import Rules, anneal_within, rules_of
from lagco.problems.placement.state import (
    all_parts,
    empty_state,
    fits,
    move_vm,
    terms_arrived,
    terms_of,
    totals_left,
)
from lagco.problems.placement.terms import COUNT, Objective, bounds_of, mean_of_terms
from lagco.problems.random_stream import next_below, next_float, random_stream
from lagco.runtime.stopping import stop_flag

MOVES = 3_000_000
RESTARTS = 6
HOTTEST, COLDEST = 0.05, 0.0002
WARM = 0.005  # where a run starts from a good allocation
SWEEPS = 5_000
#: heat within limits, in usual changes of J: to begin with, and from a good allocation
HEAT, WARM_HEAT = 0.3, 0.1
#: moves between two looks at the heat, which it is never above: rounding apart
_STEADY, _ABOVE = 64, 1.0 + 1e-9
#: so many heats down no number is drawn that would do, but 0
_FAR = -40.0


def solve_allocation(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best allocation found (best-known); `effort` multiplies the moves.

    J has the bounds that evaluating a solution takes: the sweeps' where the instance has them.
    Where it has none, annealing starts from the best of sweeps that are made here.
    """
    cloud, latencies = cloud_of(instance), Latencies(links_of(instance))
    sweeps = instance.references.sweeps
    if sweeps is None or cloud.num_pms > MATRIX_LIMIT:  # which the sweeps refuse
        sweeps = sweep_allocations(instance, SWEEPS, seed)
    assert latencies.matrix is not None
    bounds = bounds_of(instance, cloud, latencies)
    objective, state = Objective(cloud, latencies.matrix, bounds), empty_state(cloud)
    best = np.array(sweeps.best_solution, dtype=np.int64)
    moves = int(effort * MOVES) // RESTARTS
    stream = random_stream(seed)
    anneal(objective, RESTARTS, HOTTEST, moves, state, best, stream, stop_flag())
    value = mean_of(instance, cloud, state, best, bounds)
    return SolverReference(value, "best-known", "annealing", best)


def improve_allocation(
    instance: Instance, allocation: Array | None, seed: int, effort: float
) -> Array:
    """The best allocation met in a run of annealing; from `allocation`, where given, a warm one.

    J has the bounds that evaluating a solution takes: the sweeps' where the instance has them.
    """
    objective, rules = prepared(instance)
    best = np.array(_begins(instance, objective.cloud, rules, allocation), dtype=np.int64)
    moves, state, stream = int(effort * MOVES), empty_state(objective.cloud), random_stream(seed)
    if rules is None:
        hottest = HOTTEST if allocation is None else WARM
        anneal(objective, 1, hottest, moves, state, best, stream, stop_flag())
        return best
    heat = HEAT if allocation is None else WARM_HEAT
    anneal_within(objective, rules, heat, moves, state, best, stream, stop_flag())
    return best


def _begins(instance: Instance, cloud: Cloud, rules: Rules | None, given: Array | None) -> Array:
    """Allocation to begin from: the one given, in force where limits count from it, the sweeps'
    best, or first fit.
    """
    if given is not None:
        return given
    if rules is None and instance.references.sweeps is not None:
        return np.asarray(instance.references.sweeps.best_solution)
    if "allocation" in instance.arrays:
        return instance.array("allocation")
    fitted = first_fit(cloud)
    if fitted is None:
        raise InstanceError(
            f"instance {instance.name!r}: first fit finds no room for every VM; give an "
            "allocation to improve"
        )
    return fitted


@lru_cache(maxsize=2)
def prepared(instance: Instance) -> tuple[Objective, Rules | None]:
    """Objective and limits, cached while one instance is improved again and again."""
    cloud, latencies = cloud_of(instance), Latencies.of(links_of(instance))
    matrix = latencies.matrix
    if matrix is None and not cloud.volumes.any():
        matrix = np.zeros((cloud.num_pms, cloud.num_pms))  # never read, so it takes no memory
    if matrix is None:
        raise InstanceError(
            f"instance {instance.name!r}: local search needs all latencies, which are kept up to "
            f"{MATRIX_LIMIT} PMs; it has {cloud.num_pms}. Use it without sweeps and solver"
        )
    bounds = bounds_of(instance, cloud, latencies)
    return Objective(cloud, matrix, bounds), rules_of(instance)


@njit(cache=True, nogil=True)
def anneal(objective, runs, hottest, moves, state, best, stream, stop):  # type: ignore[no-untyped-def]
    """Leave in `best` the highest J met in `runs` runs of `moves` moves, the first from there; J.

    Each run starts from the best allocation so far, hot enough to leave it behind. All ends early
    when stop (1,) is set.
    """
    cloud, latencies, bounds = objective
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    terms, parts = np.empty(COUNT), all_parts(cloud)
    record, warm = -np.inf, hottest
    for _ in range(runs):
        copy_values(state.allocation, best)
        finish(cloud, latencies, state)
        terms_of(state.totals, cloud, terms)
        present = mean_of_terms(terms, bounds)
        record = max(record, present)
        for move in range(moves):
            if stop[0]:
                return record
            if move % _STEADY == 0:
                warm = hottest * (COLDEST / hottest) ** (move / moves) * _ABOVE
            v, p = next_below(stream, vms), next_below(stream, pms)
            if next_below(stream, 2) == 0:  # where VMs are already: half of the time
                p = state.allocation[next_below(stream, vms)]
            source = state.allocation[v]
            if p == source or not fits(v, p, cloud, state):
                continue
            row_from, row_to = latencies[source], latencies[p]
            left = totals_left(v, cloud, state, parts[v, source, 0], parts[v, source, 1])
            terms_arrived(
                v, p, cloud, state, row_from, row_to, left, parts[v, p, 0], parts[v, p, 1], terms
            )
            reached = mean_of_terms(terms, bounds)
            if reached < present:
                drawn, fall = next_float(stream), reached - present
                # mostly too far, even at an earlier heat: its own takes longer to find
                if (fall < _FAR * warm and drawn > 0.0) or drawn >= np.exp(fall / warm):
                    continue
                if drawn >= np.exp(fall / (hottest * (COLDEST / hottest) ** (move / moves))):
                    continue
            move_vm(v, p, cloud, state, row_from, row_to)
            present = reached
            if present > record + 1e-12:
                record = present
                copy_values(best, state.allocation)
    return record
