"""Values of attacks for a planner that knows the rules, and features of attacks for a ranker.

Both read what is known alone, as in :mod:`lagco.problems.cyber_path.kernels`; `ahead`, `risk` and
`locked` are those that the survey wrote. Counts of hosts are on a logarithmic scale in features.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.cyber_path.outcomes import (
    DENIAL,
    EVASION,
    LOCAL_BIT,
    OUTCOMES,
    OWNED_POINTS,
    OWNING,
    PRIVILEGE_BIT,
)

#: worth, in points: a host made visible, known or open to attack; a first refuge from detection
FOUND, SHOWN, UNLOCKED, REFUGE = 8.0, 8.0, 6.0, 4.0
#: what stopping a host costs: no attack that does is ever planned
_STOPPED = 1000.0
#: features of an attack
EACH = 26 + len(OUTCOMES)


@njit(cache=True)
def has_refuge(size, taken):  # type: ignore[no-untyped-def]
    """Whether an owned host is evaded: attempts on it are not detected."""
    found = False
    for row in range(size):
        found |= taken[row] & OWNING != 0 and taken[row] & EVASION != 0
    return found


@njit(cache=True)
def attack_worths(actions, vigilance, size, taken, codes, risk, ahead):  # type: ignore[no-untyped-def]
    """Worth of attacks (k, 3), counting what they open, with the chance that they fail: (k,).

    Own what can be owned, but first explore, become administrator and remove traces in time. The
    weights were chosen by hand.
    """
    values = np.empty(len(actions))
    refuge = has_refuge(size, taken)
    # removing traces pays until it is time to do so again
    attempts = math.sqrt(2.0 / vigilance) if vigilance > 0.0 else 0.0
    opened = ahead.shape[2] - 4
    for a in range(len(actions)):
        target, position = actions[a, 1], actions[a, 2]
        code, done = codes[target, position], taken[target]
        fresh = code & ~done
        given = ahead[target, position]
        worth = 0.0
        if code & OWNING != 0 and done & OWNING == 0:
            worth += OWNED_POINTS
        worth += FOUND * math.expm1(given[opened]) + SHOWN * math.expm1(given[opened + 1])
        worth += UNLOCKED * math.expm1(given[opened + 2])
        worth += OWNED_POINTS * attempts * given[opened + 3]
        if vigilance > 0.0 and not refuge and fresh & EVASION != 0 and done & OWNING != 0:
            worth += REFUGE
        if fresh & DENIAL != 0:
            worth -= _STOPPED
        chance = risk[target]
        values[a] = (1.0 - chance) * worth - chance * 0.5 * OWNED_POINTS * vigilance
    return values


@njit(cache=True)
def describe_attacks(  # type: ignore[no-untyped-def]
    actions, vigilance, situation, size, taken, privilege, codes, risk, locked, base, ahead, each
):
    """Write features of attacks (k, 3) to each (k, EACH); situation (6,) as agents observe it."""
    refuge = has_refuge(size, taken)
    attempts = math.sqrt(2.0 / vigilance) if vigilance > 0.0 else 0.0
    opened = ahead.shape[2] - 4
    for a in range(len(actions)):
        source, target, position = actions[a, 0], actions[a, 1], actions[a, 2]
        code, done = codes[target, position], taken[target]
        fresh = code & ~done
        given = ahead[target, position]
        success = 1.0 - risk[target]
        owned = done & OWNING != 0
        f = each[a]
        f[0] = given[0]
        f[1] = risk[target]
        f[2] = 1.0 if owned else 0.0
        f[3] = success if code & OWNING != 0 and not owned else 0.0
        for i in range(3):
            f[4 + i] = success * given[opened + i]
        f[7] = success * given[opened + 3]
        f[8] = success * attempts * given[opened + 3]
        f[9] = success if fresh & EVASION != 0 and owned and not refuge else 0.0
        f[10] = 1.0 if done & EVASION != 0 else 0.0
        f[11] = 1.0 if refuge else 0.0
        f[12] = 1.0 if fresh == 0 else 0.0
        f[13] = (code >> PRIVILEGE_BIT) / 2.0
        f[14] = privilege[source] / 2.0
        f[15] = privilege[target] / 2.0
        f[16] = 1.0 if code >> LOCAL_BIT & 1 else 0.0
        f[17] = 1.0 if source == target else 0.0
        f[18] = base[source]
        f[19] = locked[target]
        for i in range(6):
            f[20 + i] = situation[i]
        for i in range(10):
            f[26 + i] = fresh >> i & 1
