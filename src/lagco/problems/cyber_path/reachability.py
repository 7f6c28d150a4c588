"""Hosts that can be owned at all: the closure over possible attacks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance, SolverReference, SweepReference
from lagco.instances.catalogue import LOCAL_BIT, PRIVILEGE_BIT
from lagco.instances.instance import Status
from lagco.problems.cyber_path.catalogue.outcomes import (
    ADMIN,
    DENIAL,
    DISCOVERY,
    ESCALATION,
    OWNING,
    RECON,
    USER,
)
from lagco.problems.cyber_path.kernels import reaches
from lagco.problems.cyber_path.network import Network, read_network
from lagco.runtime.stopping import stop_flag


def plain_bounds(instance: Instance) -> SweepReference:
    """All hosts and none."""
    return SweepReference(float(instance.size), 0.0, None, None, sweeps=0)


def solve_reachability(instance: Instance) -> SolverReference:
    """Most hosts that any episode can own, and attacks that own them.

    Not from every start, and so not proven, where the work was asked to stop.
    """
    network = read_network(instance)
    sizes = reachable_sizes(network, lucky=True)
    certainty: Status = "best-known" if stop_flag()[0] else "optimal"
    start = int(sizes.argmax())
    plan = attack_plan(network, start)
    return SolverReference(float(sizes[start]), certainty, "reachability", plan)


def improve_attacks(instance: Instance, attacks: Array | None) -> Array:
    """Attacks that own all that can be owned with luck from the host that `attacks` begin at.

    Without them, from the instance's start, or else from the best one.
    """
    network = read_network(instance)
    start = instance.params.get("start")
    if attacks is not None:
        if not len(attacks):
            return attacks
        start = attacks[0][0]
    elif start is None:
        start = reachable_sizes(network, lucky=True).argmax()
    plan = attack_plan(network, int(start))
    if attacks is None or replay(network, plan, instance.name) > replay(
        network, attacks, instance.name
    ):
        return plan
    return attacks


def reachable_sizes(network: Network, lucky: bool) -> Array:
    """Hosts that can be owned from each start: int64 (n,); 0 where the work was asked to stop.

    With luck, everything is visible at once (where its chance is not 0) and nothing is detected: no
    episode can own more. Without, only the start is visible, but attempts are repeated until they
    succeed: an agent that is patient and lists its options owns as many.
    """
    facts, stop = _facts(network), stop_flag()
    sizes = np.zeros(network.size, dtype=np.int64)
    for start in range(network.size):
        sizes[start] = _closure(facts, start, lucky)[0]
        if stop[0]:
            break
    return sizes


def attacked(network: Network, start: int) -> tuple[int, Array]:
    """Hosts that can be owned with luck from a start, and attacks (k, 3) that own them.

    Their last parts are positions in the lists of the targets.
    """
    total, count, steps = _closure(_facts(network), start, True)
    return int(total), steps[:count]


def attack_plan(network: Network, start: int) -> Array:
    """Attacks (k, 3) that own all that can be owned with luck from `start`."""
    plan = attacked(network, start)[1]
    plan[:, 2] = network.vulns[plan[:, 1], plan[:, 2]]
    return np.asarray(plan)


def _facts(network: Network) -> tuple[Any, ...]:
    chances = network.chances
    return (
        network.counts,
        network.codes,
        network.reach,
        chances["p_detection"] < 1.0,
        chances["p_recon"] > 0.0,
        chances["p_feature_visible"] > 0.0,
    )


@njit(cache=True, nogil=True)
def _closure(facts, start, lucky):  # type: ignore[no-untyped-def]
    """Owned hosts, number of steps, steps (k, 3): source, target, position."""
    counts, codes, reach, can_succeed, can_find, can_show = facts
    n = len(counts)
    steps = np.empty((3 * n + 2, 3), dtype=np.int64)
    done = 0
    owned = np.zeros(n, dtype=np.bool_)
    privilege = np.zeros(n, dtype=np.int64)
    owned[start] = True
    privilege[start] = USER
    strongest = start  # owned host with the highest privilege
    total = 1
    found = lucky and can_find
    explored = lucky and can_show
    changed = can_succeed
    while changed:
        changed = False
        for target in range(n):
            if not owned[target] and not (found and explored):
                continue
            for position in range(counts[target]):
                code = codes[target, position]
                if code & DENIAL:
                    continue
                needed = code >> PRIVILEGE_BIT
                source = target if code >> LOCAL_BIT & 1 else strongest
                if source != target and not reaches(reach, source, target, position):
                    source = _reaching(target, position, needed, owned, privilege, reach)
                if source < 0 or not owned[source] or privilege[source] < needed:
                    continue
                useful = False
                if code & OWNING and not owned[target]:
                    owned[target] = True
                    privilege[target] = max(privilege[target], USER)
                    total += 1
                    useful = True
                if code & ESCALATION and privilege[target] < ADMIN:
                    privilege[target] = ADMIN
                    useful = True
                if code & RECON and can_find and not found:
                    found = True
                    useful = True
                if code & DISCOVERY and not explored:
                    explored = True
                    useful = True
                if owned[target] and privilege[target] > privilege[strongest]:
                    strongest = target
                if useful:
                    changed = True
                    steps[done, 0] = source
                    steps[done, 1] = target
                    steps[done, 2] = position
                    done += 1
    return total, done, steps


@njit(cache=True)
def _reaching(target, position, needed, owned, privilege, reach):  # type: ignore[no-untyped-def]
    """An owned host that reaches a vulnerability with the privilege it needs; -1 without one."""
    for source in range(owned.shape[0]):
        able = owned[source] and privilege[source] >= needed
        if able and reaches(reach, source, target, position):
            return source
    return -1


class Replay:
    """Attack steps that succeed, one after the other.

    Args:
        network: that is attacked.
        start: host that is owned first.
    """

    def __init__(self, network: Network, start: int) -> None:
        n = network.size
        self._network = network
        self._owned, self._stopped = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._privilege = np.zeros(n, dtype=np.int64)
        self._owned[start] = True
        self._privilege[start] = USER

    @property
    def owned(self) -> int:
        """Hosts owned so far."""
        return int(self._owned.sum())

    def take(self, source: int, target: int, vulnerability: int) -> str | None:
        """Take a step; what is against the rules in it, where it cannot be taken."""
        network, privilege = self._network, self._privilege
        positions = np.flatnonzero(network.vulns[target] == vulnerability)
        if vulnerability < 0 or not len(positions):
            return f"host {target} does not have that vulnerability"
        code = int(network.codes[target, positions[0]])
        allowed = self._owned[source] and not self._stopped[source] and not self._stopped[target]
        near = source == target or not code >> LOCAL_BIT & 1
        near = near and reaches(network.reach, source, target, positions[0])
        if not (allowed and near and privilege[source] >= code >> PRIVILEGE_BIT):
            return "the source cannot do that"
        if code & OWNING:
            self._owned[target] = True
            privilege[target] = max(privilege[target], USER)
        if code & ESCALATION:
            privilege[target] = ADMIN
        self._stopped[target] |= bool(code & DENIAL)
        return None


def replay(network: Network, solution: Any, name: str) -> int:
    """Hosts owned after attack steps (k, 3): source host, target host, vulnerability.

    Raises:
        InstanceError: a step is against the rules; the message names it.
    """
    steps = np.asarray(solution, dtype=np.int64).reshape(-1, 3)
    if not len(steps):
        return 1
    n = network.size
    if steps[:, :2].min() < 0 or steps[:, :2].max() >= n:
        raise InstanceError(f"attack steps on {name!r} name hosts outside 0 to {n - 1}")
    taken = Replay(network, int(steps[0, 0]))
    for number, (source, target, vulnerability) in enumerate(steps.tolist()):
        fault = taken.take(source, target, vulnerability)
        if fault is not None:
            where = f"attack step {number} on {name!r} ({source} to {target}, {vulnerability})"
            raise InstanceError(f"{where}: {fault}")
    return taken.owned
