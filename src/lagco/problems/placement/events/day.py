"""Synthetic timelines of a cloud: VMs that come, grow and leave, PMs that fail or are emptied."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Event
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.instances.formats.placement import machine_names, tenant_names
from lagco.problems.placement.cloud import PE, RESOURCES

_DAY = 86400.0
#: seconds for which a PM is down or empty on average
_REPAIR = 3600.0
#: by how much a VM grows or shrinks
_FACTORS = 0.5, 2.0


def draw_machines(
    instance: Instance,
    rng: np.random.Generator,
    step: float,
    load: float,
    lifetime: float,
    swing: float,
    resized: float,
    failures: float,
    drains: float,
) -> Iterator[tuple[float, Event]]:
    """See :meth:`~lagco.problems.placement.problem.PlacementProblem.draw_events`."""
    if not 0.0 < load < 1.0:
        raise UsageError(f"load={load}: give a share of the cores between 0 and 1")
    machines = _Machines(instance, rng, lifetime)
    hosts = _Hosts(instance, rng)
    rate = load * machines.capacity / (machines.mean_cores * lifetime)
    begin = rng.uniform(0.0, 2.0 * np.pi)
    number = 0
    while True:
        number += 1
        time = number * step
        yield from hosts.events(time, failures, drains)
        yield from machines.departures(time)
        curve = 1.0 + swing * np.sin(2.0 * np.pi * time / _DAY + begin)
        for _ in range(int(rng.poisson(rate * step * curve))):
            yield time, machines.arrival(time)
        if machines.names and rng.random() < resized:
            yield time, machines.resizing()


class _Machines:
    """VMs that are there or wait, with the times at which they leave."""

    def __init__(self, instance: Instance, rng: np.random.Generator, lifetime: float) -> None:
        self._demands = np.asarray(instance.array("vm_demands"))
        self._tenants = np.asarray(instance.array("tenants"))
        self._owners = tenant_names(instance)
        self._rng, self._lifetime = rng, lifetime
        self.names = set(machine_names(instance, "vm"))
        self._sizes = dict(zip(machine_names(instance, "vm"), self._demands, strict=True))
        ends = rng.exponential(lifetime, size=len(self.names)).tolist()
        self._leaving = list(zip(ends, sorted(self.names), strict=True))
        heapq.heapify(self._leaving)
        self._number = 0
        self.mean_cores = float(self._demands[:, PE].mean()) or 1.0
        self.capacity = float(instance.array("pm_capacities")[:, PE].sum())

    def departures(self, time: float) -> Iterator[tuple[float, Event]]:
        """VMs whose time is over; the last one stays."""
        while len(self.names) > 1 and self._leaving[0][0] <= time:
            _, name = heapq.heappop(self._leaving)
            self.names.discard(name)
            del self._sizes[name]
            yield time, Event("vm-gone", vm=name)

    def arrival(self, time: float) -> Event:
        """A VM of a size that there was at the start."""
        self._number += 1
        while f"new{self._number}" in self.names:
            self._number += 1
        name, like = f"new{self._number}", int(self._rng.integers(len(self._demands)))
        self.names.add(name)
        self._sizes[name] = self._demands[like]
        heapq.heappush(self._leaving, (time + self._rng.exponential(self._lifetime), name))
        owner = self._owners[int(self._tenants[like])]
        return Event("vm", vm=name, **_amounts(self._demands[like]), tenant=owner)

    def resizing(self) -> Event:
        """A VM that needs half or twice as much."""
        names = sorted(self.names)
        name = names[int(self._rng.integers(len(names)))]
        factor = _FACTORS[int(self._rng.integers(2))]
        self._sizes[name] = np.minimum(self._sizes[name] * factor, self._demands.max(axis=0))
        return Event("vm-size", vm=name, **_amounts(self._sizes[name]))


class _Hosts:
    """PMs that are down or emptied one at a time, for a while."""

    def __init__(self, instance: Instance, rng: np.random.Generator) -> None:
        self._names = machine_names(instance, "pm")
        self._rng = rng
        self._away: list[tuple[float, str]] = []

    def events(self, time: float, failures: float, drains: float) -> Iterator[tuple[float, Event]]:
        """PMs that are back, and perhaps one that fails or is to be emptied."""
        while self._away and self._away[0][0] <= time:
            _, name = heapq.heappop(self._away)
            yield time, Event("pm-up", pm=name)
        for kind, chance in (("pm-down", failures), ("pm-drain", drains)):
            if chance > 0.0 and not self._away and self._rng.random() < chance:
                name = self._names[int(self._rng.integers(len(self._names)))]
                heapq.heappush(self._away, (time + self._rng.exponential(_REPAIR), name))
                yield time, Event(kind, pm=name)


def _amounts(demand: Array) -> dict[str, float]:
    return {name: float(amount) for name, amount in zip(RESOURCES, demand, strict=True)}
