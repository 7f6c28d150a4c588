"""Annealing of allocations within limits, over moves of VMs and groups, and of VMs in their way.

For hosts to be emptied, pinned VMs, budgets of migrations and groups; the plain problem has the
annealing in `solver`. Every proposal is made and, where it is refused, taken back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.changes import FIXED, MAX_CHANGES
from lagco.instances import Instance
from lagco.problems.networks.search import copy_values
from lagco.problems.placement.cloud import APART, DRAINED, HEADROOM, TOGETHER
from lagco.problems.placement.references.sweeps import finish
from lagco.problems.placement.state import move_vm, terms_after, terms_of
from lagco.problems.placement.terms import COUNT, mean_of_terms
from lagco.problems.random_stream import next_below, next_float

#: worth of a fault in J, more than any move can gain; and of a change, less than any that matters
FAULT, CHANGE = 100.0, 1e-9
#: worth of a change, in usual changes of J, while a budget of them is spent
PRICE = 0.03
#: one proposal in so many moves others to make room, takes a change back, or repairs a fault
_EJECTS, _BACK, _REPAIR = 4, 8, 2
#: VMs that make room, at most
_CHAIN = 4
#: VMs that a proposal moves at most
_MOST = 64
#: how much colder annealing ends; changes of J by which its heat is set, and what is no change
_COOLED, _SAMPLE = 50.0, 64
_LEAST, _NOTHING = 1e-12, 1e-7


class Rules(NamedTuple):
    """Limits on the changes of an allocation.

    Attributes:
        before: (V,) hosts in force; -1 where nothing is in force
        fixed: bool (V,) VMs that stay
        most: VMs that may be elsewhere than before
    """

    before: Array
    fixed: Array
    most: int


def rules_of(instance: Instance) -> Rules | None:
    """The limits of an instance; None where nothing asks for this search."""
    arrays, most = instance.arrays, instance.params.get(MAX_CHANGES)
    named = (FIXED, DRAINED, HEADROOM, APART, TOGETHER)
    if most is None and not any(name in arrays for name in named):
        return None
    vms = instance.size
    before = np.array(arrays.get("allocation", np.full(vms, -1)), dtype=np.int64)
    fixed = np.array(arrays.get(FIXED, np.zeros(vms)), dtype=bool)
    return Rules(before, fixed, vms if most is None else int(most))


@njit(cache=True, nogil=True)
def anneal_within(objective, rules, hottest, moves, state, best, stream, stop):  # type: ignore[no-untyped-def]
    """Leave in `best` the best allocation met, fewest faults first; its J.

    It begins there, with `moves` proposals, as hot as the changes of J of the first moves, times
    `hottest`; ends early when stop (1,) is set.
    """
    cloud, latencies, bounds = objective
    vms = cloud.demands.shape[0]
    copy_values(state.allocation, best)
    finish(cloud, latencies, state)
    work = np.empty(_MOST, np.int64), np.empty(_MOST, np.int64), np.zeros(vms, np.bool_)
    changed, place, count = _changed(rules, state)
    suspects = _suspects(cloud, state)
    terms, lead = np.empty(COUNT), 0.0
    terms_of(state.totals, cloud, terms)
    present = mean_of_terms(terms, bounds)
    record, reached_mean = 0.0, present
    ratio, usual, seen = 1.0 / _COOLED, 0.0, 0
    price = PRICE if rules.most < vms else 0.0
    for move in range(moves):
        if stop[0]:
            break
        heat = max(_LEAST, hottest * usual) * ratio ** (move / moves)
        size = _propose(cloud, state, rules, suspects, changed, count, stream, work)
        if size == 0:
            continue
        size, more = _within_budget(cloud, state, rules, changed, count, stream, work, size)
        if size == 0:
            continue
        moved, targets, touched = work
        if not _would_hold(cloud, state, moved, targets, touched, size):
            continue
        faults, level = 0.0, present + max(CHANGE, price * usual) * more
        if suspects.shape[0] > 0:
            faults = _faults_at(cloud, state, moved, targets, touched, size)
        elif size == 1:  # by far the most, and most of them lead nowhere
            v, p = moved[0], targets[0]
            row_from, row_to = latencies[state.allocation[v]], latencies[p]
            terms_after(v, p, cloud, state, row_from, row_to, terms)
            gain = mean_of_terms(terms, bounds) - level
            change = abs(gain + level - present)
            if seen < _SAMPLE and change > _NOTHING:
                seen += 1
                usual += (change - usual) / seen
            if gain < 0.0 and next_float(stream) >= np.exp(gain / heat):
                continue
            level = -np.inf  # accepted
        _exchange_hosts(cloud, state, latencies, moved, targets, size)
        if suspects.shape[0] > 0:
            faults -= _faults_at(cloud, state, moved, targets, touched, size)
        terms_of(state.totals, cloud, terms)
        after = mean_of_terms(terms, bounds)
        gain = after - level + FAULT * faults
        if gain < 0.0 and next_float(stream) >= np.exp(gain / heat):
            _exchange_hosts(cloud, state, latencies, moved, targets, size)
            continue
        for i in range(size):
            count = _note_change(moved[i], rules, state, changed, place, count)
        lead += after - present - CHANGE * more + FAULT * faults
        present = after
        if lead > record + 1e-12:
            record, reached_mean = lead, present
            copy_values(best, state.allocation)
    return reached_mean


@njit(cache=True)
def _propose(cloud, state, rules, suspects, changed, count, stream, work):  # type: ignore[no-untyped-def]
    """Write VMs and their targets to `work`; how many, 0 for none."""
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    moved, targets, _ = work
    v, p = next_below(stream, vms), next_below(stream, pms)
    if next_below(stream, 2) == 0:  # where VMs are already: half of the time
        p = state.allocation[next_below(stream, vms)]
    if suspects.shape[0] > 0 and next_below(stream, _REPAIR) == 0:
        v = suspects[next_below(stream, suspects.shape[0])]
    elif count > 0 and next_below(stream, _BACK) == 0:
        v = changed[next_below(stream, count)]
        p = rules.before[v]
    source = state.allocation[v]
    if rules.fixed[v] and rules.before[v] != p:
        return 0
    moved[0], targets[0] = v, p
    if cloud.mate_first[v] < cloud.mate_first[v + 1]:
        size = _with_mates(cloud, state, rules, work)
    else:
        size = 1 if p != source else 0
    if size == 0 or next_below(stream, _EJECTS) > 0:
        return size
    return _with_ejected(cloud, state, rules, stream, work, size, source)


@njit(cache=True)
def _with_ejected(cloud, state, rules, stream, work, size, source):  # type: ignore[no-untyped-def]
    """The moves proposed and some more that make room for them: each of a VM on the last target,
    to the first source or anywhere.
    """
    moved, targets, _ = work
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    first = size
    while size < _MOST and size < first + _CHAIN:
        p = targets[size - 1]
        if state.vm_count[p] == 0:
            return size
        w = state.head[p]
        for _ in range(next_below(stream, state.vm_count[p])):
            w = state.after[w]
        q = source
        if next_below(stream, 2) == 0:
            q = next_below(stream, pms)
            if next_below(stream, 2) == 0:
                q = state.allocation[next_below(stream, vms)]
        for i in range(size):
            if moved[i] == w:
                return size
        if q == p or cloud.mate_first[w] < cloud.mate_first[w + 1]:
            return size
        if rules.fixed[w] and rules.before[w] != q:
            return size
        moved[size], targets[size] = w, q
        size += 1
        if next_below(stream, 2) == 0:
            return size
    return size


@njit(cache=True)
def _with_mates(cloud, state, rules, work):  # type: ignore[no-untyped-def]
    """The VM proposed with all VMs that are to be together with it; 0 where one of them stays."""
    moved, targets, _ = work
    v, p = moved[0], targets[0]
    first, last = cloud.mate_first[v], cloud.mate_first[v + 1]
    if last - first >= _MOST:
        return 0
    size = 1 if state.allocation[v] != p else 0
    for k in range(first, last):
        w = cloud.mates[k]
        if state.allocation[w] == p:
            continue
        if rules.fixed[w] and rules.before[w] != p:
            return 0
        moved[size], targets[size] = w, p
        size += 1
    return size


@njit(cache=True)
def _within_budget(cloud, state, rules, changed, count, stream, work, size):  # type: ignore[no-untyped-def]
    """Moves with as many changes taken back as the budget asks for, 0 if it cannot be; and by how
    many changes more that is.
    """
    moved, targets, touched = work
    more = 0
    for i in range(size):
        home = rules.before[moved[i]]
        more += (targets[i] != home) - (state.allocation[moved[i]] != home)
        touched[moved[i]] = True
    wanted = size
    tries = 0
    while more > 0 and count + more > rules.most and tries < 8 and wanted < _MOST and count > 0:
        tries += 1
        w = changed[next_below(stream, count)]
        if touched[w] or cloud.mate_first[w] < cloud.mate_first[w + 1]:
            continue
        moved[wanted], targets[wanted] = w, rules.before[w]
        touched[w] = True
        wanted += 1
        more -= 1
    for i in range(wanted):
        touched[moved[i]] = False
    if more > 0 and count + more > rules.most:
        return 0, 0
    return wanted, more


@njit(cache=True)
def _exchange_hosts(cloud, state, latencies, moved, targets, size):  # type: ignore[no-untyped-def]
    """Move VMs to their targets, and leave where they were as targets; again, to undo it."""
    for i in range(size):
        v, p = moved[i], targets[i]
        source = state.allocation[v]
        move_vm(v, p, cloud, state, latencies[source], latencies[p])
        targets[i] = source


@njit(cache=True)
def _would_hold(cloud, state, moved, targets, touched, size):  # type: ignore[no-untyped-def]
    """Whether the VMs would be where they may be, all moves made."""
    for i in range(size):
        p = targets[i]
        for r in range(4):
            needed = state.used[p, r]
            for j in range(size):
                if targets[j] == p:
                    needed += cloud.demands[moved[j], r]
                if state.allocation[moved[j]] == p:
                    needed -= cloud.demands[moved[j], r]
            if needed > cloud.room[p, r]:
                return False
    fine = True
    for i in range(size):
        touched[moved[i]] = True
    for i in range(size):
        v, p = moved[i], targets[i]
        for k in range(cloud.strange_first[v], cloud.strange_first[v + 1]):
            w = cloud.strangers[k]
            host = state.allocation[w]
            if touched[w]:
                for j in range(size):
                    if moved[j] == w:
                        host = targets[j]
            fine = fine and host != p
    for i in range(size):
        touched[moved[i]] = False
    return fine


@njit(cache=True)
def _faults_at(cloud, state, moved, targets, touched, size):  # type: ignore[no-untyped-def]
    """Faults of VMs, and of the PMs they are on or come from."""
    found = 0.0
    for i in range(size):
        touched[moved[i]] = True
    for i in range(size):
        v = moved[i]
        found += _faults_of(v, cloud, state, touched)
        for q in (state.allocation[v], targets[i]):  # which differ
            seen = False
            for j in range(i):
                seen = seen or state.allocation[moved[j]] == q or targets[j] == q
            if not seen:
                found += _excess_of(q, cloud, state)
    for i in range(size):
        touched[moved[i]] = False
    return found


@njit(cache=True)
def _faults_of(v, cloud, state, touched):  # type: ignore[no-untyped-def]
    """Faults of a VM: a PM to be emptied, and its pairs; pairs of two touched VMs count half."""
    p = state.allocation[v]
    found = 1.0 if cloud.room[p, 0] < 0.0 else 0.0
    for k in range(cloud.strange_first[v], cloud.strange_first[v + 1]):
        w = cloud.strangers[k]
        if state.allocation[w] == p:
            found += 0.5 if touched[w] else 1.0
    for k in range(cloud.mate_first[v], cloud.mate_first[v + 1]):
        w = cloud.mates[k]
        if state.allocation[w] != p:
            found += 0.5 if touched[w] else 1.0
    return found


@njit(cache=True)
def _excess_of(p, cloud, state):  # type: ignore[no-untyped-def]
    """By how much a PM is used beyond its room, in parts of it, summed; 0 of one to be emptied."""
    found = 0.0
    if cloud.room[p, 0] >= 0.0:
        for r in range(4):
            if state.used[p, r] > cloud.room[p, r]:
                found += 1.0 + (state.used[p, r] - cloud.room[p, r]) / cloud.capacities[p, r]
    return found


@njit(cache=True)
def _suspects(cloud, state):  # type: ignore[no-untyped-def]
    """VMs that are, or share a PM with, something that breaks a limit."""
    vms = cloud.demands.shape[0]
    none = np.zeros(vms, np.bool_)
    found = np.empty(vms, np.int64)
    count = 0
    for v in range(vms):
        broken = _faults_of(v, cloud, state, none) > 0.0
        if broken or _excess_of(state.allocation[v], cloud, state) > 0.0:
            found[count] = v
            count += 1
    return found[:count]


@njit(cache=True)
def _changed(rules, state):  # type: ignore[no-untyped-def]
    """VMs that are elsewhere than before, the place of each in the list, and their number."""
    vms = rules.before.shape[0]
    changed, place = np.empty(vms, np.int64), np.full(vms, -1, np.int64)
    count = 0
    for v in range(vms):
        count = _note_change(v, rules, state, changed, place, count)
    return changed, place, count


@njit(cache=True)
def _note_change(v, rules, state, changed, place, count):  # type: ignore[no-untyped-def]
    """Keep the list of changed VMs up to date; their number."""
    differs = rules.before[v] >= 0 and state.allocation[v] != rules.before[v]
    if differs and place[v] < 0:
        changed[count], place[v] = v, count
        return count + 1
    if not differs and place[v] >= 0:
        last = changed[count - 1]
        changed[place[v]], place[last] = last, place[v]
        place[v] = -1
        return count - 1
    return count
