"""Patches of a network: what an attacker owns without some vulnerabilities, and which to close.

A patch closes a vulnerability on every host that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED, MAX_CHANGES
from lagco.instances import Instance, References
from lagco.problems.cyber_path.network import REACH, Network, read_network
from lagco.problems.cyber_path.reachability import attacked
from lagco.runtime.stopping import stop_flag

#: array (m,): which patches are in force
PATCHED = "patched"
#: sets of patches that are kept per number of patches, in a search of effort 1; and at least
_WIDTH, _NARROWEST = 20_000, 20


def patch_names(instance: Instance) -> list[str]:
    """Vulnerabilities of a network that a patch can close, in the order of the hosts."""
    names = instance.array("vulns").reshape(-1).tolist()
    return [str(name) for name in dict.fromkeys(names) if name]


def without(arrays: dict[str, Array], closed: Array) -> dict[str, Array]:
    """Arrays of an instance without the vulnerabilities that `closed` (n, V) flags."""
    vulns = arrays["vulns"]
    order = np.argsort(closed | (vulns == ""), axis=1, kind="stable")
    left = np.where(closed, "", vulns)
    found = dict(arrays)
    found["vulns"] = np.take_along_axis(left, order, axis=1)
    if REACH in arrays:
        found[REACH] = np.take_along_axis(arrays[REACH], order[None], axis=2)
    return found


def patched_network(instance: Instance, patches: Collection[str]) -> Instance:
    """The network with these vulnerabilities closed everywhere, for an attacker."""
    closed = np.isin(instance.array("vulns"), list(patches))
    arrays = without(dict(instance.arrays), closed)
    return replace(instance, arrays=arrays, references=References())


class Attack(NamedTuple):
    """Outcome of the attacks on a network.

    Attributes:
        owned: hosts that an attacker owns with luck, a mean over starts where none is given.
        spread: the same mean over all starts.
        used: patches that would have broken one of these attacks.
    """

    owned: float
    spread: float
    used: frozenset[int]


class Patching:
    """Attacks on a network under sets of patches.

    Args:
        instance: of `cyber-path`, or of the question which patches to apply.
    """

    def __init__(self, instance: Instance) -> None:
        self.network: Network = read_network(instance)
        self.start: int | None = instance.params.get("start")
        places = {name: place for place, name in enumerate(patch_names(instance))}
        names = instance.array("vulns").tolist()
        self.patch_of = np.array([[places.get(name, -1) for name in row] for row in names])
        self.count = len(places)
        self._known: dict[frozenset[int], Attack] = {}

    def attack(self, patches: frozenset[int]) -> Attack:
        """What attackers reach where these patches are applied."""
        found = self._known.get(patches)
        if found is None:
            found = self._known[patches] = self._attack(patches)
        return found

    def _attack(self, patches: frozenset[int]) -> Attack:
        closed = np.isin(self.patch_of, list(patches))
        network = replace(self.network, codes=np.where(closed, 0, self.network.codes))
        sizes, used = [], set()
        for start in range(network.size):
            size, steps = attacked(network, start)
            sizes.append(size)
            if self.start is None or start == self.start:
                used |= set(self.patch_of[steps[:, 1], steps[:, 2]].tolist())
        spread = float(np.mean(sizes))
        owned = spread if self.start is None else float(sizes[self.start])
        return Attack(owned, spread, frozenset(used))


def best_patches(
    patching: Patching,
    begin: frozenset[int],
    allowed: frozenset[int],
    most: int,
    width: int,
    over: Callable[[], bool] = lambda: False,
) -> tuple[frozenset[int], bool]:
    """The best set of at most so many patches beyond those of `begin`, and whether it is proven.

    A set is only better if it breaks an attack that is left, so the next patch is one that this
    attack uses. Of all sets of a size, the `width` best are kept; where that drops none, nothing
    better exists.
    """
    best, proven = begin, True
    level = {begin}
    for _ in range(most):
        following = {
            patches | {patch}
            for patches in level
            for patch in (patching.attack(patches).used & allowed) - patches
        }
        if not following or patching.attack(best).owned <= 1.0:
            return best, proven
        if over():
            return best, False
        ranked = sorted(following, key=lambda p: (*patching.attack(p)[:2], sorted(p)))
        if patching.attack(ranked[0]).owned < patching.attack(best).owned:
            best = ranked[0]
        proven = proven and len(ranked) <= width
        level = set(ranked[:width])
    return best, proven


def improved(instance: Instance, patched: Array | None, effort: float) -> Array:
    """Patches (m,) that leave an attacker fewest hosts, within the limits of an instance."""
    found, _ = search(instance, patched, max(_NARROWEST, int(effort * _WIDTH)))
    return found


def search(instance: Instance, patched: Array | None, width: int) -> tuple[Array, bool]:
    """The same with a width, and whether nothing better exists within the limits."""
    patching = Patching(instance)
    before: Any = instance.arrays.get(PATCHED, np.zeros(patching.count, dtype=np.int8))
    fixed = instance.arrays.get(FIXED, np.zeros(patching.count))
    most = instance.params.get(MAX_CHANGES)
    begin = frozenset(np.flatnonzero(before).tolist())
    allowed = frozenset(np.flatnonzero((before == 0) & (fixed == 0)).tolist())
    budget = len(allowed) if most is None else min(int(most), len(allowed))
    stop = stop_flag()
    best, proven = best_patches(patching, begin, allowed, budget, width, lambda: bool(stop[0]))
    if patched is not None:
        given = frozenset(np.flatnonzero(patched).tolist())
        if patching.attack(given).owned < patching.attack(best).owned:
            best = given
    for patch in sorted(best - begin):  # what the others made needless
        if patching.attack(best - {patch}).owned <= patching.attack(best).owned:
            best = best - {patch}
    flags = np.zeros(patching.count, dtype=np.int8)
    flags[sorted(best)] = 1
    return flags, proven
