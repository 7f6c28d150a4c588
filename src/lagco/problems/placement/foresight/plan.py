"""A plan for an episode of `placement`: an allocation that a short annealing finds from its start.

Moves together gain more than each alone, and neither single moves nor chains show which belong
together. The plan is computed once per episode, with a hundredth to a twelfth of the solver's moves
on the paper's sizes; the agent may follow, leave, or continue from it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.heuristics.known_plans import KnownPlans
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.references.solver import HEAT, anneal
from lagco.problems.placement.references.within_limits import Rules, anneal_within
from lagco.problems.placement.state import empty_state, fits, terms_after
from lagco.problems.placement.terms import COUNT, Objective, mean_of_terms
from lagco.problems.random_stream import random_stream
from lagco.runtime.stopping import stop_flag

#: moves of the annealing per pair of VM and PM, at least, and at most
PER_PAIR, LEAST, MOST = 100, 30_000, 1_000_000
#: temperature at which it begins, in units of 1 / V
_HOT = 1.5
#: plans that a start has, of which every episode draws one: training comes back to the same starts
PLANS = 16
#: moves of the plans that a ranker's aim is the best of, and how many these are at most
AIMED, TRIED = 250_000, 6
_known = KnownPlans()


def episode_plan(
    checksum: str, objective: Objective, rules: Rules | None, hosts: Array, number: int
) -> tuple[Array, float]:
    """Plan `number` of a start of the instance with that checksum, computed once; and its J."""
    key = (checksum, objective.bounds.tobytes(), hosts.tobytes(), number)
    return _known.get(key, lambda: plan_allocation(objective, rules, hosts, number))


def episode_aim(
    checksum: str, objective: Objective, rules: Rules | None, hosts: Array, number: int
) -> tuple[Array, float]:
    """The best of plan `number` and, in small clouds, of some others of the start; and its J."""
    tried = min(max(AIMED // _moves(objective.cloud), 1), TRIED)
    numbers = [(number + i * PLANS // tried) % PLANS for i in range(tried)]
    plans = [episode_plan(checksum, objective, rules, hosts, n) for n in numbers]
    return max(plans, key=lambda plan: plan[1])


def _moves(cloud: Cloud) -> int:
    """Moves of the annealing that finds a plan."""
    return min(max(PER_PAIR * cloud.num_vms * cloud.num_pms, LEAST), MOST)


def plan_allocation(
    objective: Objective, rules: Rules | None, hosts: Array, seed: int
) -> tuple[Array, float]:
    """Hosts (V,) that annealing finds from those given, and their J."""
    cloud = objective.cloud
    vms, moves = cloud.num_vms, _moves(cloud)
    best = np.array(hosts, dtype=np.int64)
    state, stream, stop = empty_state(cloud), random_stream(seed), stop_flag()
    found = (moves, state, best, stream, stop)
    if rules is None:
        mean = anneal(objective, 1, _HOT / vms, *found)
    else:
        mean = anneal_within(objective, rules, HEAT, *found)
    return best, float(mean)


@njit(cache=True)
def write_planned(plan, objective, state, planned):  # type: ignore[no-untyped-def]
    """Flag in planned (V + P,) the PM that the best planned move leads to, and the VMs to go there.

    plan (V,): host of every VM. All pairs of flagged VM and PM are valid moves.
    """
    cloud, latencies, bounds = objective
    vms = plan.shape[0]
    planned[:] = 0
    terms = np.empty(COUNT)
    best, focus = -np.inf, -1
    for v in range(vms):
        source, p = state.allocation[v], plan[v]
        if p == source or not fits(v, p, cloud, state):
            continue
        terms_after(v, p, cloud, state, latencies[source], latencies[p], terms)
        reached = mean_of_terms(terms, bounds)
        if reached > best:
            best, focus = reached, p
    if focus < 0:
        return
    planned[vms + focus] = 1
    for v in range(vms):
        if plan[v] == focus and state.allocation[v] != focus and fits(v, focus, cloud, state):
            planned[v] = 1
