"""Random `cyber-path` instances over the paper's ranges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances import Instance
from lagco.instances.catalogue import PRIVILEGE_BIT, Catalogue, load_catalogue
from lagco.problems.cyber_path.catalogue.outcomes import ADMIN, DISCOVERY, RECON
from lagco.problems.cyber_path.network import read_network
from lagco.problems.cyber_path.profiles import PROFILES, Slots
from lagco.problems.cyber_path.reachability import reachable_sizes
from lagco.results.numbers import of_things

NODES = (10, 20)
VULNS_PER_NODE = 5
#: share of the hosts that can be owned from every start
REACHABLE = 0.9

_NEW_SERVICE = 0.5
_ATTEMPTS = 1000


def draw_network(rng: np.random.Generator, size: int | None, profile: str) -> Instance:
    """A network of which at least 90 % of the hosts can be owned, whichever host is the start.

    Every host has a vulnerability for reconnaissance and one for discovery that its own user can
    use, so that no episode is stuck because it begins with nothing in sight.
    """
    if profile not in PROFILES:
        raise UsageError(suggest("profile", str(profile), PROFILES))
    kind = PROFILES[profile]
    n = int(rng.integers(NODES[0], NODES[1], endpoint=True)) if size is None else size
    if n < 2:
        raise InstanceError(f"cyber-path: size {n} is too small, an attack needs 2 hosts")
    params: dict[str, Any] = {
        "n_vulns_per_node": VULNS_PER_NODE,
        "vulns_overlap": float(rng.uniform(*kind.overlap)),
        "p_data_present": float(rng.uniform(*kind.data)),
        "p_feature_visible": float(rng.uniform(*kind.feature_visible)),
        "p_recon": float(rng.uniform(*kind.recon)),
        "p_detection": float(rng.uniform(*kind.detection)),
        "goal": "control",
        "fully_connected": True,
    }
    if kind.vigilance is not None:
        params["vigilance"] = float(rng.uniform(*kind.vigilance))
    for _ in range(_ATTEMPTS):
        slots = kind.slots(rng, n, VULNS_PER_NODE)
        vulns = draw_vulnerabilities(rng, slots, params["vulns_overlap"])
        data = (rng.random(n) < params["p_data_present"]).astype(np.int8)
        instance = _instance(vulns, data, params)
        reached = reachable_sizes(read_network(instance), lucky=False)
        if reached.min() >= math.ceil(REACHABLE * n):
            return instance
    raise InstanceError(
        f"cyber-path: no network of {of_things(n, 'hosts')} with enough that can be owned"
    )


def draw_vulnerabilities(rng: np.random.Generator, slots: Slots, overlap: float) -> Array:
    """Vulnerabilities of hosts, one per slot: positions in the catalogue (n, count).

    A vulnerability is shared with another host with chance `overlap`; otherwise it is one that the
    fewest hosts have, that is none as long as the entries of the slot last.
    """
    catalogue = load_catalogue()
    used = np.zeros(len(catalogue.vulnerabilities), dtype=np.int64)
    vulns = np.zeros((len(slots), len(slots[0])), dtype=np.int64)
    for host, own in enumerate(slots):
        for _ in range(_ATTEMPTS):
            vulns[host] = _draw_host(rng, catalogue, used, own, overlap)
            if _can_begin(catalogue.codes[vulns[host]]):
                break
        used[vulns[host]] += 1
    return vulns


def _draw_host(
    rng: np.random.Generator, catalogue: Catalogue, used: Array, slots: list[Array], overlap: float
) -> Array:
    """Start services one by one, with some of their vulnerabilities, until all slots are filled."""
    chosen = np.zeros(len(used), dtype=bool)
    running = np.zeros(len(catalogue.services), dtype=bool)
    service_of = catalogue.service_of
    order = []
    for slot in slots:
        free = slot & ~chosen
        shared = free & (used > 0)
        if rng.random() < overlap and shared.any():
            pool = shared
        else:
            pool = free & (used == used[free].min())
        old = pool & running[service_of]
        if old.any() and (rng.random() >= _NEW_SERVICE or old.sum() == pool.sum()):
            pool = old
        else:
            pool = pool & ~running[service_of]
        services = np.unique(service_of[pool])
        service = services[rng.integers(len(services))]
        candidates = np.flatnonzero(pool & (service_of == service))
        pick = int(candidates[rng.integers(len(candidates))])
        chosen[pick] = True
        running[service] = True
        order.append(pick)
    return np.array(order)


def _can_begin(codes: Array) -> bool:
    usable = codes[codes >> PRIVILEGE_BIT < ADMIN]
    return bool((usable & RECON).any() and (usable & DISCOVERY).any())


def _instance(vulns: Array, data: Array, params: dict[str, Any]) -> Instance:
    catalogue = load_catalogue()
    running = [sorted({catalogue.vulnerabilities[v].service for v in row}) for row in vulns]
    widest = max(len(services) for services in running)
    ids = [[catalogue.vulnerabilities[v].id for v in row] for row in vulns]
    return Instance(
        problem="cyber-path",
        name="",
        size=len(vulns),
        arrays={
            "vulns": np.array(ids),
            "services": np.array([s + [""] * (widest - len(s)) for s in running]),
            "data": data,
        },
        params=params,
    )
