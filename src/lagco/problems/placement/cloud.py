"""Virtual and physical machines of an instance, as the arrays that compiled code walks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import ArrayForm, Instance, InstanceForm
from lagco.problems.adjacency import adjacency

RESOURCES = ("pe", "mips", "memory", "storage")
PE, MEMORY = 0, 2
#: ids of tenants are smaller, since tenants are counted by id
MOST_TENANTS = 1 << 20

#: what an instance holds
FORM = InstanceForm(
    arrays={
        "vm_demands": ArrayForm("number", ("size", 4), low=0),
        "pm_capacities": ArrayForm("number", ("pms", 4), low=0),
        "tenants": ArrayForm("integer", ("size",), low=0, below=MOST_TENANTS),
        "vm_vulnerability": ArrayForm("number", ("size",), low=0),
        "pm_escape": ArrayForm("number", ("pms",), low=0),
        "pm_idle": ArrayForm("number", ("pms",), low=0),
        "pm_peak": ArrayForm("number", ("pms",), low=0),
        "traffic_pairs": ArrayForm("integer", (2, "pairs"), low=0, below="size"),
        "traffic": ArrayForm("number", ("pairs",), low=0),
        "latency_links": ArrayForm("integer", (2, "links"), low=0, below="pms"),
        "latencies": ArrayForm("number", ("links",), low=0),
        "allocation": ArrayForm("integer", ("size",), low=0, below="pms", optional=True),
        "vm_names": ArrayForm("text", ("size",), optional=True),
        "pm_names": ArrayForm("text", ("pms",), optional=True),
        "tenant_names": ArrayForm("text", (None,), optional=True),
    },
    solution=ArrayForm("integer", ("size",), low=0, below="pms"),
)


class Cloud(NamedTuple):
    """VMs with their demands and traffic, PMs with their capacities and links.

    Attributes:
        demands: (V, 4) per resource
        capacities: (P, 4)
        tenants: (V,)
        vulnerability: (V,) probability that the VM is broken into
        escape: (P,) probability that a broken VM reaches its neighbours on the PM
        idle: (P,) power of an active PM without load
        peak: (P,) power at full CPU use
        first: (V + 1,), VM v talks to ``peers[first[v]:first[v + 1]]``
        peers: (2 M,)
        volumes: (2 M,)
        tenant_share: one over the number of tenants
    """

    demands: Array
    capacities: Array
    tenants: Array
    vulnerability: Array
    escape: Array
    idle: Array
    peak: Array
    first: Array
    peers: Array
    volumes: Array
    tenant_share: float

    @property
    def num_vms(self) -> int:
        """V."""
        return len(self.tenants)

    @property
    def num_pms(self) -> int:
        """P."""
        return len(self.escape)


class Links(NamedTuple):
    """Latency links between PMs: those of p are ``first[p]`` to ``first[p + 1]``.

    Attributes:
        first: (P + 1,)
        heads: (2 L,)
        lengths: (2 L,)
    """

    first: Array
    heads: Array
    lengths: Array


def cloud_of(instance: Instance) -> Cloud:
    """The cloud of an instance, checked."""
    vms = instance.array("vm_demands").shape[0]
    pms = instance.array("pm_capacities").shape[0]
    if vms != instance.size or pms < 1:
        raise InstanceError(
            f"instance {instance.name!r}: {vms} VMs and {pms} PMs, its size says {instance.size} "
            "VMs and it needs a PM"
        )
    tenants = np.array(instance.array("tenants"), dtype=np.int64)
    if tenants.shape != (vms,) or tenants.min() < 0:
        raise InstanceError(f"instance {instance.name!r}: tenants must be {vms} ids from 0 on")
    pairs, traffic = _weighted_pairs(instance, "traffic_pairs", "traffic", vms)
    lists = adjacency(vms, pairs)
    return Cloud(
        demands=_amounts(instance, "vm_demands", (vms, 4)),
        capacities=_amounts(instance, "pm_capacities", (pms, 4)),
        tenants=tenants,
        vulnerability=_amounts(instance, "vm_vulnerability", (vms,)),
        escape=_amounts(instance, "pm_escape", (pms,)),
        idle=_amounts(instance, "pm_idle", (pms,)),
        peak=_amounts(instance, "pm_peak", (pms,)),
        first=lists.first,
        peers=lists.neighbours,
        volumes=np.ascontiguousarray(traffic[lists.edge_ids]),
        tenant_share=1.0 / len(np.unique(tenants)),
    )


def links_of(instance: Instance) -> Links:
    """The latency links of an instance, checked: every PM can be reached."""
    pms = instance.array("pm_capacities").shape[0]
    pairs, lengths = _weighted_pairs(instance, "latency_links", "latencies", pms)
    lists = adjacency(pms, pairs)
    reached = np.zeros(pms, dtype=bool)
    reached[0] = True
    front = [0]
    while front:
        p = front.pop()
        near = lists.neighbours[lists.first[p] : lists.first[p + 1]]
        new = near[~reached[near]]
        reached[new] = True
        front.extend(new.tolist())
    if not reached.all():
        raise InstanceError(
            f"instance {instance.name!r}: no latency links lead to PM {int(reached.argmin())}"
        )
    return Links(lists.first, lists.neighbours, np.ascontiguousarray(lengths[lists.edge_ids]))


def _weighted_pairs(instance: Instance, name: str, weights: str, n: int) -> tuple[Array, Array]:
    pairs = np.array(instance.array(name), dtype=np.int64)
    where = f"instance {instance.name!r}: {name}"
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise InstanceError(f"{where} has shape {pairs.shape}, expected (2, any)")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        bad = int(pairs.min() if pairs.min() < 0 else pairs.max())
        raise InstanceError(f"{where} names {bad}, they go from 0 to {n - 1}")
    if (pairs[0] == pairs[1]).any():
        raise InstanceError(f"{where} joins {pairs[0, (pairs[0] == pairs[1]).argmax()]} to itself")
    codes = pairs.min(axis=0) * n + pairs.max(axis=0)
    if len(np.unique(codes)) != len(codes):
        raise InstanceError(f"{where} has a pair twice; join them")
    return pairs, _amounts(instance, weights, (pairs.shape[1],))


def _amounts(instance: Instance, name: str, shape: tuple[int, ...]) -> Array:
    values = np.array(instance.array(name), dtype=np.float64)
    where = f"instance {instance.name!r}: {name}"
    if values.shape != shape:
        raise InstanceError(f"{where} has shape {values.shape}, expected {shape}")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InstanceError(f"{where} must not be negative, the smallest is {values.min()}")
    return values


def checked_allocation(allocation: Any, instance: Instance) -> Array:
    """Hosts (V,) that respect all capacities, or an error that names the PM that does not."""
    error: type[LagcoError] = UsageError
    if allocation is instance.arrays.get("allocation"):
        error = InstanceError
    hosts = np.asarray(allocation)
    demands, capacities = instance.array("vm_demands"), instance.array("pm_capacities")
    vms, pms = len(demands), len(capacities)
    if hosts.shape != (vms,) or hosts.dtype.kind not in "iu":
        raise error(
            f"the allocation of {instance.name!r} must be {vms} PMs, got {hosts.dtype} of shape "
            f"{hosts.shape}"
        )
    if hosts.min() < 0 or hosts.max() >= pms:
        bad = hosts.min() if hosts.min() < 0 else hosts.max()
        raise error(f"the allocation of {instance.name!r} names PM {bad}, they go to {pms - 1}")
    used = np.zeros((pms, 4))
    np.add.at(used, hosts, demands)
    full = np.flatnonzero((used > capacities * (1.0 + 1e-9)).any(axis=1))
    if full.size:
        raise error(f"the allocation of {instance.name!r} puts more on PM {full[0]} than it holds")
    return hosts.astype(np.int64)
