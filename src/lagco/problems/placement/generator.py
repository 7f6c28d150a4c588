"""Random `placement` instances over the paper's ranges, and large ones with sparse traffic."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.generator import draw_tree
from lagco.problems.placement.cloud import cloud_of
from lagco.problems.placement.references.first_fit import first_fit
from lagco.results.numbers import of_things

MACHINES = (10, 50)
TENANTS = (2, 5)
#: lowest and highest value of the smaller and of the larger end of a range, per resource
CAPACITIES = {
    "pe": ((8, 16), (32, 128)),
    "mips": ((1000, 5000), (10000, 50000)),
    "memory": ((32, 64), (128, 512)),
    "storage": ((100, 500), (1000, 5000)),
}
DEMANDS = {
    "pe": ((2, 4), (8, 16)),
    "mips": ((100, 500), (750, 1000)),
    "memory": ((1, 8), (16, 24)),
    "storage": ((10, 50), (60, 100)),
}
VULNERABILITY = ((0.01, 0.1), (0.2, 1.0))
ESCAPE = ((0.01, 0.1), (0.2, 0.33))
LATENCY = ((0.1, 1.0), (2.0, 8.0))
IDLE_POWER = (50.0, 100.0)
PEAK_POWER = (150.0, 300.0)
TRAFFIC = (1.0, 10.0)
TRAFFIC_DENSITY = 0.8
MORE_LINKS = 0.1
_ATTEMPTS = 1000


#: VMs of a cluster, by cores: their share, and GiB of memory per core
SIZES = {1: 0.16, 2: 0.24, 4: 0.26, 8: 0.2, 16: 0.09, 32: 0.05}
MEMORY_PER_CORE = (2, 4, 8)
#: cores and GiB of memory of the PMs of a cluster
HOST = (88.0, 384.0)
#: VMs that come and leave after a cluster was filled, over those that it holds
_TURNOVER = 3


def draw_cluster(rng: np.random.Generator, n_vms: int, load: float) -> Instance:
    """A cluster of equal PMs after long use: VMs arrive by best fit and leave at random.

    VMs have the sizes in which clouds are sold, no traffic and one tenant.

    Args:
        rng: source of everything random.
        n_vms: VMs.
        load: share of the cores that they use.
    """
    if not (n_vms >= 2 and 0.0 < load <= 0.98):
        raise InstanceError(
            f"placement: a cluster of {n_vms} VMs at a load of {load}; give 2 or more, and a load "
            "above 0, at most 0.98"
        )
    cores, shares = np.array(list(SIZES)), np.array(list(SIZES.values()))
    count = n_vms * (1 + _TURNOVER)
    demands = np.zeros((count, 4))
    demands[:, 0] = rng.choice(cores, size=count, p=shares)
    demands[:, 2] = demands[:, 0] * rng.choice(MEMORY_PER_CORE, size=count, p=(0.4, 0.4, 0.2))
    pms = max(2, int(np.ceil(demands[:n_vms, 0].sum() / (load * HOST[0]))))
    room = np.tile([HOST[0], 0.0, HOST[1], 0.0], (pms, 1))
    capacities, hosts = room.copy(), np.full(count, -1)
    present: list[int] = []
    for v in range(count):
        if len(present) == n_vms:
            gone = present.pop(int(rng.integers(n_vms)))
            room[hosts[gone]] += demands[gone]
        while True:
            fitting = np.flatnonzero((room >= demands[v]).all(axis=1))
            if fitting.size:
                break
            demands[v] /= 2.0  # what has no room comes in a smaller size
        hosts[v] = fitting[room[fitting, 0].argmin()]
        room[hosts[v]] -= demands[v]
        present.append(v)
    order = np.sort(present)
    star = np.stack([np.zeros(pms - 1, dtype=np.int32), np.arange(1, pms, dtype=np.int32)])
    return Instance(
        problem="placement",
        name="",
        size=n_vms,
        arrays={
            "vm_demands": demands[order],
            "pm_capacities": capacities,
            "tenants": np.zeros(n_vms, dtype=np.int32),
            "vm_vulnerability": np.zeros(n_vms),
            "pm_escape": np.zeros(pms),
            "pm_idle": np.full(pms, IDLE_POWER[0]),
            "pm_peak": np.full(pms, PEAK_POWER[1]),
            "traffic_pairs": np.empty((2, 0), dtype=np.int32),
            "traffic": np.empty(0),
            "latency_links": star,
            "latencies": np.ones(pms - 1),
            "allocation": hosts[order].astype(np.int32),
        },
        params={"load": load},
    )


def draw_cloud(
    rng: np.random.Generator,
    n_vms: int | None = None,
    n_pms: int | None = None,
    peers: int | None = None,
) -> Instance:
    """A cloud with room for all its VMs.

    Args:
        rng: source of everything random.
        n_vms: VMs; 10 to 50 by default.
        n_pms: PMs; 10 to 50 by default.
        peers: VMs of its tenant that each VM talks to; by default every pair of a tenant does with
            probability 0.8, which is a lot for thousands of VMs.
    """
    while True:
        vms = int(rng.integers(*MACHINES, endpoint=True)) if n_vms is None else n_vms
        pms = int(rng.integers(*MACHINES, endpoint=True)) if n_pms is None else n_pms
        if vms < 2 or pms < 2:
            raise InstanceError(
                f"placement: {of_things(vms, 'VMs')} and {of_things(pms, 'PMs')} are too few, "
                "give 2 or more"
            )
        for _ in range(_ATTEMPTS):
            instance = _draw(rng, vms, pms, peers)
            if first_fit(cloud_of(instance)) is not None:
                return instance
        if n_vms is not None and n_pms is not None:
            raise InstanceError(
                f"placement: {of_things(vms, 'VMs')} never fitted on {of_things(pms, 'PMs')} in "
                f"{_ATTEMPTS} draws; give fewer VMs or more PMs"
            )


def _draw(rng: np.random.Generator, vms: int, pms: int, peers: int | None) -> Instance:
    params: dict[str, Any] = {}

    def values(name: str, ranges: Any, count: int) -> Array:
        """Uniform between two ends that are drawn too; whole numbers where the ranges are."""
        whole = isinstance(ranges[0][0], int)
        low, high = (_uniform(rng, end[0], end[1], None, whole).item() for end in ranges)
        params[f"{name}_min"], params[f"{name}_max"] = low, high
        return _uniform(rng, low, high, count, whole).astype(np.float64)

    tenants = int(rng.integers(*TENANTS, endpoint=True))
    params["n_tenants"] = tenants
    capacities = [values(f"pm_capacity_{name}", CAPACITIES[name], pms) for name in CAPACITIES]
    demands = [values(f"vm_demand_{name}", DEMANDS[name], vms) for name in DEMANDS]
    owner = np.concatenate([np.arange(min(tenants, vms)), rng.integers(tenants, size=vms)])[:vms]
    owner = rng.permutation(owner)
    pairs = _dense_pairs(rng, owner) if peers is None else _peer_pairs(rng, owner, peers)
    links = _draw_links(rng, pms)
    idle, peak = float(rng.uniform(*IDLE_POWER)), float(rng.uniform(*PEAK_POWER))
    params |= {"p_idle": idle, "p_peak": peak, "min_traffic": TRAFFIC[0], "max_traffic": TRAFFIC[1]}
    params |= {"traffic_density": TRAFFIC_DENSITY} if peers is None else {"peers": peers}
    return Instance(
        problem="placement",
        name="",
        size=vms,
        arrays={
            "vm_demands": np.stack(demands, axis=1),
            "pm_capacities": np.stack(capacities, axis=1),
            "tenants": owner.astype(np.int32),
            "vm_vulnerability": values("vm_vuln_prob", VULNERABILITY, vms),
            "pm_escape": values("pm_escape_prob", ESCAPE, pms),
            "pm_idle": np.full(pms, idle),
            "pm_peak": np.full(pms, peak),
            "traffic_pairs": pairs.astype(np.int32),
            "traffic": _uniform(rng, *TRAFFIC, pairs.shape[1], whole=False),
            "latency_links": links.astype(np.int32),
            "latencies": values("latency", LATENCY, links.shape[1]),
        },
        params=params,
    )


def _uniform(
    rng: np.random.Generator, low: float, high: float, count: int | None, whole: bool
) -> Array:
    if whole:
        return np.asarray(rng.integers(int(low), int(high), size=count, endpoint=True))
    return np.asarray(rng.uniform(low, high, size=count))


def _dense_pairs(rng: np.random.Generator, owner: Array) -> Array:
    """Every pair of VMs of a tenant with the paper's density."""
    u, v = np.triu_indices(len(owner), k=1)
    own = np.flatnonzero(owner[u] == owner[v])
    kept = own[rng.random(len(own)) < TRAFFIC_DENSITY]
    return np.stack([u[kept], v[kept]])


def _peer_pairs(rng: np.random.Generator, owner: Array, peers: int) -> Array:
    """Each VM with `peers` others of its tenant (one less if odd, fewer in a small tenant).

    The VMs of a tenant stand in a random circle, each talks to those at a few random distances.
    """
    found = [np.empty((2, 0), dtype=np.int64)]
    for tenant in np.unique(owner):
        circle = rng.permutation(np.flatnonzero(owner == tenant))
        distances = np.arange(1, (len(circle) - 1) // 2 + 1)
        for distance in rng.choice(distances, size=min(peers // 2, len(distances)), replace=False):
            found.append(np.stack([circle, np.roll(circle, distance)]))
    pairs = np.sort(np.concatenate(found, axis=1), axis=0)
    return np.asarray(pairs[:, np.lexsort((pairs[1], pairs[0]))])


def _draw_links(rng: np.random.Generator, pms: int) -> Array:
    """A uniformly random tree and 10 % more links."""
    tree = draw_tree(rng, pms)
    taken = set(map(tuple, tree.T.tolist()))
    wanted = len(taken) + min(round(MORE_LINKS * (pms - 1)), pms * (pms - 1) // 2 - (pms - 1))
    more: list[tuple[int, int]] = []
    while len(taken) < wanted:
        u, v = np.sort(rng.integers(pms, size=2)).tolist()
        if u != v and (u, v) not in taken:
            taken.add((u, v))
            more.append((u, v))
    return np.concatenate([tree, np.array(more, dtype=np.int64).reshape(-1, 2).T], axis=1)
