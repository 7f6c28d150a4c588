"""Outcomes of attacks as bits of a vulnerability's code, and their rewards."""

from __future__ import annotations

from lagco.instances.catalogue import OUTCOMES

LATERAL, CREDENTIAL, ESCALATION, RECON, DISCOVERY, EVASION, COLLECTION, EXFILTRATION, PERSISTENCE, \
    DENIAL = (1 << bit for bit in range(len(OUTCOMES)))  # fmt: skip
OWNING = LATERAL | CREDENTIAL
ALL_OUTCOMES = (1 << len(OUTCOMES)) - 1

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
