"""Hand-made networks for the tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.instances import Instance
from lagco.instances.catalogue import load_catalogue
from lagco.problems.cyber_path import CyberPath

# one vulnerability per purpose; what they do is checked in test_catalogue.py
OWN = "java-expression-injection"  # remote, none: lateral movement
OWN_BY_CREDENTIALS = "ssh-password-guessing"  # remote, none: credential access
ESCALATE = "linux-sudo-heap-overflow"  # local, user: privilege escalation
SCAN = "cache-client-list"  # remote, none: reconnaissance
EXPLORE = "ssh-known-hosts-readable"  # local, user: reconnaissance, discovery
REMOTE_EXPLORE = "web-directory-listing"  # remote, none: reconnaissance, discovery
EVADE = "nms-alarm-suppression"  # remote, user: defence evasion
LOCAL_EVADE = "linux-audit-log-writable"  # local, user: defence evasion
TAKE_DATA = "backup-restore-anywhere"  # remote, user: collection, exfiltration
PERSIST = "ftp-anonymous-write"  # remote, none: collection, persistence
STOP = "web-slow-request-exhaustion"  # remote, none: denial of service
ADMIN_ENTRY = "smb-administrative-share"  # remote, admin: lateral movement
ADMIN_ONLY = "cms-theme-editor"  # remote, admin: defence evasion, persistence


def network(
    vulns: Sequence[Sequence[str]], data: Sequence[int] | None = None, **params: Any
) -> Instance:
    """An instance with these vulnerabilities per host; everything visible, nothing detected."""
    catalogue = load_catalogue()
    services = [
        sorted({catalogue.vulnerabilities[catalogue.vulnerability_index[v]].service for v in row})
        for row in vulns
    ]
    chances = {"p_recon": 1.0, "p_feature_visible": 1.0, "p_detection": 0.0, "p_data_present": 0.5}
    return Instance(
        problem="cyber-path",
        name="tiny",
        size=len(vulns),
        arrays={
            "vulns": np.array(padded(vulns)),
            "services": np.array(padded(services)),
            "data": np.array(data if data is not None else [0] * len(vulns), dtype=np.int8),
        },
        params=chances | {"start": 0} | params,
    )


def padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widest = max(1, *(len(row) for row in rows))
    return [[*row, *[""] * (widest - len(row))] for row in rows]


def begun(instance: Instance, seed: int = 0, **options: Any) -> CyberPath:
    """An environment at the start of an episode from host 0."""
    env = CyberPath(instance, start="current", **options)
    env.reset(seed=seed)
    return env


def attack(env: CyberPath, source: int, target: int, vulnerability: str) -> dict[str, Any]:
    """Carry out an attack given by hosts and id; return the info."""
    action = attack_action(env, source, target, vulnerability)
    assert env.is_valid_action(action)
    return env.step(action)[4]


def attack_action(env: CyberPath, source: int, target: int, vulnerability: str) -> Any:
    rows = {int(host): row for row, host in enumerate(env.host_of)}
    known = env.graph_views()["attack_G"].nodes["vulns"][rows[target]]
    position = known.index(load_catalogue().vulnerability_index[vulnerability])
    return np.array([rows[source], rows[target], position])


def points(env: CyberPath, info: dict[str, Any]) -> dict[str, float]:
    """Reward terms in points."""
    hosts = env.instance.size
    return {name: round(term * 20 * hosts, 9) for name, term in info["reward_terms"].items()}


def node(env: CyberPath, host: int, column: str) -> Any:
    """Value of a column of the view for a host."""
    row = env.host_of.tolist().index(host)
    return env.graph_views()["attack_G"].nodes[column][row]
