"""Compiled steps of `placement`: validity, looking ahead, and columns."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.placement.cloud import PE
from lagco.problems.placement.state import fits, move_vm, terms_after, terms_of, used_fraction
from lagco.problems.placement.terms import COUNT, mean_of_terms
from lagco.runtime.bound_arguments import opened

#: a PM counts as overloaded from this used fraction of a resource on
OVERLOADED = 0.9


@njit(cache=True)
def valid_moves(arguments, actions, out):  # type: ignore[no-untyped-def]
    """Whether each VM fits on the PM named with it and is not there yet.

    arguments: bound, cloud and state.
    """
    cloud, state = opened(arguments)
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    for i in range(actions.shape[0]):
        v, p = actions[i, 0], actions[i, 1]
        inside = 0 <= v < vms and 0 <= p < pms
        out[i] = inside and state.allocation[v] != p and fits(v, p, cloud, state)


@njit(cache=True)
def move_mask(cloud, state, out):  # type: ignore[no-untyped-def]
    """The same for every pair: (V, P)."""
    for v in range(out.shape[0]):
        for p in range(out.shape[1]):
            out[v, p] = state.allocation[v] != p and fits(v, p, cloud, state)


@njit(cache=True)
def find_move(cloud, state, v, p):  # type: ignore[no-untyped-def]
    """Some VM and a PM it can move to, (-1, -1) if there is none; looks from (v, p) on."""
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    v, p = max(v, 0), max(p, 0)
    for _ in range(vms):
        for _ in range(pms):
            if state.allocation[v] != p and fits(v, p, cloud, state):
                return v, p
            p = p + 1 if p + 1 < pms else 0
        v = v + 1 if v + 1 < vms else 0
    return -1, -1


@njit(cache=True)
def nth_move(number, cloud, state, move):  # type: ignore[no-untyped-def]
    """Write the valid move of that number to `move`; return how many were counted."""
    count = 0
    for v in range(cloud.demands.shape[0]):
        for p in range(cloud.capacities.shape[0]):
            if state.allocation[v] != p and fits(v, p, cloud, state):
                if count == number:
                    move[0], move[1] = v, p
                    return count + 1
                count += 1
    return count


@njit(cache=True)
def mean_after(v, p, cloud, state, row_from, row_to, bounds):  # type: ignore[no-untyped-def]
    """J if VM v moved to PM p."""
    terms = np.empty(COUNT)
    terms_after(v, p, cloud, state, row_from, row_to, terms)
    return mean_of_terms(terms, bounds)


@njit(cache=True)
def preview_moves(actions, cloud, state, latencies, bounds):  # type: ignore[no-untyped-def]
    """J after each of the moves."""
    out = np.empty(actions.shape[0])
    terms = np.empty(COUNT)
    for i in range(actions.shape[0]):
        v, p = actions[i, 0], actions[i, 1]
        row_from = latencies[state.allocation[v]]
        terms_after(v, p, cloud, state, row_from, latencies[p], terms)
        out[i] = mean_of_terms(terms, bounds)
    return out


@njit(cache=True)
def present_mean(cloud, state, bounds):  # type: ignore[no-untyped-def]
    """J of the present allocation."""
    terms = np.empty(COUNT)
    terms_of(state.totals, cloud, terms)
    return mean_of_terms(terms, bounds)


@njit(cache=True)
def write_pm(p, cloud, state, unit_power, columns):  # type: ignore[no-untyped-def]
    """Columns of a PM (and of the VMs on it) from the state.

    columns: free and used fractions (n, 4), flags (2, n) of empty and overloaded PMs, amounts
    (4, n): power, VMs on a PM, strangers around a VM, its mean latency; stakes (n, 5) and the part
    of J that a unit of each term is worth (5,).
    """
    free, used, flags, amounts, stakes, worth = columns
    node = cloud.demands.shape[0] + p
    fullest = 0.0
    for r in range(4):
        fraction = used_fraction(state.used[p, r], cloud.capacities[p, r])
        used[node, r] = fraction
        free[node, r] = max(0.0, 1.0 - fraction)
        fullest = max(fullest, fraction)
    flags[0, node] = 1 if state.vm_count[p] == 0 else 0
    flags[1, node] = 1 if fullest >= OVERLOADED else 0
    amounts[0, node] = state.parts[p, 1] * unit_power
    amounts[1, node] = np.log1p(state.vm_count[p])
    span = cloud.peak[p] - cloud.idle[p]
    exposed = 0.0
    v = state.head[p]
    while v >= 0:
        found, near = 0, 0.0
        w = state.head[p]
        while w >= 0:
            if cloud.tenants[w] != cloud.tenants[v]:
                found += 1
                near += cloud.vulnerability[v] + cloud.vulnerability[w]
            w = state.after[w]
        amounts[2, v] = np.log1p(found)
        part = 0.0
        for r in range(4):
            part += used_fraction(cloud.demands[v, r], cloud.capacities[p, r])
        last = 1.0 if state.vm_count[p] == 1 else 0.0
        share = used_fraction(cloud.demands[v, PE], cloud.capacities[p, PE])
        stakes[v, 0] = part / 4.0
        stakes[v, 1] = (share * span + last * cloud.idle[p]) * worth[1]
        stakes[v, 2] = last * worth[2]
        stakes[v, 4] = near * cloud.escape[p] * worth[4]
        exposed += cloud.vulnerability[v]
        v = state.after[v]
    first = 1.0 if state.vm_count[p] == 0 else 0.0
    stakes[node, 0] = state.parts[p, 0]
    stakes[node, 1] = (
        used_fraction(1.0, cloud.capacities[p, PE]) * span + first * cloud.idle[p]
    ) * worth[1]
    stakes[node, 2] = first * worth[2]
    stakes[node, 4] = exposed * cloud.escape[p] * worth[4]


@njit(cache=True)
def write_cost(v, cloud, state, unit_cost, columns):  # type: ignore[no-untyped-def]
    """Mean latency to the peers of a VM, by volume and over the mean link latency; its stake."""
    cost = max(0.0, state.cost[v])
    columns[3][3, v] = cost * unit_cost[v]
    columns[4][v, 3] = cost * cloud.tenant_share * columns[5][3]


@njit(cache=True)
def write_all(cloud, state, unit_power, unit_cost, columns):  # type: ignore[no-untyped-def]
    """All columns from the state."""
    for p in range(cloud.capacities.shape[0]):
        write_pm(p, cloud, state, unit_power, columns)
    for v in range(cloud.demands.shape[0]):
        write_cost(v, cloud, state, unit_cost, columns)


@njit(cache=True)
def step_vm(arguments, v, p, row_from, row_to):  # type: ignore[no-untyped-def]
    """Move a VM, write the columns that change, and return J.

    arguments: bound, cloud, state, bounds, units of power and cost, and columns.
    """
    cloud, state, bounds, unit_power, unit_cost, columns = opened(arguments)
    source = state.allocation[v]
    move_vm(v, p, cloud, state, row_from, row_to)
    write_pm(source, cloud, state, unit_power, columns)
    write_pm(p, cloud, state, unit_power, columns)
    write_cost(v, cloud, state, unit_cost, columns)
    for k in range(cloud.first[v], cloud.first[v + 1]):
        write_cost(cloud.peers[k], cloud, state, unit_cost, columns)
    return present_mean(cloud, state, bounds)
