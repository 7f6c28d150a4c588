"""Order of migrations in which each one respects capacities and anti-affinity groups.

Moves are made as soon as there is room. If none is possible, a VM makes room by waiting on a third
PM. The search is not exhaustive: VMs for which no order is found are reported by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lagco.arrays import Array
from lagco.core.changes import Change, Plan
from lagco.core.changes.limits import FIXED
from lagco.instances import Instance
from lagco.instances.formats.placement import machine_names
from lagco.problems.placement.cloud import Cloud, checked_allocation, cloud_of
from lagco.problems.placement.state import State, empty_state, link_vm, place_all, unlink_vm

if TYPE_CHECKING:
    from lagco.core.problem import Problem

#: VMs that are tried on third PMs for each cycle, at most, and such PMs
_WAITING, _THIRD = 32, 64


def migrations(cls: type[Problem], instance: Instance, solution: Array) -> Plan:
    """The migrations from the allocation in force to another, in order."""
    before = np.asarray(instance.array("allocation"), dtype=np.int64)
    order = _Order(cloud_of(instance), before, checked_allocation(solution, instance))
    order.find(np.asarray(instance.arrays.get(FIXED, np.zeros(len(before))), dtype=bool))
    vms, pms = machine_names(instance, "vm"), machine_names(instance, "pm")

    def change(vm: int, source: int, target: int) -> Change:
        return Change(vm, vms[vm], pms[source], pms[target])

    stuck = [change(v, order.host(v), order.goal(v)) for v in order.pending]
    return Plan(tuple(change(*step) for step in order.steps), tuple(stuck))


class _Order:
    """An order under construction.

    Attributes:
        steps: VM, source and target of each migration so far.
        pending: VMs that are not yet where they are to go.
    """

    def __init__(self, cloud: Cloud, before: Array, after: Array) -> None:
        self._cloud, self._after = cloud, after
        self._state: State = empty_state(cloud)
        place_all(cloud, before, self._state)
        self.steps: list[tuple[int, int, int]] = []
        self.pending: list[int] = np.flatnonzero(before != after).tolist()
        self._waited: set[int] = set()

    def host(self, vm: int) -> int:
        """Where a VM is now."""
        return int(self._state.allocation[vm])

    def goal(self, vm: int) -> int:
        """Where it is to go."""
        return int(self._after[vm])

    def find(self, fixed: Array) -> None:
        """Make all moves that an order is found for; VMs that are `fixed` make no room."""
        while self.pending:
            moved = [vm for vm in self.pending if self._go(vm, self.goal(vm))]
            self.pending = [vm for vm in self.pending if self.host(vm) != self.goal(vm)]
            if not moved and not self._make_room(fixed):
                return

    def _go(self, vm: int, pm: int) -> bool:
        """Move a VM where it has room; whether it had."""
        source = self.host(vm)
        if source == pm or not self._may_take(pm, vm):
            return False
        self._move(vm, pm)
        self.steps.append((vm, source, pm))
        return True

    def _may_take(self, pm: int, vm: int) -> bool:
        """As `fits`, but groups that are to be together may be apart on their way."""
        cloud, state = self._cloud, self._state
        if (state.used[pm] + cloud.demands[vm] > cloud.room[pm]).any():
            return False
        first, last = cloud.strange_first[vm], cloud.strange_first[vm + 1]
        return not (state.allocation[cloud.strangers[first:last]] == pm).any()

    def _move(self, vm: int, pm: int) -> None:
        unlink_vm(vm, self._cloud, self._state)
        link_vm(vm, pm, self._cloud, self._state)

    def _make_room(self, fixed: Array) -> bool:
        """Let a VM wait elsewhere, so that another can go where it is to; whether one could."""
        for vm, pm in self._ways_out(fixed):
            source = self.host(vm)
            self._move(vm, pm)
            if any(w != vm and self._may_take(self.goal(w), w) for w in self.pending):
                self.steps.append((vm, source, pm))
                self._waited.add(vm)
                if vm not in self.pending:
                    self.pending.append(vm)
                return True
            self._move(vm, source)
        return False

    def _ways_out(self, fixed: Array) -> Iterator[tuple[int, int]]:
        """VMs on PMs that others are to go to, and third PMs with room for them.

        VMs that are to leave anyway come first, then small ones; each waits once at most.
        """
        cloud = self._cloud
        wanted = np.unique(self._after[self.pending])
        there = np.flatnonzero(np.isin(self._state.allocation, wanted) & ~fixed)
        leaving = np.isin(there, self.pending)
        order = np.lexsort((cloud.demands[there].sum(axis=1), ~leaving))
        candidates = [vm for vm in there[order].tolist() if vm not in self._waited][:_WAITING]
        for vm in candidates:
            room = (self._state.used + cloud.demands[vm] <= cloud.room).all(axis=1)
            room[[self.host(vm), self.goal(vm)]] = False
            for pm in np.flatnonzero(room)[:_THIRD].tolist():
                if self._may_take(pm, vm):
                    yield vm, pm
