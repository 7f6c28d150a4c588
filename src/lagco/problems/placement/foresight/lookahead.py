"""Looking ahead in `placement`, compiled: surveys of all moves, chains of moves, and candidates.

A single move rarely gains: leaving a PM pays once all its VMs have left, going to one once the VM's
peers, or enough VMs of any kind, follow. A chain continues a move greedily in one of these three
ways; its value is the largest gain in J over a power of the number of moves, at any of its ends.
Gains are in units of 1 / V, so that they do not shrink with the number of VMs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.candidates import Columns
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.state import (
    State,
    fits,
    move_vm,
    terms_after,
    terms_arrived,
    terms_of,
    totals_left,
)
from lagco.problems.placement.terms import COUNT, TERMS, mean_of_terms

#: ways to go on: empty the PM that was left; gather the peers, or any VMs, on the one reached
EMPTYING, GATHERING, FILLING = range(3)
_NAMES = "emptying", "gathering", "filling"
WAYS = len(_NAMES)
#: moves of a chain, VMs of a PM that may follow next, and VMs that may fill one, at most
DEPTH, FOLLOWERS, FILLERS = 16, 6, 256
#: columns of a chain
_PER_WAY = 4
#: what a ranker sees of a move of a VM from a source PM to a target PM; gains are in J
EACH = Columns(
    gain="gain of the move",
    best="the move leads to the highest J so far",
    terms={f"{name}_gain": f"part of {name} in the gain" for name in TERMS},
    age="steps since the VM moved, over the number of VMs",
    never_moved="the VM did not move yet",
    returns="the VM would go back to the PM that it left last",
    moved_last="the VM moved in the last step",
    steps_left="share of the steps that is left",
    behind="difference of J to the highest so far",
    source_vms="VMs on the source, on a logarithmic scale",
    target_vms="VMs on the target, likewise",
    target_empty="the target is empty",
    target_escape="probability of an escape on the target, over the largest",
    source_escape="the same of the source",
    target_latency="mean latency from the target over that from the candidates' targets",
    target_capacity="capacity of the target over the largest, mean of the resources",
    source_capacity="the same of the source",
    spare="share of the scarcest resource of the target that is free after the move",
    target_tenants="share of the target's VMs that are of the VM's tenant",
    source_tenants="share of the source's other VMs that are of the VM's tenant",
    active="share of the PMs that have a VM",
    steps_per_active="steps left per active PM, over ten",
    chains={
        f"{way}_{column}": f"{meaning} of the chain that goes on by {way}"
        for way in _NAMES
        for column, meaning in {
            "value": "value",
            "gain": "gain",
            "length": "logarithm of the moves",
            "rank": "rank of the value among the candidates",
        }.items()
    },
    chain="value of the best chain",
    chain_rank="its rank among the candidates",
    improves="the move raises J",
    improving="share of the candidates that raise J",
    target_use="used fraction of the target",
    source_use="used fraction of the source",
    planned="the plan has the VM on the target, and is better than the best so far",
    at_plan="the plan has the VM where it is",
    promised="difference of the plan's J to J now",
    plan_distance="moves to the plan over the steps that are left",
)
#: moves per active PM that count as one in `steps_per_active`: enough to empty it
_MANY = 10.0
#: what leaving a PM adds to the value of a move over the VMs left there, since the PM may be empty
#: soon, per VM of the cloud; and to a move that fills another PM. In units of one PM's packing
_SOON, _ALONE = 0.04, 0.1
#: prospects below this are all hopeless
_HOPELESS = -10.0
#: the value of a chain is its gain over so high a power of its moves
_HASTE = 0.6
#: pairs of VM and PM that are surveyed in every step, at most
SURVEYED = 1 << 16
_NOTHING = 1e-12
_LOWEST = -1e30


class Situation(NamedTuple):
    """An allocation, and what its moves are judged by.

    Attributes:
        cloud: VMs and PMs
        state: where every VM is; compiled code changes it and puts it back
        rows: latencies from PM q are ``rows[place[q]]``
        place: (P,) negative where they are not known
        bounds: (6, 3) of the terms, with their weights
    """

    cloud: Cloud
    state: State
    rows: Array
    place: Array
    bounds: Array


class Progress(NamedTuple):
    """How far an episode is.

    Attributes:
        mean: J now
        best: the highest so far
        ages: (k,) steps since the VMs of the candidate moves moved
        previous: (V,) PMs that the VMs left last, -1 where they did not move
    """

    mean: float
    best: float
    ages: Array
    previous: Array


@njit(cache=True)
def survey_moves(objective, state, parts, recent, values, prospects, mean, best):  # type: ignore[no-untyped-def]
    """Write to `values` (V, P) what each move promises at first sight; the lowest where invalid.

    That is V x its gain, more for VMs of a PM with few of them, since this may be empty soon.
    VMs that moved recently stay, unless that leads beyond the best state so far.

    Write to `prospects` (V + P,) the best value of a move of each VM and to each PM, asinh.

    parts: from `all_parts`.
    """
    cloud, latencies, bounds = objective
    vms, pms = values.shape
    terms = np.empty(COUNT)
    highest = np.full(pms, _LOWEST)
    span = bounds[2, 1] - bounds[2, 0]
    alone = bounds[2, 2] * _SOON * vms / span if span > 0.0 else 0.0
    for v in range(vms):
        source = state.allocation[v]
        soon = alone / state.vm_count[source] if state.vm_count[source] > 1 else 0.0
        left = totals_left(v, cloud, state, parts[v, source, 0], parts[v, source, 1])
        row_from = latencies[source]
        most = _LOWEST
        for p in range(pms):
            values[v, p] = _LOWEST
            if p == source or not fits(v, p, cloud, state):
                continue
            terms_arrived(
                v, p, cloud, state, row_from, latencies[p], left, parts[v, p, 0], parts[v, p, 1],
                terms,
            )  # fmt: skip
            reached = mean_of_terms(terms, bounds)
            if recent[v] and reached <= best + _NOTHING:
                continue
            value = vms * (reached - mean) + soon
            values[v, p] = value
            most = max(most, value)
            highest[p] = max(highest[p], value)
        prospects[v] = most
    for p in range(pms):
        prospects[vms + p] = highest[p]
    for node in range(vms + pms):
        prospects[node] = math.asinh(max(prospects[node], _HOPELESS))


@njit(cache=True)
def _follow(v, p, way, situation, targets, fillers, most, scratch):  # type: ignore[no-untyped-def]
    """Value, gain and length of the chain that begins with a move; the state stays as it is.

    targets: PMs that VMs may go to when a PM is emptied. fillers: VMs that may fill one.
    most: moves. scratch: room for the VMs moved and their hosts.
    """
    cloud, state, rows, place, bounds = situation
    moved, hosts = scratch
    terms = np.empty(COUNT)
    terms_of(state.totals, cloud, terms)
    mean = mean_of_terms(terms, bounds)
    source = state.allocation[v]
    value, gain, length = -np.inf, 0.0, 0
    span = bounds[2, 1] - bounds[2, 0]
    alone = bounds[2, 2] * _ALONE / span if span > 0.0 else 0.0
    count = 0
    next_vm, next_pm = v, p
    while True:
        host = state.allocation[next_vm]
        moved[count], hosts[count] = next_vm, host
        move_vm(next_vm, next_pm, cloud, state, rows[place[host]], rows[place[next_pm]])
        count += 1
        terms_of(state.totals, cloud, terms)
        now = mean_of_terms(terms, bounds) - mean
        worth = now / count**_HASTE if now > 0.0 else now
        if worth > value:
            value, gain, length = worth, now, count
        if count >= most:
            break
        best, next_vm = -np.inf, -1
        if way == EMPTYING:
            w = state.head[source]
            looked = 0
            while w >= 0 and looked < FOLLOWERS:
                looked += 1
                for q in targets:
                    if q == source or state.vm_count[q] == 0 or not fits(w, q, cloud, state):
                        continue
                    terms_after(w, q, cloud, state, rows[place[source]], rows[place[q]], terms)
                    reached = mean_of_terms(terms, bounds)
                    if reached > best:
                        best, next_vm, next_pm = reached, w, q
                w = state.after[w]
        else:
            first, last = cloud.first[v], cloud.first[v + 1]
            for k in range(last - first if way == GATHERING else fillers.shape[0]):
                w = cloud.peers[first + k] if way == GATHERING else fillers[k]
                host = state.allocation[w]
                if host == p or place[host] < 0 or not fits(w, p, cloud, state):
                    continue
                terms_after(w, p, cloud, state, rows[place[host]], rows[place[p]], terms)
                reached = mean_of_terms(terms, bounds)
                if way == FILLING and state.vm_count[host] > 1:
                    reached += alone / state.vm_count[host]
                if reached > best:
                    best, next_vm, next_pm = reached, w, p
        if next_vm < 0:
            break
    for i in range(count - 1, -1, -1):
        now_at = state.allocation[moved[i]]
        move_vm(moved[i], hosts[i], cloud, state, rows[place[now_at]], rows[place[hosts[i]]])
    return value, gain, length


@njit(cache=True)
def follow_moves(actions, situation, recent, left):  # type: ignore[no-untyped-def]
    """Value, gain and length of the chains of each move (k, 2), of `left` moves: (k, WAYS, 3)."""
    state, chains = situation.state, np.empty((actions.shape[0], WAYS, 3))
    scratch = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    targets = np.unique(actions[:, 1])
    fillers = _fillers(actions, recent)
    head, after, before = state.head.copy(), state.after.copy(), state.before.copy()
    used, parts = state.used.copy(), state.parts.copy()
    cost, totals = state.cost.copy(), state.totals.copy()
    most = max(1, min(DEPTH, left))
    for i in range(actions.shape[0]):
        for way in range(WAYS):
            v, p = actions[i, 0], actions[i, 1]
            found = _follow(v, p, way, situation, targets, fillers, most, scratch)
            chains[i, way, 0], chains[i, way, 1], chains[i, way, 2] = found
    # the order of the VMs on their PMs, and no trace of rounding
    state.head[:], state.after[:], state.before[:] = head, after, before
    state.used[:], state.parts[:], state.cost[:], state.totals[:] = used, parts, cost, totals
    return chains


@njit(cache=True)
def _fillers(actions, recent):  # type: ignore[no-untyped-def]
    """VMs that did not move recently: those of the moves, then others, up to `FILLERS`."""
    found = np.empty(FILLERS, np.int64)
    named = np.zeros(recent.shape[0], np.bool_)
    count = 0
    for i in range(actions.shape[0]):
        v = actions[i, 0]
        if not named[v] and not recent[v] and count < FILLERS:
            found[count] = v
            count += 1
            named[v] = True
    for v in range(recent.shape[0]):
        if count == FILLERS:
            break
        if not named[v] and not recent[v]:
            found[count] = v
            count += 1
    return found[:count]


@njit(cache=True)
def _ranks(values):  # type: ignore[no-untyped-def]
    """Ranks of values (k,), 0 for the largest, as shares."""
    order, ranks = np.argsort(-values, kind="mergesort"), np.empty(values.shape[0])
    for i in range(values.shape[0]):
        ranks[order[i]] = i / values.shape[0]
    return ranks


@njit(cache=True)
def describe_moves(actions, situation, worth, chains, progress, goal, each):  # type: ignore[no-untyped-def]
    """Write features of moves (k, 2) to the records `each` (k,).

    worth: V x what a unit of each term is worth in J. chains: from `follow_moves`. goal: its target
    (V,) has -1 without a plan.
    """
    cloud, state, rows, place, bounds = situation
    mean, best, ages, previous = progress
    plan, promised = goal.target, max(goal.promised, mean)
    count, vms = actions.shape[0], cloud.demands.shape[0]
    pms = cloud.capacities.shape[0]
    terms, now = np.empty(COUNT), np.empty(COUNT)
    terms_of(state.totals, cloud, now)
    ahead = 0
    for v in range(vms):
        ahead += plan[v] >= 0 and plan[v] != state.allocation[v]
    escape = cloud.escape.max()
    largest = np.empty(4)
    for r in range(4):
        largest[r] = cloud.capacities[:, r].max()
    centre = 0.0
    for i in range(count):
        centre += rows[place[actions[i, 1]]].mean()
    centre /= count
    better = 0
    values = np.empty(count)
    for i in range(count):
        v, p = actions[i, 0], actions[i, 1]
        source = state.allocation[v]
        terms_after(v, p, cloud, state, rows[place[source]], rows[place[p]], terms)
        reached = mean_of_terms(terms, bounds)
        better += reached > mean + _NOTHING
        f = each[i]
        f.gain = math.asinh((reached - mean) * vms)
        f.best = reached > best + _NOTHING
        highest = _LOWEST
        for way in range(WAYS):
            at = _PER_WAY * way
            f.chains[at] = math.asinh(chains[i, way, 0] * vms)
            f.chains[at + 1] = math.asinh(chains[i, way, 1] * vms)
            f.chains[at + 2] = math.log(chains[i, way, 2])
            highest = max(highest, chains[i, way, 0])
        values[i] = highest
        f.chain = math.asinh(highest * vms)
        for k in range(5):
            sign = 1.0 if k == 0 else -1.0
            f.terms[k] = math.asinh(sign * (terms[k] - now[k]) * worth[k])
        f.age = min(1.0, ages[i] / vms)
        f.never_moved = previous[v] < 0
        f.returns = previous[v] == p
        f.moved_last = ages[i] == 0
        f.steps_left = goal.share
        f.behind = math.asinh((best - mean) * vms)
        f.source_vms = math.log1p(state.vm_count[source])
        f.target_vms = math.log1p(state.vm_count[p])
        f.target_empty = state.vm_count[p] == 0
        f.target_escape = cloud.escape[p] / escape if escape > 0.0 else 0.0
        f.source_escape = cloud.escape[source] / escape if escape > 0.0 else 0.0
        f.target_latency = rows[place[p]].mean() / centre if centre > 0.0 else 0.0
        to_room, from_room, spare = 0.0, 0.0, 1.0
        for r in range(4):
            if largest[r] > 0.0:
                to_room += cloud.capacities[p, r] / largest[r] / 4.0
                from_room += cloud.capacities[source, r] / largest[r] / 4.0
            if cloud.capacities[p, r] > 0.0:
                taken = (state.used[p, r] + cloud.demands[v, r]) / cloud.capacities[p, r]
                spare = min(spare, 1.0 - taken)
        f.target_capacity, f.source_capacity, f.spare = to_room, from_room, spare
        f.target_tenants = _same_tenant(v, p, cloud, state) / max(1, state.vm_count[p])
        others = _same_tenant(v, source, cloud, state) - 1
        f.source_tenants = others / max(1, state.vm_count[source] - 1)
        f.active = now[2] / min(vms, pms)
        f.steps_per_active = min(1.0, goal.steps / max(1.0, now[2]) / _MANY)
        f.target_use = state.parts[p, 0]
        f.source_use = state.parts[source, 0]
        f.improves = reached > mean + _NOTHING
        f.planned = plan[v] == p and promised > best + _NOTHING
        f.at_plan = plan[v] == source
        f.promised = math.asinh((promised - mean) * vms)
        f.plan_distance = min(1.0, ahead / max(1.0, goal.steps))
    for way in range(WAYS):
        ranks = _ranks(chains[:, way, 0])
        for i in range(count):
            each[i].chains[_PER_WAY * way + 3] = ranks[i]
    ranks = _ranks(values)
    for i in range(count):
        each[i].chain_rank = ranks[i]
        each[i].improving = better / count


@njit(cache=True)
def _same_tenant(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """VMs on a PM that are of the tenant of VM v."""
    same, w = 0, state.head[p]
    while w >= 0:
        same += cloud.tenants[w] == cloud.tenants[v]
        w = state.after[w]
    return same
