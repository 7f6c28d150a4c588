"""Compiled rules over the agent's knowledge: validity and promise of attacks.

Arrays are in rows (visible hosts in order of discovery). None holds anything hidden.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances.catalogue import LOCAL_BIT, PRIVILEGE_BIT
from lagco.problems.cyber_path.catalogue.outcomes import (
    COLLECTION,
    DENIAL,
    DENIAL_POINTS,
    DETECTED_POINTS,
    DISCOVERY,
    DISCOVERY_POINTS,
    ESCALATION,
    ESCALATION_POINTS,
    EVASION,
    EVASION_POINTS,
    EXFILTRATION,
    OWNED_POINTS,
    OWNING,
    PERSISTENCE,
    RECON,
    RECON_POINTS,
    SMALL_POINTS,
)
from lagco.problems.cyber_path.network import VULNERABILITIES


class Known(NamedTuple):
    """Arrays of :class:`~lagco.problems.cyber_path.knowledge.Knowledge`.

    Attributes:
        taken: int32 (n,) outcomes that took effect, as bits
        privilege: int8 (n,) that is held
        counts: int32 (n,) known vulnerabilities
        codes: int32 (n, V) of these
        shown: int8 (n, 4) feature groups that are shown
        data_chance: (n,) chance that there is data
        gain: (n,) the best promise over 20 points; a survey writes this and the rest
        risk: (n,) chance of detection
        locked: (n,) whether all known ways in need more privilege than any usable source holds
        base: (n,) whether it is the first of the usable sources with the highest privilege
        ahead: (n, V, AHEAD) per known vulnerability its promise, which of its outcomes have not
            taken effect on its host, and what it opens: hosts found, hosts shown, hosts unlocked
            (log1p each), risk removed
        host: int64 (n,) host of each row
        reach: int8 (n, n, V) what hosts reach; (0, 0, 0) where they reach everything
    """

    taken: Array
    privilege: Array
    counts: Array
    codes: Array
    shown: Array
    data_chance: Array
    gain: Array
    risk: Array
    locked: Array
    base: Array
    ahead: Array
    host: Array
    reach: Array


@njit(cache=True)
def reaches(reach, source, target, position):  # type: ignore[no-untyped-def]
    """Whether a host reaches the service of a vulnerability on another; its own it always does."""
    return reach.shape[0] == 0 or source == target or reach[source, target, position] != 0


@njit(cache=True, inline="always")
def _fits(source, target, position, known):  # type: ignore[no-untyped-def]
    """Whether a known vulnerability of a usable target may be used from `source`."""
    taken, code = known.taken, known.codes[target, position]
    if taken[source] & OWNING == 0 or taken[source] & DENIAL != 0:
        return False
    if code >> LOCAL_BIT & 1 and source != target:
        return False
    if not reaches(known.reach, known.host[source], known.host[target], position):
        return False
    return known.privilege[source] >= code >> PRIVILEGE_BIT


@njit(cache=True)
def are_valid(actions, known):  # type: ignore[no-untyped-def]
    """Validity of raw actions (k, 3): bool (k,). Rows of hidden hosts have taken = counts = 0."""
    n, taken, counts = len(known.taken), known.taken, known.counts
    valid = np.zeros(len(actions), dtype=np.bool_)
    for a in range(len(actions)):
        source, target, position = actions[a, 0], actions[a, 1], actions[a, 2]
        if source < 0 or source >= n or target < 0 or target >= n:
            continue
        if position < 0 or position >= counts[target] or taken[target] & DENIAL != 0:
            continue
        valid[a] = _fits(source, target, position, known)
    return valid


@njit(cache=True)
def valid_mask(size, known):  # type: ignore[no-untyped-def]
    """Validity of every raw action, the last part running fastest: bool (n·n·V,)."""
    taken, counts = known.taken, known.counts
    n, width = known.codes.shape
    mask = np.zeros((n, n, width), dtype=np.bool_)
    for source in range(size):
        if taken[source] & OWNING == 0 or taken[source] & DENIAL != 0:
            continue
        for target in range(size):
            if taken[target] & DENIAL == 0:
                for position in range(counts[target]):
                    mask[source, target, position] = _fits(source, target, position, known)
    return mask.reshape(-1)


@njit(cache=True)
def list_valid(first, total, size, known):  # type: ignore[no-untyped-def]
    """`total` valid actions from the `first` on, in the order of the mask: int64 (total, 3)."""
    taken, counts = known.taken, known.counts
    listed = np.empty((total, 3), dtype=np.int64)
    found = -first
    for source in range(size):
        if taken[source] & OWNING == 0 or taken[source] & DENIAL != 0:
            continue
        for target in range(size):
            if taken[target] & DENIAL != 0:
                continue
            for position in range(counts[target]):
                if _fits(source, target, position, known):
                    if found >= 0:
                        listed[found, 0] = source
                        listed[found, 1] = target
                        listed[found, 2] = position
                    found += 1
                    if found == total:
                        return listed
    return listed


@njit(cache=True, inline="always")
def _promise(code, done, data_chance, p_detection, new_hosts):  # type: ignore[no-untyped-def]
    """Expected points of using `code` on a host where the outcomes `done` took effect."""
    fresh = code & ~done
    points = 0.0
    if code & OWNING != 0 and done & OWNING == 0:
        points += OWNED_POINTS
    if fresh & ESCALATION:
        points += ESCALATION_POINTS
    if code & RECON:
        points += RECON_POINTS * new_hosts
    if fresh & DISCOVERY:
        points += DISCOVERY_POINTS
    if fresh & EVASION:
        points += EVASION_POINTS
    if fresh & COLLECTION:
        points += SMALL_POINTS
    if fresh & EXFILTRATION:
        points += SMALL_POINTS * data_chance
    if fresh & PERSISTENCE:
        points += SMALL_POINTS
    if fresh & DENIAL:
        points += DENIAL_POINTS
    fails = 0.0 if done & EVASION else p_detection
    return (1.0 - fails) * points + fails * DETECTED_POINTS


@njit(cache=True)
def promises(actions, taken, codes, data_chance, p_detection, new_hosts):  # type: ignore[no-untyped-def]
    """Expected points of valid actions (k, 3): (k,)."""
    values = np.empty(len(actions))
    for a in range(len(actions)):
        target = actions[a, 1]
        code = codes[target, actions[a, 2]]
        values[a] = _promise(code, taken[target], data_chance[target], p_detection, new_hosts)
    return values


@njit(cache=True)
def survey(size, known, p_detection, p_least, new_hosts):  # type: ignore[no-untyped-def]
    """Look at everything that could be tried, and write what it promises to the known arrays.

    Returns how many actions are valid, of how many hosts the vulnerabilities are unknown, and how
    many hosts are locked.
    """
    taken, privilege, counts, codes, shown, data_chance = known[:6]
    gain, risk, locked, base, ahead = known[6:11]
    able = np.zeros(3, dtype=np.int64)  # usable sources with at least that privilege
    first = -1
    for row in range(size):
        base[row] = 0
        if taken[row] & OWNING != 0 and taken[row] & DENIAL == 0:
            for level in range(privilege[row] + 1):
                able[level] += 1
            if first < 0 or privilege[row] > privilege[first]:
                first = row
    if first >= 0:
        base[first] = 1
    num_unknown, num_locked = 0, 0
    for row in range(size):
        num_unknown += shown[row, VULNERABILITIES] == 0
        locked[row] = _is_locked(row, size, known, able)
        num_locked += locked[row]
    found, seen, unlocked = np.log1p(new_hosts), np.log1p(num_unknown), np.log1p(num_locked)
    opened = ahead.shape[2] - 4
    total = 0
    for row in range(size):
        best = 0.0
        open_here = 0
        risk[row] = 0.0 if taken[row] & EVASION else p_detection
        if taken[row] & DENIAL == 0:
            for position in range(counts[row]):
                code = codes[row, position]
                value = _promise(code, taken[row], data_chance[row], p_detection, new_hosts)
                ahead[row, position, 0] = value / OWNED_POINTS
                fresh = code & ~taken[row]
                for outcome in range(opened - 1):
                    ahead[row, position, 1 + outcome] = fresh >> outcome & 1
                admin = fresh & ESCALATION != 0 and (code | taken[row]) & OWNING != 0
                ahead[row, position, opened] = found if code & RECON else 0.0
                ahead[row, position, opened + 1] = seen if code & DISCOVERY else 0.0
                ahead[row, position, opened + 2] = unlocked if admin else 0.0
                ahead[row, position, opened + 3] = p_detection - p_least if code & EVASION else 0.0
                ways = _ways(row, position, size, known, able)
                if ways > 0:
                    if open_here == 0 or value > best:
                        best = value
                    open_here += ways
        else:
            ahead[row] = 0.0
        gain[row] = best / OWNED_POINTS
        total += open_here
    return total, num_unknown, num_locked


@njit(cache=True)
def _ways(row, position, size, known, able):  # type: ignore[no-untyped-def]
    """From how many sources a vulnerability may be used; able (3,) have at least each privilege."""
    code = known.codes[row, position]
    if code >> LOCAL_BIT & 1:
        return 1 if _fits(row, row, position, known) else 0
    if known.reach.shape[0] == 0:
        return able[code >> PRIVILEGE_BIT]
    ways = 0
    for source in range(size):
        ways += _fits(source, row, position, known)
    return ways


@njit(cache=True, inline="always")
def _is_locked(row, size, known, able):  # type: ignore[no-untyped-def]
    """Whether ways into a host that is not owned are known, but none that a source may use."""
    taken, counts, codes = known.taken, known.counts, known.codes
    if taken[row] & (OWNING | DENIAL) != 0:
        return False
    found = False
    for position in range(counts[row]):
        code = codes[row, position]
        if code & OWNING != 0 and code >> LOCAL_BIT & 1 == 0:
            found = True
            if _ways(row, position, size, known, able) > 0:
                return False
    return found
