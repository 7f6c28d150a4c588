"""`cyber-path`: small networks, in which every sequence of attacks is tried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outside.cases import SEED, WARM, Case, Comparison
from benchmarks.outside.measuring import as_numbers
from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.instances.catalogue import LOCAL_BIT, PRIVILEGE_BIT
from lagco.problems.cyber_path.catalogue.outcomes import DENIAL, ESCALATION, OWNING
from lagco.problems.cyber_path.network import read_network

SIZES = (6, 8, 10)
NETWORKS = 3


def cases(folder: Path | None) -> Iterator[Case]:
    """Small networks."""
    for n in SIZES:
        for index in range(NETWORKS):
            instance = generate_instance("cyber-path", size=n, seed=SEED, index=index)
            yield Case(f"{n} hosts", str(index), instance, rules_of(instance))


def rules_of(instance: Instance) -> dict[str, np.ndarray]:
    """What the vulnerabilities of the hosts do, and from where they can be used."""
    network = read_network(instance)
    rows, reach = [], []
    for host in range(network.size):
        for k in range(network.counts[host]):
            code = int(network.codes[host, k])
            does = [bool(code & bit) for bit in (OWNING, ESCALATION, DENIAL)]
            needs = [code >> LOCAL_BIT & 1, code >> PRIVILEGE_BIT]
            rows.append([host, int(network.vulns[host, k]), *does, *needs])
            everywhere = np.ones(network.size, dtype=int)
            reach.append(network.reach[:, host, k] if network.reach.size else everywhere)
    return as_numbers(hosts=network.size, vulnerabilities=rows, reach=np.transpose(reach))


COMPARISON = Comparison(
    problem="cyber-path",
    script="cyber_path.py",
    limited=(),
    whole=("exhaustive (proven)",),
    cases=cases,
    warm=lambda: generate_instance("cyber-path", size=SIZES[0], seed=WARM),
)
