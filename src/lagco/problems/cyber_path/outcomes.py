"""Outcomes of attacks, their rewards, and the code of a vulnerability.

A code packs all that the rules need to know about a vulnerability: bits 0-9 its outcomes (in the
order of `OUTCOMES`), bit 10 whether it is local, bits 11-12 the privilege it needs.
"""

from __future__ import annotations

OUTCOMES = (
    "lateral-movement",
    "credential-access",
    "privilege-escalation",
    "reconnaissance",
    "discovery",
    "defence-evasion",
    "collection",
    "exfiltration",
    "persistence",
    "denial-of-service",
)
PRIVILEGES = ("none", "user", "admin")
ACCESS = ("remote", "local")

LATERAL, CREDENTIAL, ESCALATION, RECON, DISCOVERY, EVASION, COLLECTION, EXFILTRATION, PERSISTENCE, \
    DENIAL = (1 << bit for bit in range(len(OUTCOMES)))  # fmt: skip
OWNING = LATERAL | CREDENTIAL
ALL_OUTCOMES = (1 << len(OUTCOMES)) - 1
LOCAL_BIT = len(OUTCOMES)
PRIVILEGE_BIT = LOCAL_BIT + 1

#: points, divided by `OWNED_POINTS` x hosts to give rewards
OWNED_POINTS = 20.0
ESCALATION_POINTS = 3.0
RECON_POINTS = 3.0  # per host that becomes visible
DISCOVERY_POINTS = 2.0
EVASION_POINTS = 2.0
SMALL_POINTS = 1.0  # collection, exfiltration, persistence
DENIAL_POINTS = -10.0
DETECTED_POINTS = -1.0
#: highest chance of detection that traces lead to: an attempt can always succeed
MOST_RISK = 0.9

#: outcomes that pay a fixed amount the first time they take effect on a host: bit, name, points
ONCE = (
    (ESCALATION, "privilege-escalation", ESCALATION_POINTS),
    (DISCOVERY, "discovery", DISCOVERY_POINTS),
    (EVASION, "defence-evasion", EVASION_POINTS),
    (COLLECTION, "collection", SMALL_POINTS),
    (EXFILTRATION, "exfiltration", SMALL_POINTS),
    (PERSISTENCE, "persistence", SMALL_POINTS),
    (DENIAL, "denial-of-service", DENIAL_POINTS),
)

NONE, USER, ADMIN = range(3)


def vulnerability_code(outcomes: list[str], access: str, privilege: str) -> int:
    """Pack outcomes, access and privilege into one number."""
    mask = sum(1 << OUTCOMES.index(outcome) for outcome in outcomes)
    return mask | ACCESS.index(access) << LOCAL_BIT | PRIVILEGES.index(privilege) << PRIVILEGE_BIT
