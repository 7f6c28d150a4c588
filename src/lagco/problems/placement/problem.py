"""Whole instances and allocations of `placement`: values, limits, names, plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes import Plan
from lagco.core.changes.moves import Moves
from lagco.core.events import Draft, Event
from lagco.core.problem import Problem
from lagco.errors import UsageError, suggest
from lagco.instances import Instance, References
from lagco.instances.formats.placement import machine_names
from lagco.problems.placement.cloud import (
    AIMS,
    APART,
    DRAINED,
    FORM,
    HEADROOM,
    TOGETHER,
    Cloud,
    Links,
    checked_allocation,
    cloud_of,
    drained_hosts,
    links_of,
    weights_of,
)
from lagco.problems.placement.events.changes import EVENTS, serve_waiting, waiting_share
from lagco.problems.placement.events.day import draw_machines
from lagco.problems.placement.generator import draw_cloud, draw_cluster
from lagco.problems.placement.kernels import present_mean
from lagco.problems.placement.latency import Latencies
from lagco.problems.placement.limits import rules
from lagco.problems.placement.state import State, allocate, empty_state, terms_of
from lagco.problems.placement.terms import COUNT, NAMES, TERMS, bounds_of


class PlacementProblem(Problem):
    """Allocations of VMs to PMs, judged as a whole."""

    name = "placement"
    present = "allocation"
    limiting = (DRAINED, HEADROOM, APART, TOGETHER)
    improves_within_limits = True
    maximise = True
    score_from_start = True
    scaled_by_sweeps = True
    form = FORM
    events = EVENTS

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """Give VMs that wait a host, where there is room now."""
        serve_waiting(draft)

    @classmethod
    def unserved(cls, instance: Instance) -> float:
        """Share of the cores asked for by VMs that wait for room."""
        return waiting_share(instance)

    @classmethod
    def draw_events(
        cls,
        instance: Instance,
        rng: np.random.Generator,
        *,
        step: float = 300.0,
        load: float = 0.9,
        lifetime: float = 14400.0,
        swing: float = 0.0,
        resized: float = 0.0,
        failures: float = 0.01,
        drains: float = 0.0,
    ) -> Iterator[tuple[float, Event]]:
        """VMs that come and leave, at a load that they would have if none waited; PMs that fail.

        Args:
            instance: whose VMs are the sizes that come.
            rng: source of everything random.
            step: seconds between two times at which anything happens.
            load: share of all cores that is asked for on average.
            lifetime: seconds for which a VM stays on average, by an exponential distribution.
            swing: share by which arrivals go up and down within a day.
            resized: chance that a VM needs half or twice as much from a time on.
            failures: chance that a PM fails, where none is down; it is back after an hour or so.
            drains: likewise, that a PM is to be emptied.
        """
        return draw_machines(instance, rng, step, load, lifetime, swing, resized, failures, drains)

    @classmethod
    def draw(
        cls, rng: np.random.Generator, size: int | None = None, *, load: float | None = None
    ) -> Instance:
        """10 to 50 VMs on 10 to 50 PMs, or `size` of each.

        With a `load` (share of the cores) a cluster of equal PMs in use, with VMs in the sizes that
        clouds sell.
        """
        if load is not None:
            return draw_cluster(rng, cls.default_size if size is None else size, float(load))
        return draw_cloud(rng, size, size)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Best and worst of built and refined allocations."""
        from lagco.problems.placement.references.sweeps import sweep_allocations

        count = 5_000 if sweeps is None else sweeps
        return References(sweeps=sweep_allocations(instance, count, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Best allocation of a long, restarted annealing (best-known)."""
        from lagco.problems.placement.references.solver import solve_allocation

        return References(solver=solve_allocation(instance, seed, effort))

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """A run of annealing over single moves."""
        from lagco.problems.placement.references.solver import improve_allocation

        return improve_allocation(instance, solution, seed, effort)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, edges, VMs, PMs and raw actions."""
        vms, pms = instance.size, instance.array("pm_capacities").shape[0]
        pairs = instance.array("traffic_pairs").shape[1]
        links = instance.array("latency_links").shape[1]
        return {
            "nodes": vms + pms,
            "edges": vms + pairs + links,
            "vms": vms,
            "pms": pms,
            "actions": vms * pms,
        }

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """Where fragments alone count: whole blocks of free cores that can be at most; else None.

        A migration joins at most one block.
        """
        from lagco.problems.placement.references.blocks import fewest_fragments

        if (weights_of(instance)[: len(TERMS)] > 0.0).any():
            return None
        return 1.0 - fewest_fragments(instance)

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """J of an allocation (V,), with the instance's bounds and weights."""
        cloud, _, bounds = _setting(instance)
        return float(present_mean(cloud, _allocated(instance, solution), bounds))

    # -- what may change

    @classmethod
    def element_names(cls, instance: Instance) -> list[str]:
        """VMs, as in the instance's file."""
        return machine_names(instance, "vm")

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """The name of a PM."""
        return machine_names(instance, "pm")[int(value)]

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """VMs that stay, PMs to be emptied, headroom, groups: columns rule, name and value."""
        return rules.limits_from(instance, table)

    @classmethod
    def excess(cls, instance: Instance, elements: Array, values: Array) -> Array:
        """1 on PMs that are to be emptied."""
        return drained_hosts(instance)[np.asarray(values, dtype=np.int64)].astype(np.float64)

    @classmethod
    def faults(cls, instance: Instance, solution: Array) -> list[str]:
        """Headroom that is used, VMs that are not apart or not together."""
        return rules.faults(instance, np.asarray(solution, dtype=np.int64))

    @classmethod
    def moves(cls) -> Moves:
        """For every VM the PMs to which it goes best."""
        from lagco.problems.placement.foresight.moves import MigrationMoves

        return MigrationMoves()

    @classmethod
    def ordered(cls, instance: Instance, solution: Array) -> Plan:
        """Migrations that keep to capacities, headroom and groups apart after every single one."""
        from lagco.problems.placement.limits.migrations import migrations

        return migrations(cls, instance, solution)

    @classmethod
    def fullest(cls, instance: Instance, solution: Array, most: int = 5) -> list[tuple[str, float]]:
        """The fullest PMs, by the resource that is used most."""
        capacities = instance.array("pm_capacities")
        used = np.zeros_like(capacities, dtype=np.float64)
        np.add.at(used, solution, instance.array("vm_demands"))
        use = np.divide(used, capacities, out=np.zeros_like(used), where=capacities > 0).max(axis=1)
        names = machine_names(instance, "pm")
        return [(names[p], float(use[p])) for p in np.argsort(-use, kind="stable")[:most]]

    # -- aims

    @classmethod
    def with_aims(cls, instance: Instance, weights: Mapping[str, float]) -> Instance:
        """The instance with weights of its aims; those that are left out keep theirs."""
        found = weights_of(instance).copy()
        for name, weight in weights.items():
            if name not in NAMES:
                raise UsageError(suggest("aim", name, NAMES))
            found[NAMES.index(name)] = weight
        if not found.any():
            raise UsageError("aims: every aim has the weight 0; give one more")
        arrays = {**instance.arrays, AIMS: found}
        return replace(instance, arrays=arrays, references=References())

    @classmethod
    def aims(cls, instance: Instance, solution: Array) -> Mapping[str, float]:
        """The terms of the aims that count, in the instance's units."""
        cloud, _, _ = _setting(instance)
        terms, weights = np.empty(COUNT), weights_of(instance)
        terms_of(_allocated(instance, solution).totals, cloud, terms)
        return {n: float(t) for n, t, w in zip(NAMES, terms, weights, strict=True) if w > 0.0}


@lru_cache(maxsize=4)
def _setting(instance: Instance) -> tuple[Cloud, Links, Array]:
    """Cloud, links and bounds of an instance, cached."""
    cloud, links = cloud_of(instance), links_of(instance)
    return cloud, links, bounds_of(instance, cloud, Latencies.of(links))


def _allocated(instance: Instance, solution: Array) -> State:
    cloud, links, _ = _setting(instance)
    state = empty_state(cloud)
    allocate(cloud, links, checked_allocation(solution, instance), state)
    return state
