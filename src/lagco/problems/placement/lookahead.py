"""Looking ahead in `placement`, compiled: surveys of all moves, chains of moves, and candidates.

A move rarely pays alone: a PM is worth leaving once all its VMs have left, a PM worth going to once
the VM's peers, or enough VMs of any kind, come too. A chain begins with a move and goes on greedily
in one of these three ways; its value is the gain in J over a power of the number of moves, at its
best end.
Gains are in units of 1 / V, so that they do not shrink with the number of VMs.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.placement.state import (
    fits,
    move_vm,
    terms_after,
    terms_arrived,
    terms_of,
    totals_left,
)
from lagco.problems.placement.terms import mean_of_terms

#: ways to go on: empty the PM that was left; gather the peers, or any VMs, on the one reached
EMPTYING, GATHERING, FILLING = range(3)
WAYS = 3
#: moves of a chain, VMs of a PM that may follow next, and VMs that may fill one, at most
DEPTH, FOLLOWERS, FILLERS = 16, 6, 256
#: features of a candidate
EACH = 48
#: the value of a chain is its gain over so high a power of its moves
_HASTE = 0.6
#: pairs of VM and PM that are surveyed in every step, at most
SURVEYED = 1 << 16
_NOTHING = 1e-12
_LOWEST = -1e30


@njit(cache=True)
def survey_moves(  # type: ignore[no-untyped-def]
    cloud, state, latencies, bounds, parts, recent, values, prospects, mean, best
):
    """Write to `values` (V, P) what each move promises at first sight; the lowest where invalid.

    That is V x its gain, more for VMs of a PM with few of them, since this may be empty soon.
    VMs that moved recently stay, unless that leads beyond the best state so far.

    Write to `prospects` (V + P,) the best value of a move of each VM and to each PM, asinh.

    parts: from `all_parts`.
    """
    vms, pms = values.shape
    terms = np.empty(5)
    highest = np.full(pms, _LOWEST)
    span = bounds[2, 1] - bounds[2, 0]
    alone = 0.04 * vms / span if span > 0.0 else 0.0
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
        prospects[node] = math.asinh(max(prospects[node], -10.0))


@njit(cache=True)
def _follow(  # type: ignore[no-untyped-def]
    v, p, way, cloud, state, rows, place, bounds, targets, fillers, most, moved, hosts
):
    """Value, gain and length of the chain that begins with a move; the state stays as it is.

    rows, place: latencies from PM q are ``rows[place[q]]``, where ``place[q]`` is not negative.
    targets: PMs that VMs may go to when a PM is emptied. fillers: VMs that may fill one.
    most: moves.
    moved, hosts: room for the moves.
    """
    terms = np.empty(5)
    terms_of(state.totals, cloud.tenant_share, terms)
    mean = mean_of_terms(terms, bounds)
    source = state.allocation[v]
    value, gain, length = -np.inf, 0.0, 0
    span = bounds[2, 1] - bounds[2, 0]
    alone = 0.1 / span if span > 0.0 else 0.0
    count = 0
    next_vm, next_pm = v, p
    while True:
        host = state.allocation[next_vm]
        moved[count], hosts[count] = next_vm, host
        move_vm(next_vm, next_pm, cloud, state, rows[place[host]], rows[place[next_pm]])
        count += 1
        terms_of(state.totals, cloud.tenant_share, terms)
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
def follow_moves(actions, cloud, state, rows, place, bounds, recent, left, chains):  # type: ignore[no-untyped-def]
    """Write value, gain and length of the chains of each move (k, 2) to chains (k, WAYS, 3)."""
    moved = np.empty(DEPTH, np.int64)
    hosts = np.empty(DEPTH, np.int64)
    targets = np.unique(actions[:, 1])
    fillers = _fillers(actions, recent)
    head, after, before = state.head.copy(), state.after.copy(), state.before.copy()
    used, parts = state.used.copy(), state.parts.copy()
    cost, totals = state.cost.copy(), state.totals.copy()
    most = max(1, min(DEPTH, left))
    for i in range(actions.shape[0]):
        for way in range(WAYS):
            found = _follow(
                actions[i, 0], actions[i, 1], way, cloud, state, rows, place, bounds, targets,
                fillers, most, moved, hosts,
            )  # fmt: skip
            chains[i, way, 0], chains[i, way, 1], chains[i, way, 2] = found
    # the order of the VMs on their PMs, and no trace of rounding
    state.head[:], state.after[:], state.before[:] = head, after, before
    state.used[:], state.parts[:], state.cost[:], state.totals[:] = used, parts, cost, totals


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
def _rank(values, out):  # type: ignore[no-untyped-def]
    """Write the ranks of values (k,) to `out`, 0 for the largest, as shares."""
    order = np.argsort(-values, kind="mergesort")
    for i in range(values.shape[0]):
        out[order[i]] = i / values.shape[0]


@njit(cache=True)
def describe_moves(  # type: ignore[no-untyped-def]
    actions,
    cloud,
    state,
    rows,
    place,
    bounds,
    worth,
    chains,
    means,
    ages,
    left,
    previous,
    plan,
    each,
):
    """Write features of moves (k, 2) to each (k, EACH).

    worth: V x what a unit of each term is worth in J. means: J now, at best, and as planned. ages:
    steps since each VM of a move moved. left: moves left in the episode, and their share.
    previous: (V,) PMs that the VMs left last, -1 where they did not move. plan: (V,) their planned
    hosts, -1 without a plan.
    """
    count, vms = actions.shape[0], cloud.demands.shape[0]
    pms = cloud.capacities.shape[0]
    terms, now = np.empty(5), np.empty(5)
    terms_of(state.totals, cloud.tenant_share, now)
    mean, best, promised = means
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
        f[0] = math.asinh((reached - mean) * vms)
        f[1] = 1.0 if reached > best + _NOTHING else 0.0
        highest = _LOWEST
        for way in range(WAYS):
            at = 26 + 4 * way
            f[at] = math.asinh(chains[i, way, 0] * vms)
            f[at + 1] = math.asinh(chains[i, way, 1] * vms)
            f[at + 2] = math.log(chains[i, way, 2])
            highest = max(highest, chains[i, way, 0])
        values[i] = highest
        f[38] = math.asinh(highest * vms)
        for k in range(5):
            sign = 1.0 if k == 0 else -1.0
            f[2 + k] = math.asinh(sign * (terms[k] - now[k]) * worth[k])
        f[7] = min(1.0, ages[i] / vms)
        f[8] = 1.0 if previous[v] < 0 else 0.0
        f[9] = 1.0 if previous[v] == p else 0.0
        f[10] = 1.0 if ages[i] == 0 else 0.0
        f[11] = left[1]
        f[12] = math.asinh((best - mean) * vms)
        f[13] = math.log1p(state.vm_count[source])
        f[14] = math.log1p(state.vm_count[p])
        f[15] = 1.0 if state.vm_count[p] == 0 else 0.0
        f[16] = cloud.escape[p] / escape if escape > 0.0 else 0.0
        f[17] = cloud.escape[source] / escape if escape > 0.0 else 0.0
        f[18] = rows[place[p]].mean() / centre if centre > 0.0 else 0.0
        to_room, from_room, spare = 0.0, 0.0, 1.0
        for r in range(4):
            if largest[r] > 0.0:
                to_room += cloud.capacities[p, r] / largest[r] / 4.0
                from_room += cloud.capacities[source, r] / largest[r] / 4.0
            if cloud.capacities[p, r] > 0.0:
                taken = (state.used[p, r] + cloud.demands[v, r]) / cloud.capacities[p, r]
                spare = min(spare, 1.0 - taken)
        f[19], f[20], f[21] = to_room, from_room, spare
        same = 0
        w = state.head[p]
        while w >= 0:
            same += cloud.tenants[w] == cloud.tenants[v]
            w = state.after[w]
        f[22] = same / max(1, state.vm_count[p])
        same = -1
        w = state.head[source]
        while w >= 0:
            same += cloud.tenants[w] == cloud.tenants[v]
            w = state.after[w]
        f[23] = same / max(1, state.vm_count[source] - 1)
        f[24] = now[2] / min(vms, pms)
        f[25] = min(1.0, left[0] / max(1.0, now[2]) / 10.0)
        f[42] = state.parts[p, 0]
        f[43] = state.parts[source, 0]
        f[40] = 1.0 if reached > mean + _NOTHING else 0.0
        f[44] = 1.0 if plan[v] == p and promised > best + _NOTHING else 0.0
        f[45] = 1.0 if plan[v] == source else 0.0
        f[46] = math.asinh((promised - mean) * vms)
        f[47] = min(1.0, ahead / max(1.0, left[0]))
    for way in range(WAYS):
        _rank(chains[:, way, 0], each[:, 29 + 4 * way])
    _rank(values, each[:, 39])
    for i in range(count):
        each[i, 41] = better / count
