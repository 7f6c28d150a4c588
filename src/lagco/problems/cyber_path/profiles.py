"""Profiles of the hosts of generated networks, by name.

A profile says for every vulnerability of a host which entries of the catalogue it may be (a slot:
bool over the catalogue), and how watchful the network is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lagco.arrays import Array
from lagco.instances.catalogue import LOCAL_BIT, PRIVILEGE_BIT, load_catalogue
from lagco.problems.cyber_path.catalogue.outcomes import (
    ADMIN,
    DISCOVERY,
    ESCALATION,
    EVASION,
    OWNING,
    RECON,
)

#: slots of n hosts with `count` vulnerabilities each
Slots = list[list[Array]]
Range = tuple[float, float]

#: `open` draws from the entries that the catalogue had when it was the only profile
OPEN_ENTRIES = 162

#: shares of the hosts of `guarded`: entered by administrators only, with a way to become one, with
#: a way to remove traces
GUARDED, ESCALATING, EVADING = 0.5, 0.25, 0.25


@dataclass(frozen=True)
class Profile:
    """A kind of network.

    Attributes:
        slots: draws the slots of a network from (rng, hosts, vulnerabilities per host).
        vigilance: range that the instance's vigilance is drawn from; None: there is none.
        overlap: of the chance that a vulnerability is shared with another host; the ranges of the
            paper's text, like those below.
        data: of the chance that a host has data.
        feature_visible: of the chance that a group of features shows.
        recon: of the chance that a host becomes visible.
        detection: of the chance that an attempt is detected.
    """

    slots: Callable[[np.random.Generator, int, int], Slots]
    vigilance: tuple[float, float] | None = None
    overlap: Range = (0.0, 0.1)
    data: Range = (0.6, 0.9)
    feature_visible: Range = (0.5, 0.7)
    recon: Range = (0.2, 0.4)
    detection: Range = (0.05, 0.2)


@dataclass(frozen=True)
class Kinds:
    """Entries of the catalogue by what they are good for: bool (K,) each.

    Attributes:
        entry: remote ways to own a host that a user may use, without becoming administrator.
        guarded_entry: remote ways to own a host that only an administrator may use.
        exploring: reconnaissance with discovery, for the user of the host itself.
        escalating: from user to administrator on the machine itself.
        evading: defence evasion, for users.
        other: all that neither owns a host from elsewhere nor escalates nor evades.
    """

    entry: Array
    guarded_entry: Array
    exploring: Array
    escalating: Array
    evading: Array
    other: Array


@lru_cache(maxsize=1)
def entry_kinds() -> Kinds:
    """The kinds of the package's catalogue."""
    codes = load_catalogue().codes
    local = (codes >> LOCAL_BIT & 1).astype(bool)
    users = codes >> PRIVILEGE_BIT < ADMIN

    def has(outcome: int) -> Array:
        return np.asarray(codes & outcome != 0)

    entry = has(OWNING) & ~local
    other = ~entry & ~has(ESCALATION) & ~has(EVASION)
    return Kinds(
        entry=entry & users & ~has(ESCALATION),
        guarded_entry=entry & ~users,
        exploring=other & users & has(RECON) & has(DISCOVERY),
        escalating=has(ESCALATION) & local & users,
        evading=has(EVASION) & users & ~entry & ~has(ESCALATION),
        other=other,
    )


def open_slots(rng: np.random.Generator, n: int, count: int) -> Slots:
    """Anything anywhere: most hosts have several ways in, which every user may use."""
    anything = np.arange(len(load_catalogue().vulnerabilities)) < OPEN_ENTRIES
    return [[anything] * count] * n


def guarded_slots(rng: np.random.Generator, n: int, count: int) -> Slots:
    """One way into each host, which for half of them only an administrator may use.

    Every host has a vulnerability to explore the network with; a few let their user become
    administrator or remove traces. The rest brings no host.
    """
    kinds = entry_kinds()
    guarded, escalating, evading = (
        rng.permutation(n) < max(1, round(share * n)) for share in (GUARDED, ESCALATING, EVADING)
    )
    slots = []
    for host in range(n):
        own = [kinds.exploring, kinds.guarded_entry if guarded[host] else kinds.entry]
        if escalating[host]:
            own.append(kinds.escalating)
        if evading[host]:
            own.append(kinds.evading)
        own += [kinds.other] * (count - len(own))
        slots.append([own[place] for place in rng.permutation(count)])
    return slots


#: profiles by name, the default first
PROFILES = {
    "guarded": Profile(guarded_slots, vigilance=(0.05, 0.08)),
    "open": Profile(open_slots),
    "released": Profile(
        open_slots,
        overlap=(0.0, 0.33),
        data=(0.9, 1.0),
        feature_visible=(0.7, 0.9),
        recon=(0.4, 0.6),
    ),
}
