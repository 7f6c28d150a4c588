"""The words of inventories of hosts: services and vulnerability classes (``catalogue.json``).

The entries are short neutral descriptions of weakness classes for simulated networks;
``catalogue.schema.json`` states their form for other tools, the checks here are by hand.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.store import canonical_json, sha256

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
LOCAL_BIT = len(OUTCOMES)
PRIVILEGE_BIT = LOCAL_BIT + 1

FORMAT = 1
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SENTENCE = re.compile(r"[A-Z].*\.")
_CWE = re.compile(r"CWE-[1-9][0-9]*")
_ATTACK = re.compile(r"T[0-9]{4}(\.[0-9]{3})?")
_LONGEST = 200


@dataclass(frozen=True)
class Service:
    """A kind of service that a host may run."""

    id: str
    description: str


@dataclass(frozen=True)
class Vulnerability:
    """A class of weaknesses of a service.

    Attributes:
        id: unique name.
        service: id of the service that has it.
        description: one sentence.
        outcomes: what using it brings about, among `OUTCOMES`; denial of service stands alone.
        access: ``local`` (used on the machine itself) or ``remote``.
        privilege: what must be held on the source: ``none``, ``user`` or ``admin``.
        cwe: weakness class, for instance ``CWE-89``.
        attack: ATT&CK technique, for instance ``T1190``.
    """

    id: str
    service: str
    description: str
    outcomes: tuple[str, ...]
    access: str
    privilege: str
    cwe: str
    attack: str


@dataclass(frozen=True)
class Catalogue:
    """All services and vulnerabilities; everything else refers to them by position."""

    services: tuple[Service, ...]
    vulnerabilities: tuple[Vulnerability, ...]

    @cached_property
    def service_index(self) -> dict[str, int]:
        """Position of each service by id."""
        return {service.id: k for k, service in enumerate(self.services)}

    @cached_property
    def vulnerability_index(self) -> dict[str, int]:
        """Position of each vulnerability by id."""
        return {vulnerability.id: k for k, vulnerability in enumerate(self.vulnerabilities)}

    @cached_property
    def codes(self) -> Array:
        """Outcomes, access and privilege of each vulnerability as one number: int32 (K,)."""
        return np.array(
            [vulnerability_code(list(v.outcomes), v.access, v.privilege)
             for v in self.vulnerabilities],
            dtype=np.int32,
        )  # fmt: skip

    @cached_property
    def service_of(self) -> Array:
        """Position of the service of each vulnerability: int64 (K,)."""
        return np.array([self.service_index[v.service] for v in self.vulnerabilities])

    def texts(self) -> tuple[list[str], list[str]]:
        """Texts to embed: one per service, one per vulnerability."""
        services = [_text(service.id, service.description) for service in self.services]
        return services, [_text(v.service, v.description) for v in self.vulnerabilities]

    @cached_property
    def text_digest(self) -> str:
        """SHA-256 of the texts, so that embeddings of other texts are recognised."""
        return sha256(canonical_json(list(self.texts())).encode())


def vulnerability_code(outcomes: list[str], access: str, privilege: str) -> int:
    """All that the rules need to know about a vulnerability, as one number.

    Bits 0-9 are its outcomes (in the order of `OUTCOMES`), bit 10 whether it is local, bits 11-12
    the privilege it needs.
    """
    mask = sum(1 << OUTCOMES.index(outcome) for outcome in outcomes)
    return mask | ACCESS.index(access) << LOCAL_BIT | PRIVILEGES.index(privilege) << PRIVILEGE_BIT


def _text(service: str, description: str) -> str:
    return f"{service.replace('-', ' ')}: {description}"


@lru_cache(maxsize=1)
def load_catalogue() -> Catalogue:
    """The catalogue of the package."""
    file = resources.files("lagco.instances") / "catalogue.json"
    return parse_catalogue(json.loads(file.read_text(encoding="utf-8")), "catalogue.json")


def parse_catalogue(content: Any, source: str) -> Catalogue:
    """Check the content of a catalogue file.

    Raises:
        InstanceError: names the entry that is wrong, what was seen and what is allowed.
    """
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InstanceError(f"{source}: not a catalogue of format {FORMAT}")
    if content.keys() != {"format", "services", "vulnerabilities"}:
        raise InstanceError(
            f"{source}: has the parts {', '.join(content)}; it must have format, services and "
            "vulnerabilities"
        )
    services = []
    known: set[str] = set()
    for position, entry in enumerate(content["services"]):
        owner = _owner(source, "service", entry, position)
        _check_fields(owner, entry, Service)
        _check_common(owner, entry, known)
        services.append(Service(**entry))
    vulnerabilities = []
    service_ids = {service.id for service in services}
    known = set()
    for position, entry in enumerate(content["vulnerabilities"]):
        owner = _owner(source, "vulnerability", entry, position)
        _check_fields(owner, entry, Vulnerability)
        _check_common(owner, entry, known)
        _check_vulnerability(owner, entry, service_ids)
        vulnerabilities.append(Vulnerability(**entry | {"outcomes": tuple(entry["outcomes"])}))
    return Catalogue(tuple(services), tuple(vulnerabilities))


def _owner(source: str, kind: str, entry: Any, position: int) -> str:
    name = entry.get("id") if isinstance(entry, dict) else None
    return f"{source}: {kind} {name!r}" if isinstance(name, str) else f"{source}: {kind} {position}"


def _check_fields(owner: str, entry: Any, form: type) -> None:
    if not isinstance(entry, dict):
        raise InstanceError(f"{owner} is {entry!r}, not an object")
    wanted = set(form.__dataclass_fields__)  # type: ignore[attr-defined]
    for name in sorted(wanted - entry.keys()):
        raise InstanceError(f"{owner} has no {name!r}")
    for name in sorted(entry.keys() - wanted):
        raise InstanceError(f"{owner}: {suggest('field', name, sorted(wanted))}")


def _check_common(owner: str, entry: dict[str, Any], known: set[str]) -> None:
    _check_pattern(owner, entry, "id", _ID, "lower-case words joined by hyphens")
    _check_pattern(owner, entry, "description", _SENTENCE, "one sentence with a full stop")
    if len(entry["description"]) > _LONGEST:
        raise InstanceError(f"{owner}: description is longer than {_LONGEST} characters")
    if entry["id"] in known:
        raise InstanceError(f"{owner}: an earlier entry has the same id")
    known.add(entry["id"])


def _check_vulnerability(owner: str, entry: dict[str, Any], services: set[str]) -> None:
    outcomes = entry["outcomes"]
    if (
        not isinstance(outcomes, list)
        or not outcomes
        or len(set(map(str, outcomes))) < len(outcomes)
    ):
        raise InstanceError(f"{owner}: outcomes are {outcomes!r}; give at least one, each once")
    for kind, value, allowed in (
        ("service", entry["service"], sorted(services)),
        ("access", entry["access"], ACCESS),
        ("privilege", entry["privilege"], PRIVILEGES),
        *(("outcome", outcome, OUTCOMES) for outcome in outcomes),
    ):
        if value not in allowed:
            raise InstanceError(f"{owner}: {suggest(kind, value, allowed)}")
    if "denial-of-service" in outcomes and len(outcomes) > 1:
        raise InstanceError(f"{owner}: denial-of-service stands alone, here are {outcomes!r}")
    _check_pattern(owner, entry, "cwe", _CWE, "of the form CWE-89")
    _check_pattern(owner, entry, "attack", _ATTACK, "of the form T1190 or T1021.004")


def _check_pattern(
    owner: str, entry: dict[str, Any], field: str, pattern: re.Pattern[str], form: str
) -> None:
    value = entry[field]
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise InstanceError(f"{owner}: {field} is {value!r}, it must be {form}")
