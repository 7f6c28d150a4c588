"""Limits of allocations beyond the capacities: what a table says, and what an allocation breaks.

PMs that are to be emptied take no VM, every resource keeps a headroom, and groups of VMs are to be
apart or together. Valid moves keep to all of that (`state.fits`); an allocation in force may break
it, and is then reported by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from lagco.arrays import Array
from lagco.core.changes import FIXED
from lagco.errors import InstanceError, suggest
from lagco.instances import Instance
from lagco.instances.formats.placement import machine_names
from lagco.problems.placement.cloud import (
    APART,
    DRAINED,
    HEADROOM,
    RESOURCES,
    TOGETHER,
    drained_hosts,
    headroom,
    pairs_of,
)

#: columns of a table of limits, and the rules that its rows may state
COLUMNS = ("rule", "name", "value")
RULES = ("pinned", "maintenance", APART, TOGETHER, HEADROOM)
_LARGEST_GROUP = 2000
#: more than that is no rounding
_SLACK = 1.0 + 1e-9
_PINNED = ("element",), ("vm",)


def limits_from(instance: Instance, table: Sequence[Mapping[str, str]]) -> dict[str, Array]:
    """Arrays of limits from a table with the columns ``rule``, ``name`` and ``value``.

    Rules: ``pinned`` (a VM stays), ``maintenance`` (a PM is to be emptied), ``apart`` and
    ``together`` (a VM belongs to the group of that name, whose VMs share no PM, or one),
    ``headroom`` (share of a resource that stays free, 0.1 or 10 %). A table with the column ``vm``
    or ``element`` alone lists VMs that stay.
    """
    limits = _Limits(instance)
    for number, row in enumerate(table, start=1):
        if tuple(row) in _PINNED:
            limits.read(number, "pinned", next(iter(row.values())), "")
        elif set(row) == set(COLUMNS) or set(row) == set(COLUMNS[:2]):
            limits.read(number, row["rule"].lower(), row["name"], row.get("value", ""))
        else:
            raise InstanceError(
                f"a table of what may not change has the columns {', '.join(row)}; it needs "
                f"{', '.join(COLUMNS)} (rules: {', '.join(RULES)}), or vm alone"
            )
    return limits.arrays()


class _Limits:
    """Limits of an instance, as rows of a table add to them."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._places = {
            kind: {name: place for place, name in enumerate(machine_names(instance, kind))}
            for kind in ("vm", "pm")
        }
        self._arrays: dict[str, Array] = {}
        self._groups: dict[tuple[str, str], list[int]] = {}

    def read(self, number: int, rule: str, name: str, value: str) -> None:
        """Add the row of that number."""
        if rule == "pinned":
            self._flags(FIXED, self._instance.size)[self._place("vm", name, number)] = 1
        elif rule == "maintenance":
            count = len(self._places["pm"])
            self._flags(DRAINED, count)[self._place("pm", name, number)] = 1
        elif rule == HEADROOM:
            if name not in RESOURCES:
                raise InstanceError(f"row {number}: {suggest('resource', name, RESOURCES)}")
            kept = self._arrays.setdefault(HEADROOM, headroom(self._instance).copy())
            kept[RESOURCES.index(name)] = _share(value, number)
        elif rule in (APART, TOGETHER):
            if not value:
                raise InstanceError(f"row {number}: give the name of the group of {name} as value")
            group = self._groups.setdefault((rule, value), [])
            group.append(self._place("vm", name, number))
            if len(group) > _LARGEST_GROUP:
                raise InstanceError(
                    f"row {number}: {value} has more than {_LARGEST_GROUP} machines, which is the "
                    "largest group"
                )
        else:
            raise InstanceError(f"row {number}: {suggest('rule', rule, RULES)}")

    def arrays(self) -> dict[str, Array]:
        """All of them, with those that the instance had."""
        for rule in (APART, TOGETHER):
            pairs = [
                pair
                for (kind, _), group in self._groups.items()
                if kind == rule
                for pair in combinations(dict.fromkeys(group), 2)
            ]
            if pairs:
                known = self._instance.arrays.get(rule, np.empty((2, 0), dtype=np.int32))
                added = np.array(pairs, dtype=np.int32).T
                self._arrays[rule] = np.concatenate([known, added], axis=1)
        return self._arrays

    def _flags(self, name: str, count: int) -> Array:
        known = self._instance.arrays.get(name, np.zeros(count, dtype=np.int8))
        return self._arrays.setdefault(name, known.copy())

    def _place(self, kind: str, name: str, number: int) -> int:
        places = self._places[kind]
        if name not in places:
            what = "virtual machine" if kind == "vm" else "physical machine"
            raise InstanceError(f"row {number}: {suggest(what, name, list(places))}")
        return places[name]


def _share(value: str, number: int) -> float:
    text = value.removesuffix("%").strip()
    try:
        share = float(text) / (100.0 if text != value.strip() else 1.0)
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise InstanceError(
            f"row {number}: headroom {value!r}: give a share of 0 or more and below 1, such as "
            "0.1 or 10%"
        )
    return share


def faults(instance: Instance, allocation: Array) -> list[str]:
    """What an allocation breaks, by name: too little headroom, VMs not apart or not together."""
    found = []
    vms, pms = machine_names(instance, "vm"), machine_names(instance, "pm")
    if HEADROOM in instance.arrays:
        found += _overfull(instance, allocation, pms)
    for v, w in _broken(instance, allocation, APART):
        found.append(f"{vms[v]} and {vms[w]}: both on {pms[allocation[v]]}, they are to be apart")
    for v, w in _broken(instance, allocation, TOGETHER):
        hosts = f"{pms[allocation[v]]} and {pms[allocation[w]]}"
        found.append(f"{vms[v]} and {vms[w]}: on {hosts}, they are to be together")
    return found


def _overfull(instance: Instance, allocation: Array, names: list[str]) -> list[str]:
    capacities, kept = instance.array("pm_capacities"), headroom(instance)
    used = np.zeros_like(capacities)
    np.add.at(used, allocation, instance.array("vm_demands"))
    over = (used > capacities * (1.0 - kept) * _SLACK) & (kept > 0.0)
    over[drained_hosts(instance)] = False
    return [
        f"{names[p]}: {RESOURCES[r]} is used to {100 * used[p, r] / capacities[p, r]:.1f} %, "
        f"{100 * (1 - kept[r]):g} % are allowed"
        for p, r in zip(*np.nonzero(over), strict=True)
    ]


def _broken(instance: Instance, allocation: Array, rule: str) -> list[tuple[int, int]]:
    """Pairs of VMs that are on one PM and are to be apart, or the other way round."""
    pairs = pairs_of(instance, rule)
    same = allocation[pairs[0]] == allocation[pairs[1]]
    wrong = same if rule == APART else ~same
    return [(int(v), int(w)) for v, w in pairs[:, wrong].T]
