"""An allocation and the sums derived from it, updated move by move (compiled)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.placement.cloud import PE, Cloud, Links
from lagco.problems.placement.latency import write_costs

#: sums over PMs or VMs: utilisation, energy, active PMs, traffic x latency (pairs once), risk, and
#: cores that are free in pieces too small
TOTALS = 6
#: a piece of free cores is not too small if it is so by rounding alone
_ROUNDING = 1e-6


class State(NamedTuple):
    """Allocation of the VMs, with all sums derived from it.

    Attributes:
        allocation: (V,) host of each VM
        head: (P,) a VM on each PM, -1 if it is empty
        after: (V,) the next VM on the same PM, -1 at the end
        before: (V,) the one before it, -1 at the beginning
        used: (P, 4)
        vm_count: (P,) VMs on each PM
        parts: (P, 3) its mean used fraction, power and risk; zeros if it is empty
        cost: (V,) traffic x latency to all peers
        totals: (6,)
    """

    allocation: Array
    head: Array
    after: Array
    before: Array
    used: Array
    vm_count: Array
    parts: Array
    cost: Array
    totals: Array


def empty_state(cloud: Cloud) -> State:
    """Arrays of the right shapes; no VM is anywhere."""
    vms, pms = cloud.num_vms, cloud.num_pms
    return State(
        allocation=np.full(vms, -1, dtype=np.int64),
        head=np.full(pms, -1, dtype=np.int64),
        after=np.full(vms, -1, dtype=np.int64),
        before=np.full(vms, -1, dtype=np.int64),
        used=np.zeros((pms, 4)),
        vm_count=np.zeros(pms, dtype=np.int64),
        parts=np.zeros((pms, 3)),
        cost=np.zeros(vms),
        totals=np.zeros(TOTALS),
    )


def allocate(cloud: Cloud, links: Links, allocation: Array, state: State) -> None:
    """Compute the state of an allocation (V,) from scratch."""
    place_all(cloud, allocation, state)
    state.cost[:] = 0.0
    if not cloud.volumes.size:
        return
    write_costs(cloud, links, state)
    state.totals[3] = state.cost.sum() / 2.0


@njit(cache=True)
def clear_hosts(state):  # type: ignore[no-untyped-def]
    """Take all VMs from all PMs."""
    for p in range(state.head.shape[0]):
        state.head[p] = -1
        state.vm_count[p] = 0
        for r in range(4):
            state.used[p, r] = 0.0


@njit(cache=True)
def place_all(cloud, allocation, state):  # type: ignore[no-untyped-def]
    """Lists, uses and parts for an allocation; costs are left to the caller."""
    clear_hosts(state)
    for v in range(allocation.shape[0] - 1, -1, -1):
        link_vm(v, allocation[v], cloud, state)
    for k in range(TOTALS):
        state.totals[k] = 0.0
    for p in range(state.head.shape[0]):
        write_parts(p, cloud, state)
        if state.vm_count[p] > 0:
            state.totals[0] += state.parts[p, 0]
            state.totals[1] += state.parts[p, 1]
            state.totals[2] += 1.0
            state.totals[4] += state.parts[p, 2]
        state.totals[5] += fragment_of(p, 0.0, cloud, state)


@njit(cache=True, forceinline=True)
def fragment_of(p, more, cloud, state):  # type: ignore[no-untyped-def]
    """Free cores of PM p beyond whole blocks, if `more` cores were used; 0 without blocks.

    A PM that is to be emptied has none.
    """
    if cloud.block <= 0.0 or cloud.room[p, PE] < 0.0:
        return 0.0
    free = cloud.capacities[p, PE] - state.used[p, PE] - more + _ROUNDING
    return max(0.0, free - cloud.block * np.floor(free / cloud.block))


@njit(cache=True, forceinline=True)
def link_vm(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """Put a VM on a PM: list, use and count."""
    state.allocation[v] = p
    state.before[v] = -1
    state.after[v] = state.head[p]
    if state.head[p] >= 0:
        state.before[state.head[p]] = v
    state.head[p] = v
    state.vm_count[p] += 1
    for r in range(4):
        state.used[p, r] += cloud.demands[v, r]


@njit(cache=True, forceinline=True)
def unlink_vm(v, cloud, state):  # type: ignore[no-untyped-def]
    """Take a VM from its PM: list, use and count."""
    p = state.allocation[v]
    if state.before[v] >= 0:
        state.after[state.before[v]] = state.after[v]
    else:
        state.head[p] = state.after[v]
    if state.after[v] >= 0:
        state.before[state.after[v]] = state.before[v]
    state.vm_count[p] -= 1
    for r in range(4):
        state.used[p, r] = state.used[p, r] - cloud.demands[v, r] if state.vm_count[p] > 0 else 0.0


@njit(cache=True, forceinline=True)
def write_parts(p, cloud, state):  # type: ignore[no-untyped-def]
    """Used fraction, power and risk of a PM from the VMs on it."""
    if state.vm_count[p] == 0:
        for k in range(3):
            state.parts[p, k] = 0.0
        return
    fraction = 0.0
    for r in range(4):
        fraction += used_fraction(state.used[p, r], cloud.capacities[p, r])
    cpu = used_fraction(state.used[p, PE], cloud.capacities[p, PE])
    risk = 0.0
    v = state.head[p]
    while v >= 0:
        risk += cloud.vulnerability[v] * strangers(v, p, cloud, state)
        v = state.after[v]
    state.parts[p, 0] = fraction / 4.0
    state.parts[p, 1] = cloud.idle[p] + (cloud.peak[p] - cloud.idle[p]) * cpu
    state.parts[p, 2] = risk * cloud.escape[p]


@njit(cache=True, forceinline=True)
def used_fraction(used, capacity):  # type: ignore[no-untyped-def]
    """0 where there is nothing to use."""
    return used / capacity if capacity > 0.0 else 0.0


@njit(cache=True, forceinline=True)
def strangers(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """VMs of other tenants on PM p."""
    found = 0
    w = state.head[p]
    while w >= 0:
        if cloud.tenants[w] != cloud.tenants[v]:
            found += 1
        w = state.after[w]
    return found


@njit(cache=True, forceinline=True)
def fits(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """Whether PM p may take VM v: it has room, and none of the VMs that v is to be apart from.

    A VM that is to be together with others follows one of them; the first one goes where all will
    have room, and while they are in one place.
    """
    for r in range(4):
        if state.used[p, r] + cloud.demands[v, r] > cloud.room[p, r]:
            return False
    for k in range(cloud.strange_first[v], cloud.strange_first[v + 1]):
        if state.allocation[cloud.strangers[k]] == p:
            return False
    if cloud.mate_first[v] < cloud.mate_first[v + 1]:
        return _goes_with_mates(v, p, cloud, state)
    return True


@njit(cache=True)
def _goes_with_mates(v, p, cloud, state):  # type: ignore[no-untyped-def]
    """Whether a mate of VM v is on PM p, or all are where v is and p may take them too."""
    first, last, home = cloud.mate_first[v], cloud.mate_first[v + 1], state.allocation[v]
    for k in range(first, last):
        if state.allocation[cloud.mates[k]] == p:
            return True
    for k in range(first, last):
        w = cloud.mates[k]
        if state.allocation[w] != home:
            return False
        for i in range(cloud.strange_first[w], cloud.strange_first[w + 1]):
            if state.allocation[cloud.strangers[i]] == p:
                return False
    for r in range(4):
        needed = state.used[p, r] + cloud.demands[v, r]
        for k in range(first, last):
            needed += cloud.demands[cloud.mates[k], r]
        if needed > cloud.room[p, r]:
            return False
    return True


@njit(cache=True, forceinline=True)
def move_vm(v, p, cloud, state, row_from, row_to):  # type: ignore[no-untyped-def]
    """Move a VM to PM p; the rows are latencies from its present host and from p."""
    source = state.allocation[v]
    totals, parts = state.totals, state.parts
    for q in (source, p):
        totals[5] -= fragment_of(q, 0.0, cloud, state)
        if state.vm_count[q] > 0:
            totals[0] -= parts[q, 0]
            totals[1] -= parts[q, 1]
            totals[2] -= 1.0
            totals[4] -= parts[q, 2]
    unlink_vm(v, cloud, state)
    link_vm(v, p, cloud, state)
    for q in (source, p):
        write_parts(q, cloud, state)
        totals[5] += fragment_of(q, 0.0, cloud, state)
        if state.vm_count[q] > 0:
            totals[0] += parts[q, 0]
            totals[1] += parts[q, 1]
            totals[2] += 1.0
            totals[4] += parts[q, 2]
    before = state.cost[v]
    after = 0.0
    for k in range(cloud.first[v], cloud.first[v + 1]):
        peer = cloud.peers[k]
        host = state.allocation[peer]
        now = cloud.volumes[k] * row_to[host]
        state.cost[peer] += now - cloud.volumes[k] * row_from[host]
        after += now
    state.cost[v] = after
    totals[3] += after - before


@njit(cache=True, forceinline=True)
def terms_of(totals, cloud, out):  # type: ignore[no-untyped-def]
    """The terms of all aims (6,) from the totals."""
    out[0] = totals[0] / totals[2]
    out[1] = totals[1]
    out[2] = totals[2]
    out[3] = totals[3] * cloud.tenant_share
    out[4] = totals[4]
    out[5] = totals[5] / cloud.spare if cloud.spare > 0.0 else 0.0


@njit(cache=True, forceinline=True)
def terms_after(v, p, cloud, state, row_from, row_to, out):  # type: ignore[no-untyped-def]
    """The terms if VM v moved to PM p; nothing changes."""
    left = totals_left(v, cloud, state, *parts_of(v, state.allocation[v], cloud))
    part, power = parts_of(v, p, cloud)
    terms_arrived(v, p, cloud, state, row_from, row_to, left, part, power, out)


@njit(cache=True, forceinline=True)
def totals_left(v, cloud, state, part, power):  # type: ignore[no-untyped-def]
    """Utilisation, energy, active PMs and risk if VM v were gone, in total.

    part, power: :func:`parts_of` the VM where it is.
    """
    totals = (state.totals[0], state.totals[1], state.totals[2], state.totals[4])
    return _exchanged(v, state.allocation[v], -1.0, 1, cloud, state, totals, part, power)


@njit(cache=True, forceinline=True)
def parts_of(v, p, cloud):  # type: ignore[no-untyped-def]
    """Mean used fraction and power that VM v adds to PM p; they do not depend on the state."""
    part = 0.0
    for r in range(4):
        part += used_fraction(cloud.demands[v, r], cloud.capacities[p, r])
    share = used_fraction(cloud.demands[v, PE], cloud.capacities[p, PE])
    return part / 4.0, share * (cloud.peak[p] - cloud.idle[p])


@njit(cache=True)
def all_parts(cloud):  # type: ignore[no-untyped-def]
    """:func:`parts_of` all VMs on all PMs: (V, P, 2)."""
    found = np.empty((cloud.demands.shape[0], cloud.capacities.shape[0], 2))
    for v in range(found.shape[0]):
        for p in range(found.shape[1]):
            found[v, p, 0], found[v, p, 1] = parts_of(v, p, cloud)
    return found


@njit(cache=True, forceinline=True)
def terms_arrived(v, p, cloud, state, row_from, row_to, left, part, power, out):  # type: ignore[no-untyped-def]
    """:func:`terms_after` from the :func:`totals_left`, the same for all PMs, and
    :func:`parts_of` the VM there.
    """
    fraction, energy, active, risk = _exchanged(v, p, 1.0, 0, cloud, state, left, part, power)
    change = 0.0
    for k in range(cloud.first[v], cloud.first[v + 1]):
        host = state.allocation[cloud.peers[k]]
        change += cloud.volumes[k] * (row_to[host] - row_from[host])
    out[0] = fraction / active
    out[1] = energy
    out[2] = active
    out[3] = (state.totals[3] + change) * cloud.tenant_share
    out[4] = risk
    out[5] = 0.0
    if cloud.block > 0.0 and cloud.spare > 0.0:
        source, cores = state.allocation[v], cloud.demands[v, PE]
        fragments = state.totals[5] + fragment_of(source, -cores, cloud, state)
        fragments += fragment_of(p, cores, cloud, state)
        fragments -= fragment_of(source, 0.0, cloud, state) + fragment_of(p, 0.0, cloud, state)
        out[5] = fragments / cloud.spare


@njit(cache=True, forceinline=True)
def _exchanged(v, q, sign, alone, cloud, state, totals, part, power):  # type: ignore[no-untyped-def]
    """Totals with a VM more (sign 1) or less (-1) on PM q.

    alone: VMs on q by which to tell that it is the first one to come, or the last one to leave.
    part, power: :func:`parts_of` the VM there.
    """
    fraction, energy, active, risk = totals
    fraction += sign * part
    energy += sign * power
    if state.vm_count[q] == alone:
        energy += sign * cloud.idle[q]
        active += sign
    vulnerability, tenant = cloud.vulnerability[v], cloud.tenants[v]
    near = 0.0
    w = state.head[q]
    while w >= 0:
        if cloud.tenants[w] != tenant:
            near += vulnerability + cloud.vulnerability[w]
        w = state.after[w]
    risk += sign * near * cloud.escape[q]
    return fraction, energy, active, risk
