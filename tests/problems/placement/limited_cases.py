"""Random clouds with limits, and a checker of allocations and plans that shares no code with them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from lagco.core.changes import FIXED, MAX_CHANGES
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.placement import Placement
from lagco.problems.placement.generator import draw_cloud

RULES = ("fixed", "drained", "headroom", "apart", "together", "budget")


def limited_case(seed: int, vms: int, pms: int, tight: float = 0.75) -> Instance:
    """A small cloud, nearly full, with an allocation in force and some of the limits."""
    rng = np.random.default_rng([seed, 11])
    while True:
        try:
            instance = draw_cloud(rng, vms, pms)
        except InstanceError:
            continue
        arrays = dict(instance.arrays)
        demands = arrays["vm_demands"]
        hosts = rng.permutation(np.arange(vms) % pms)
        used = np.zeros((pms, 4))
        np.add.at(used, hosts, demands)
        arrays["pm_capacities"] = np.maximum(used, demands.max(axis=0)) / tight
        arrays["allocation"] = hosts
        params = dict(instance.params)
        chosen = [rule for rule in RULES if rng.random() < 0.5]
        pair = rng.permutation(vms)
        if "fixed" in chosen:
            arrays[FIXED] = (rng.random(vms) < 0.25).astype(np.int8)
        if "drained" in chosen:
            arrays["drained"] = (np.arange(pms) == rng.integers(pms)).astype(np.int8)
        if "headroom" in chosen:
            arrays["headroom"] = np.where(rng.random(4) < 0.5, 0.15, 0.0)
        if "apart" in chosen:
            arrays["apart"] = np.array(list(itertools.combinations(pair[:3].tolist(), 2))).T
        if "together" in chosen:
            arrays["together"] = np.array(list(itertools.combinations(pair[3:5].tolist(), 2))).T
        if "budget" in chosen:
            params[MAX_CHANGES] = int(rng.integers(1, vms))
        return replace(instance, name=f"case {seed}", arrays=arrays, params=params)


def broken(instance: Instance, hosts: np.ndarray) -> list[str]:
    """What an allocation breaks that one in force may break too."""
    get, found = instance.arrays.get, []
    drained = get("drained", np.zeros(len(instance.array("pm_capacities"))))
    for v, p in enumerate(hosts.tolist()):
        if drained[p]:
            found.append(f"{v} on {p}")
    for name, wanted in (("apart", False), ("together", True)):
        for v, w in get(name, np.empty((2, 0), dtype=int)).T.tolist():
            if (hosts[v] == hosts[w]) != wanted:
                found.append(f"{v} {w} {name}")
    allowed = instance.array("pm_capacities") * (1.0 - get("headroom", np.zeros(4)))
    for p in range(len(allowed)):
        used = instance.array("vm_demands")[hosts == p].sum(axis=0)
        if not drained[p]:
            found += [f"{p} {r}" for r in range(4) if used[r] > allowed[p, r] * (1 + 1e-9)]
    return found


def refused(instance: Instance, hosts: np.ndarray) -> list[str]:
    """What no answer may do."""
    before = instance.array("allocation")
    moved = np.flatnonzero(hosts != before)
    found = []
    if len(moved) > instance.params.get(MAX_CHANGES, len(before)):
        found.append("budget")
    if FIXED in instance.arrays and instance.array(FIXED)[moved].any():
        found.append("fixed")
    if "drained" in instance.arrays and instance.array("drained")[hosts[moved]].any():
        found.append("drained")
    for p in range(len(instance.array("pm_capacities"))):
        used = instance.array("vm_demands")[hosts == p].sum(axis=0)
        if (used > instance.array("pm_capacities")[p] * (1 + 1e-9)).any():
            found.append("capacity")
    return found


def wrong_steps(instance: Instance, hosts: np.ndarray) -> list[str]:
    """What is wrong with the plan that leads to an allocation, after any of its steps."""
    plan = Placement.ordered(instance, hosts)
    names = {f"pm{p + 1}": p for p in range(len(instance.array("pm_capacities")))}
    now, found = instance.array("allocation").copy(), []
    level = set(broken(instance, now))
    for step in plan.steps:
        if now[step.element] != names[step.before]:
            found.append("not from there")
        now[step.element] = names[step.after]
        faults = {name for name in broken(instance, now) if "together" not in name}
        found += sorted(faults - level)
        if FIXED in instance.arrays and instance.array(FIXED)[step.element]:
            found.append("fixed")
        level = faults
        capacity = [name for name in refused(instance, now) if name in ("capacity",)]
        found += capacity
    waiting = {change.element for change in plan.stuck}
    if set(np.flatnonzero(now != hosts).tolist()) != waiting:
        found.append("does not end there")
    return found


def best_by_enumeration(instance: Instance) -> tuple[int, float]:
    """Fewest faults that an answer can have, and the best value with so few.

    What moves is moved to where it may be: no fault gives way to another.
    """
    pms, before = len(instance.array("pm_capacities")), instance.array("allocation")
    best = (10**9, -np.inf)
    for hosts in itertools.product(range(pms), repeat=instance.size):
        allocation = np.array(hosts)
        found = broken(instance, allocation)
        if len(found) > best[0] or refused(instance, allocation):
            continue
        moved = set(np.flatnonzero(allocation != before).tolist())
        filled = {int(allocation[v]) for v in moved}
        if any(_is_touched(fault, moved, filled) for fault in found):
            continue
        value = Placement.evaluate_solution(instance, allocation)
        if (-len(found), value) > (-best[0], best[1]):
            best = (len(found), value)
    return best


def _is_touched(fault: str, moved: set[int], filled: set[int]) -> bool:
    """Whether a machine that moved, or a host that was filled, has a part in a fault."""
    words = fault.split()
    if words[1] == "on":
        return int(words[0]) in moved
    if words[-1] in ("apart", "together"):
        return bool({int(words[0]), int(words[1])} & moved)
    return int(words[0]) in filled
