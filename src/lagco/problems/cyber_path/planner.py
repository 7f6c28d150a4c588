"""Values of attacks for a planner that knows the rules, and features of attacks for a ranker.

Both read what is known alone, as in :mod:`lagco.problems.cyber_path.kernels`; `ahead`, `risk` and
`locked` are those that the survey wrote. Counts of hosts are on a logarithmic scale in features.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.core.candidates import Columns
from lagco.instances.catalogue import LOCAL_BIT, OUTCOMES, PRIVILEGE_BIT
from lagco.problems.cyber_path.catalogue.outcomes import (
    ADMIN,
    DENIAL,
    EVASION,
    OWNED_POINTS,
    OWNING,
)

#: worth, in points: a host made visible, known or open to attack; a first refuge from detection
FOUND, SHOWN, UNLOCKED, REFUGE = 8.0, 8.0, 6.0, 4.0
#: what stopping a host costs: no attack that does is ever planned
_STOPPED = 1000.0
#: the highest privilege
_ADMIN = float(ADMIN)
#: what a ranker sees of an attack; chance: that the attempt is not detected
EACH = Columns(
    promise="expected reward over that of owning a host",
    risk="chance that the attempt is detected",
    owned="the target is owned",
    owns="chance of owning the target",
    finds="chance times hosts that the attack may find",
    shows="chance times hosts whose vulnerabilities it shows",
    unlocks="chance times hosts that the privilege gained by it unlocks",
    calms="chance times the risk that it removes",
    calms_for="the same times the attempts until traces are worth removing again",
    makes_refuge="chance of a first owned host on which attempts are not detected",
    evaded="attempts on the target are not detected",
    has_refuge="there is an owned host on which attempts are not detected",
    repeats="no outcome would be new",
    needs="privilege that the attack needs, over the highest",
    source_privilege="privilege held on the source, over the highest",
    target_privilege="privilege held on the target, over the highest",
    is_local="the attack works from the target itself only",
    on_itself="source and target are the same",
    from_base="the source is the base",
    locked="all known ways into the target need more privilege than is held",
    situation={
        "situation_risk": "chance that an attempt is detected",
        "situation_hidden": "hosts that reconnaissance may find",
        "situation_unknown": "hosts whose vulnerabilities are unknown",
        "situation_locked": "hosts that are locked",
        "situation_owned": "share of the visible hosts that is owned",
        "steps_left": "share of the steps that is left",
    },
    fresh={
        f"new_{name.replace('-', '_')}": f"{name} would be new on the target" for name in OUTCOMES
    },
)


@njit(cache=True)
def has_refuge(size, taken):  # type: ignore[no-untyped-def]
    """Whether an owned host is evaded: attempts on it are not detected."""
    found = False
    for row in range(size):
        found |= taken[row] & OWNING != 0 and taken[row] & EVASION != 0
    return found


@njit(cache=True)
def attack_worths(actions, vigilance, size, known):  # type: ignore[no-untyped-def]
    """Worth of attacks (k, 3), counting what they open, with the chance that they fail: (k,).

    Own what can be owned, but first explore, become administrator and remove traces in time. The
    weights were chosen by hand.
    """
    taken, codes, ahead = known.taken, known.codes, known.ahead
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
        chance = known.risk[target]
        values[a] = (1.0 - chance) * worth - chance * 0.5 * OWNED_POINTS * vigilance
    return values


@njit(cache=True)
def describe_attacks(actions, vigilance, situation, size, known, each):  # type: ignore[no-untyped-def]
    """Write features of attacks (k, 3) to the records `each` (k,).

    situation (6,) as agents observe it.
    """
    taken, privilege, ahead = known.taken, known.privilege, known.ahead
    refuge = has_refuge(size, taken)
    attempts = math.sqrt(2.0 / vigilance) if vigilance > 0.0 else 0.0
    opened = ahead.shape[2] - 4
    for a in range(len(actions)):
        source, target, position = actions[a, 0], actions[a, 1], actions[a, 2]
        code, done = known.codes[target, position], taken[target]
        fresh = code & ~done
        given = ahead[target, position]
        success = 1.0 - known.risk[target]
        owned = done & OWNING != 0
        f = each[a]
        f.promise = given[0]
        f.risk = known.risk[target]
        f.owned = owned
        f.owns = success if code & OWNING != 0 and not owned else 0.0
        f.finds = success * given[opened]
        f.shows = success * given[opened + 1]
        f.unlocks = success * given[opened + 2]
        f.calms = success * given[opened + 3]
        f.calms_for = success * attempts * given[opened + 3]
        f.makes_refuge = success if fresh & EVASION != 0 and owned and not refuge else 0.0
        f.evaded = done & EVASION != 0
        f.has_refuge = refuge
        f.repeats = fresh == 0
        f.needs = (code >> PRIVILEGE_BIT) / _ADMIN
        f.source_privilege = privilege[source] / _ADMIN
        f.target_privilege = privilege[target] / _ADMIN
        f.is_local = code >> LOCAL_BIT & 1
        f.on_itself = source == target
        f.from_base = known.base[source]
        f.locked = known.locked[target]
        for i in range(6):
            f.situation[i] = situation[i]
        for i in range(len(OUTCOMES)):
            f.fresh[i] = fresh >> i & 1
