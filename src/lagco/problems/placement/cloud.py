"""Virtual and physical machines of an instance, as the arrays that compiled code walks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import ArrayForm, Instance, InstanceForm
from lagco.problems.adjacency import adjacency
from lagco.results.numbers import of_things

RESOURCES = ("pe", "mips", "memory", "storage")
PE, MEMORY = 0, 2
#: ids of tenants are smaller, since tenants are counted by id
MOST_TENANTS = 1 << 20

#: a PM is not too full if it is so by rounding alone
SLACK = 1.0 + 1e-12
#: cores of the VM for which free cores are kept together, where that is an aim
FRAGMENT = 16.0
#: room of a PM that is to be emptied: nothing fits
_NO_ROOM = -1.0
#: arrays that limit allocations beyond the capacities
DRAINED, HEADROOM, APART, TOGETHER = "drained", "headroom", "apart", "together"
#: array of weights, by aim
AIMS = "aims"

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
        DRAINED: ArrayForm("integer", ("pms",), low=0, below=2, optional=True),
        HEADROOM: ArrayForm("number", (4,), low=0, below=1, optional=True),
        APART: ArrayForm("integer", (2, "pairs apart"), low=0, below="size", optional=True),
        TOGETHER: ArrayForm("integer", (2, "pairs together"), low=0, below="size", optional=True),
        AIMS: ArrayForm("number", (6,), low=0, optional=True),
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
        room: (P, 4) up to which VMs may come: the capacity less the headroom, below 0 on a PM that
            is to be emptied
        strange_first: (V + 1,), VM v may share no PM with
            ``strangers[strange_first[v]:strange_first[v + 1]]``
        strangers: (2 A,)
        mate_first: (V + 1,), VM v has to share its PM with
            ``mates[mate_first[v]:mate_first[v + 1]]``
        mates: (2 B,)
        block: cores that are to be free in one piece; 0 where that is no aim
        spare: cores that are free in all
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
    room: Array
    strange_first: Array
    strangers: Array
    mate_first: Array
    mates: Array
    block: float
    spare: float

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
            f"instance {instance.name!r}: {of_things(vms, 'VMs')} and {of_things(pms, 'PMs')}, "
            f"its size says {instance.size} VMs and it needs a PM"
        )
    tenants = np.array(instance.array("tenants"), dtype=np.int64)
    if tenants.shape != (vms,) or tenants.min() < 0:
        raise InstanceError(f"instance {instance.name!r}: tenants must be {vms} ids from 0 on")
    pairs, traffic = _weighted_pairs(instance, "traffic_pairs", "traffic", vms)
    lists = adjacency(vms, pairs)
    demands = _amounts(instance, "vm_demands", (vms, 4))
    capacities = _amounts(instance, "pm_capacities", (pms, 4))
    drained = drained_hosts(instance)
    apart, together = (adjacency(vms, pairs_of(instance, name)) for name in (APART, TOGETHER))
    return Cloud(
        demands=demands,
        capacities=capacities,
        tenants=tenants,
        vulnerability=_amounts(instance, "vm_vulnerability", (vms,)),
        escape=_amounts(instance, "pm_escape", (pms,)),
        idle=_amounts(instance, "pm_idle", (pms,)),
        peak=_amounts(instance, "pm_peak", (pms,)),
        first=lists.first,
        peers=lists.neighbours,
        volumes=np.ascontiguousarray(traffic[lists.edge_ids]),
        tenant_share=1.0 / len(np.unique(tenants)),
        room=np.where(drained[:, None], _NO_ROOM, capacities * (1.0 - headroom(instance)) * SLACK),
        strange_first=apart.first,
        strangers=apart.neighbours,
        mate_first=together.first,
        mates=together.neighbours,
        block=FRAGMENT if weights_of(instance)[-1] > 0.0 else 0.0,
        spare=max(0.0, float(capacities[~drained, PE].sum() - demands[:, PE].sum())),
    )


def drained_hosts(instance: Instance) -> Array:
    """PMs that are to be emptied: bool (P,)."""
    pms = instance.array("pm_capacities").shape[0]
    return instance.arrays.get(DRAINED, np.zeros(pms, dtype=np.int8)).astype(bool)


def headroom(instance: Instance) -> Array:
    """Share of every resource that stays free: (4,)."""
    return np.asarray(instance.arrays.get(HEADROOM, np.zeros(4)), dtype=np.float64)


def pairs_of(instance: Instance, name: str) -> Array:
    """Pairs (2, k) of VMs that are to be apart, or together; each once."""
    pairs = np.asarray(instance.arrays.get(name, np.empty((2, 0))), dtype=np.int64)
    return np.unique(np.sort(pairs, axis=0), axis=1)


def weights_of(instance: Instance) -> Array:
    """Weights (6,) of the aims, which sum to 5; by default each of the five counts 1."""
    given = instance.arrays.get(AIMS)
    if given is None:
        return np.array([1.0] * 5 + [0.0])
    total = float(given.sum())
    if not total > 0.0:
        raise InstanceError(
            f"instance {instance.name!r}: every aim has the weight 0; give one more"
        )
    return np.asarray(given, dtype=np.float64) * (5.0 / total)


def links_of(instance: Instance) -> Links:
    """The latency links of an instance, checked: every PM can be reached."""
    from scipy.sparse import csr_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    pms = instance.array("pm_capacities").shape[0]
    pairs, lengths = _weighted_pairs(instance, "latency_links", "latencies", pms)
    lists = adjacency(pms, pairs)
    graph = csr_array((np.ones(pairs.shape[1]), (pairs[0], pairs[1])), shape=(pms, pms))
    reached = connected_components(graph, directed=False)[1] == 0
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
