"""The paper's reference for `placement`: built allocations, refined by random reassignment."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance, SweepReference
from lagco.problems.networks.search import copy_values
from lagco.problems.placement.cloud import Cloud, cloud_of, links_of, weights_of
from lagco.problems.placement.latency import MATRIX_LIMIT, Latencies
from lagco.problems.placement.references.first_fit import dominant_demand, first_fit
from lagco.problems.placement.state import (
    State,
    allocate,
    clear_hosts,
    empty_state,
    fits,
    link_vm,
    move_vm,
    place_all,
    terms_after,
    terms_of,
)
from lagco.problems.placement.terms import COUNT, TERMS, Objective, mean_of_terms, plain_bounds
from lagco.problems.random_stream import choose_in_proportion, next_below, next_float, random_stream
from lagco.runtime.stopping import stop_flag

#: rounds of refinement per VM, each choosing among that many sampled moves
ROUNDS = 1.0
MOVES = 4
_STILL = 1e-9  # relative change of a term that is none
_NOTHING = 1e-12


def sweep_allocations(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Best and worst J over `sweeps` sweeps, and the bounds of the terms that J rests on.

    A sweep puts large VMs first, each on the fullest or on the emptiest PM it fits (or anywhere),
    and then makes one round per VM, each choosing among 4 sampled moves in proportion to the gain.
    In a first pass, gain means a random mixture of the terms, up or down; the lowest and highest
    value of each term in any allocation met are its bounds. In a second pass gain is that of J,
    upwards and downwards.
    """
    cloud, links = cloud_of(instance), links_of(instance)
    if cloud.num_pms > MATRIX_LIMIT:
        raise InstanceError(
            f"instance {instance.name!r}: sweeps need all latencies, which are kept up to "
            f"{MATRIX_LIMIT} PMs; it has {cloud.num_pms}. Use it without sweeps and solver"
        )
    latencies = Latencies(links)
    state, other = empty_state(cloud), empty_state(cloud)
    plain = first_fit(cloud)
    if plain is None:
        raise InstanceError(f"instance {instance.name!r}: first fit finds no room for every VM")
    assert latencies.matrix is not None
    weight, scale, stop = dominant_demand(cloud), plain_bounds(cloud, latencies), stop_flag()
    objective = Objective(cloud, latencies.matrix, scale)
    allocate(cloud, links, plain, state)
    met = _settled(_gather_bounds(objective, weight, sweeps, state, random_stream(seed), stop))
    met[len(TERMS) :] = scale[len(TERMS) :]  # which needs no other bounds
    bounds = np.column_stack([met, weights_of(instance)])
    allocate(cloud, links, plain, state)
    objective = objective._replace(bounds=bounds)
    best, worst = _rank(objective, weight, sweeps, state, other, random_stream(seed), stop)
    return SweepReference(
        best=mean_of(instance, cloud, state, best, bounds),
        worst=mean_of(instance, cloud, state, worst, bounds),
        best_solution=best,
        worst_solution=worst,
        sweeps=sweeps,
        bounds={name: (float(a), float(b)) for name, (a, b) in zip(TERMS, met, strict=False)},
    )


def _settled(bounds: Array) -> Array:
    """Bounds without what rounding alone moved: no negative ones, none a hair apart."""
    bounds = np.maximum(bounds, 0.0)
    bounds[bounds[:, 1] < _NOTHING, :] = 0.0
    still = bounds[:, 1] - bounds[:, 0] <= _STILL * bounds[:, 1]
    bounds[still, 1] = bounds[still, 0]
    return bounds


def mean_of(
    instance: Instance, cloud: Cloud, state: State, allocation: Array, bounds: Array
) -> float:
    """J of an allocation, from scratch; `state` is overwritten."""
    allocate(cloud, links_of(instance), allocation, state)
    terms = np.empty(COUNT)
    terms_of(state.totals, cloud, terms)
    return float(mean_of_terms(terms, bounds))


@njit(cache=True)
def _build(cloud, latencies, weight, state, order, keys, stream):  # type: ignore[no-untyped-def]
    """A new allocation, high demand first; False if a VM found no room."""
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    mode = next_below(stream, 3)
    noise = 0.5 * next_float(stream)
    for v in range(vms):
        keys[v] = -weight[v] * (1.0 + noise * (2.0 * next_float(stream) - 1.0))
        order[v] = v
        place = v
        while place > 0 and keys[order[place - 1]] > keys[v]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = v
    clear_hosts(state)
    state.allocation[:] = -1
    for v in order:
        start = next_below(stream, pms)
        best, host = -np.inf, -1
        for i in range(pms):
            p = start + i if start + i < pms else start + i - pms
            if not fits(v, p, cloud, state):
                continue
            if mode == 2:
                host = p
                break
            fullness = 0.0
            for r in range(4):
                if cloud.capacities[p, r] > 0.0:
                    fullness += state.used[p, r] / cloud.capacities[p, r]
            if mode == 1:
                fullness = -fullness
            if fullness > best:
                best, host = fullness, p
        if host < 0:
            return False
        link_vm(v, host, cloud, state)
    finish(cloud, latencies, state)
    return True


@njit(cache=True)
def finish(cloud, latencies, state):  # type: ignore[no-untyped-def]
    """Parts, costs and totals of the present allocation."""
    place_all(cloud, state.allocation, state)
    total = 0.0
    for v in range(cloud.demands.shape[0]):
        row = latencies[state.allocation[v]]
        cost = 0.0
        for k in range(cloud.first[v], cloud.first[v + 1]):
            cost += cloud.volumes[k] * row[state.allocation[cloud.peers[k]]]
        state.cost[v] = cost
        total += cost
    state.totals[3] = total / 2.0


@njit(cache=True)
def _merit(terms, bounds, mixture):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(COUNT):
        width = bounds[k, 1] - bounds[k, 0]
        if width > 0.0:
            total += mixture[k] * terms[k] / width
    return total


@njit(cache=True)
def _widen(bounds, terms):  # type: ignore[no-untyped-def]
    for k in range(COUNT):
        bounds[k, 0] = min(bounds[k, 0], terms[k])
        bounds[k, 1] = max(bounds[k, 1], terms[k])


@njit(cache=True)
def _refine(objective, mixture, state, met, record, best, stream):  # type: ignore[no-untyped-def]
    """Rounds of moves that raise the mixture of terms.

    Widens `met` by every allocation, and keeps the best merit and its allocation in `best` and
    `record`.
    """
    cloud, latencies, scale = objective
    vms, pms = cloud.demands.shape[0], cloud.capacities.shape[0]
    terms = np.empty(COUNT)
    gains = np.empty(MOVES)
    chosen_vms = np.empty(MOVES, dtype=np.int64)
    chosen_pms = np.empty(MOVES, dtype=np.int64)
    terms_of(state.totals, cloud, terms)
    _widen(met, terms)
    present = _merit(terms, scale, mixture)
    if present > best[0]:
        best[0] = present
        copy_values(record, state.allocation)
    improved = False
    for _ in range(int(ROUNDS * vms)):
        for m in range(MOVES):
            v, p = next_below(stream, vms), next_below(stream, pms)
            chosen_vms[m], chosen_pms[m] = v, p
            gains[m] = 0.0
            source = state.allocation[v]
            if p != source and fits(v, p, cloud, state):
                terms_after(v, p, cloud, state, latencies[source], latencies[p], terms)
                gains[m] = max(0.0, _merit(terms, scale, mixture) - present)
        m = choose_in_proportion(stream, gains, MOVES)
        if m < 0:
            continue
        v, p = chosen_vms[m], chosen_pms[m]
        source = state.allocation[v]
        move_vm(v, p, cloud, state, latencies[source], latencies[p])
        terms_of(state.totals, cloud, terms)
        _widen(met, terms)
        present = _merit(terms, scale, mixture)
        improved = present > best[0] or improved
    if improved and present > best[0]:  # the moves only ever gain
        best[0] = present
        copy_values(record, state.allocation)


@njit(cache=True, nogil=True)
def _gather_bounds(objective, weight, sweeps, state, stream, stop):  # type: ignore[no-untyped-def]
    """Lowest and highest value of every term in any allocation met: (6, 2)."""
    cloud, latencies, _ = objective
    vms = cloud.demands.shape[0]
    order = np.empty(vms, dtype=np.int64)
    keys = np.empty(vms)
    terms = np.empty(COUNT)
    met = np.empty((COUNT, 2))
    terms_of(state.totals, cloud, terms)
    for k in range(COUNT):
        met[k, 0] = met[k, 1] = terms[k]
    mixture = np.zeros(COUNT)
    record = np.empty(vms, dtype=np.int64)
    best = np.empty(1)
    for _ in range(sweeps):
        if stop[0]:
            break
        if not _build(cloud, latencies, weight, state, order, keys, stream):
            continue
        for k in range(5):
            mixture[k] = 2.0 * next_float(stream) - 1.0
        if next_below(stream, 2) == 0:  # one term alone
            alone = next_below(stream, 5)
            for k in range(5):
                if k != alone:
                    mixture[k] = 0.0
        best[0] = -np.inf
        _refine(objective, mixture, state, met, record, best, stream)
    return met


@njit(cache=True, nogil=True)
def _rank(objective, weight, sweeps, state, other, stream, stop):  # type: ignore[no-untyped-def]
    """Allocations of the highest and of the lowest J met."""
    cloud, latencies, bounds = objective
    vms = cloud.demands.shape[0]
    order = np.empty(vms, dtype=np.int64)
    keys = np.empty(vms)
    met = bounds[:, :2].copy()
    upward = -bounds[:, 2]
    upward[0] = bounds[0, 2]
    downward = -upward
    highest, lowest = state.allocation.copy(), state.allocation.copy()
    best, worst = np.full(1, -np.inf), np.full(1, -np.inf)
    _refine(objective, upward, state, met, highest, best, stream)
    for _ in range(sweeps):
        if stop[0]:
            break
        if not _build(cloud, latencies, weight, state, order, keys, stream):
            continue
        copy_values(other.allocation, state.allocation)
        finish(cloud, latencies, other)
        _refine(objective, upward, state, met, highest, best, stream)
        _refine(objective, downward, other, met, lowest, worst, stream)
    return highest, lowest
