"""Events of VMs and PMs, and the rule by which allocations stay valid.

A VM that comes, or loses its host, goes to the PM that it fills best (or to the first one with
room, where the instance says so). One that finds no room waits, is counted as rejected, and gets a
host as soon as there is room, those that wait longest first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Draft, EventType, number, text
from lagco.instances import Instance
from lagco.instances.form import MAX_NUMBER
from lagco.instances.formats.placement import machine_names, tenant_names
from lagco.problems.placement.cloud import (
    APART,
    DRAINED,
    MEMORY,
    PE,
    RESOURCES,
    SLACK,
    drained_hosts,
    headroom,
    pairs_of,
)
from lagco.store import shown

#: parameter: VMs that found no room when they came, grew or lost their host; there since the first
#: event
REJECTED = "rejected"
#: parameter: rule for the host of a VM that comes, and its values, the default first
ARRIVALS, RULES = "arrivals", ("best-fit", "first-fit")

_VM, _PM = text("name of the virtual machine"), text("name of the physical machine")
_NAMES = "vm_names"


def _amounts(needed: bool) -> dict[str, Any]:
    fields = {
        name: number(f"{name} that it needs", low=0.0, high=MAX_NUMBER, optional=True)
        for name in RESOURCES
    }
    cores = number("cores that it needs", low=0.0, high=MAX_NUMBER, optional=not needed)
    return {**fields, RESOURCES[PE]: cores}


def _arrive(draft: Draft, vm: str, tenant: Any, vulnerability: Any, **amounts: Any) -> None:
    _begin(draft)
    if _is_known(draft, vm):
        raise draft.error(f"there is a virtual machine {shown(vm)} already")
    demand = [float(amounts[name] or 0.0) for name in RESOURCES]
    host = _host_for(draft, np.array(demand))
    draft.add(
        "size",
        vm_demands=demand,
        tenants=_tenant(draft, tenant),
        vm_vulnerability=float(vulnerability or 0.0),
        vm_names=vm,
        allocation=max(host, 0),
    )
    if host < 0:
        _reject(draft, [draft.size - 1])


def _leave(draft: Draft, vm: str) -> None:
    _begin(draft)
    place, waits = _place(draft, vm)
    if waits:
        draft.forget_aside("size", [place])
        return
    if draft.size == 1:
        raise draft.error(f"{shown(vm)} is the last virtual machine, which has to stay")
    draft.remove("size", [place])


def _resize(draft: Draft, vm: str, **amounts: Any) -> None:
    _begin(draft)
    place, waits = _place(draft, vm)
    demands = draft.arrays["vm_demands_aside" if waits else "vm_demands"].copy()
    kept = demands[place].copy()
    for column, name in enumerate(RESOURCES):
        if amounts[name] is not None:
            demands[place, column] = amounts[name]
    if waits:
        draft.arrays["vm_demands_aside"] = demands
        return
    hosts = draft.arrays["allocation"]
    draft.arrays["vm_demands"] = demands
    room = _room(draft)
    grows = (demands[place] > kept).any()
    if not grows or (room[hosts[place]] >= 0.0).all():
        return
    host = _host_for(draft, demands[place], place)
    if host >= 0:
        _put(draft, place, host)
        return
    demands = demands.copy()
    demands[place] = kept
    draft.arrays["vm_demands"] = demands
    draft.params[REJECTED] += 1


def _fail(draft: Draft, pm: str) -> None:
    _begin(draft)
    failed = _drain_flag(draft, pm, 1)
    lost = np.flatnonzero(draft.arrays["allocation"] == failed)
    demands = draft.arrays["vm_demands"]
    left = []
    for vm in lost[np.argsort(-demands[lost, PE], kind="stable")].tolist():
        host = _host_for(draft, demands[vm], vm)
        if host < 0:
            left.append(vm)
        else:
            _put(draft, vm, host)
    if left and len(left) == draft.size:
        raise draft.error(f"without {shown(pm)} no virtual machine could run any more")
    if left:
        _reject(draft, left)


def _drain(draft: Draft, pm: str) -> None:
    _begin(draft)
    _drain_flag(draft, pm, 1)


def _come_back(draft: Draft, pm: str) -> None:
    _begin(draft)
    _drain_flag(draft, pm, 0)


EVENTS = {
    "vm": EventType(
        "a virtual machine comes, and goes where it fits best; without room it waits",
        _arrive,
        {
            "vm": _VM,
            **_amounts(needed=True),
            "tenant": text("its owner", optional=True),
            "vulnerability": number(
                "probability that it is broken into", low=0.0, high=1.0, optional=True
            ),
        },
    ),
    "vm-gone": EventType("a virtual machine leaves, or no longer waits", _leave, {"vm": _VM}),
    "vm-size": EventType(
        "a virtual machine needs other amounts; where its host has no room for them it goes where "
        "it fits best, and keeps its size where no host has",
        _resize,
        {"vm": _VM, **_amounts(needed=False)},
    ),
    "pm-down": EventType(
        "a physical machine fails; its virtual machines go where they fit best, the largest first",
        _fail,
        {"pm": _PM},
    ),
    "pm-drain": EventType(
        "a physical machine is to be emptied; its virtual machines stay until they are moved",
        _drain,
        {"pm": _PM},
    ),
    "pm-up": EventType("a physical machine takes virtual machines again", _come_back, {"pm": _PM}),
}


def serve_waiting(draft: Draft) -> None:
    """Give VMs that wait a host, those that wait longest first."""
    waiting = draft.aside("vm_demands")
    if waiting is None:
        return
    least = waiting.min(axis=0)
    served = []
    demands = draft.arrays["vm_demands"]
    room = _room(draft)
    if not (room >= least).all(axis=1).any():
        return
    hosts = draft.arrays["allocation_aside"].copy()
    for place, demand in enumerate(waiting):
        host = _best(draft, room, demand)
        if host >= 0:
            room[host] -= demand
            hosts[place] = host
            served.append(place)
    if served:
        draft.arrays["allocation_aside"] = hosts
        draft.bring_back("size", served)
    assert len(draft.arrays["vm_demands"]) == len(demands) + len(served)


def waiting_share(instance: Instance) -> float:
    """Share of the cores asked for that wait."""
    waiting = instance.arrays.get("vm_demands_aside")
    if waiting is None:
        return 0.0
    lost = float(waiting[:, PE].sum())
    whole = lost + float(instance.array("vm_demands")[:, PE].sum())
    return lost / whole if whole > 0.0 else 0.0


def _begin(draft: Draft) -> None:
    """Have an allocation, names that stay and the count of rejected VMs."""
    if "allocation" not in draft.arrays:
        raise draft.error("there is no allocation; give one as the incumbent")
    if _NAMES not in draft.arrays:
        draft.arrays[_NAMES] = np.array(machine_names(draft.before, "vm"))
    draft.params.setdefault(REJECTED, 0)
    rule = draft.params.get(ARRIVALS, RULES[0])
    if rule not in RULES:
        raise draft.error(f"{ARRIVALS} is {rule!r}; give {' or '.join(RULES)}")


def _is_known(draft: Draft, vm: str) -> bool:
    aside = draft.aside(_NAMES)
    return bool((draft.arrays[_NAMES] == vm).any() or (aside is not None and (aside == vm).any()))


def _place(draft: Draft, vm: str) -> tuple[int, bool]:
    """Row of a VM, and whether it waits."""
    aside = draft.aside(_NAMES)
    found = np.flatnonzero(draft.arrays[_NAMES] == vm)
    if found.size:
        return int(found[0]), False
    waits = np.flatnonzero(aside == vm) if aside is not None else found
    if waits.size:
        return int(waits[0]), True
    return draft.named("virtual machine", vm, draft.arrays[_NAMES].tolist()), False


def _tenant(draft: Draft, name: str | None) -> int:
    """Number of a tenant, a new one where there is none of that name."""
    if name is None:
        return 0
    names = draft.arrays.get("tenant_names")
    known = tenant_names(draft.before) if names is None else names.tolist()
    if name not in known:
        known = [*known, name]
    draft.arrays["tenant_names"] = np.array(known)
    return known.index(name)


def _drain_flag(draft: Draft, pm: str, value: int) -> int:
    place = draft.named("physical machine", pm, machine_names(draft.before, "pm"))
    flags = drained_hosts(draft.before).astype(np.int8)
    if flags[place] == value:
        state = "takes none already" if value else "takes virtual machines already"
        raise draft.error(f"the physical machine {shown(pm)} {state}")
    flags[place] = value
    draft.arrays[DRAINED] = flags
    return place


def _room(draft: Draft) -> Array:
    """What PMs may still take: (P, 4), below 0 where they take none."""
    room = draft.arrays["pm_capacities"] * (1.0 - headroom(draft.before)) * SLACK
    np.subtract.at(room, draft.arrays["allocation"], draft.arrays["vm_demands"])
    drained = draft.arrays.get(DRAINED)
    if drained is not None:
        room[drained.astype(bool)] = -1.0
    return np.asarray(room)


def _host_for(draft: Draft, demand: Array, vm: int | None = None) -> int:
    """PM for a VM by the rule of arrivals, -1 where none has room; vm: one that has a host."""
    room = _room(draft)
    if vm is not None:
        room[draft.arrays["allocation"][vm]] = -1.0
        if APART in draft.arrays:
            v, w = pairs_of(draft.before, APART)
            others = np.concatenate([w[v == vm], v[w == vm]])
            room[draft.arrays["allocation"][others]] = -1.0
    return _best(draft, room, demand)


def _best(draft: Draft, room: Array, demand: Array) -> int:
    """The PM that a demand leaves the least room on, or the first one; -1 where none has room."""
    fitting = np.flatnonzero((room >= demand).all(axis=1))
    if not fitting.size:
        return -1
    if draft.params.get(ARRIVALS, RULES[0]) == RULES[1]:
        return int(fitting[0])
    capacities = draft.arrays["pm_capacities"][fitting][:, [PE, MEMORY]]
    left = (room[fitting] - demand)[:, [PE, MEMORY]]
    share = np.divide(left, capacities, out=np.zeros_like(left), where=capacities > 0)
    return int(fitting[share.sum(axis=1).argmin()])


def _put(draft: Draft, vm: int, host: int) -> None:
    hosts = draft.arrays["allocation"].copy()
    hosts[vm] = host
    draft.arrays["allocation"] = hosts


def _reject(draft: Draft, vms: list[int]) -> None:
    draft.put_aside("size", vms)
    draft.params[REJECTED] += len(vms)
