"""Vulnerabilities of one's own beside the catalogue: those that an instance brings along."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.instances.catalogue import (
    ACCESS,
    OUTCOMES,
    PRIVILEGES,
    Catalogue,
    Service,
    Vulnerability,
    load_catalogue,
)
from lagco.instances.instance import Instance
from lagco.store import canonical_json, shown

#: parameter of an instance: its own entries, each with the fields below
OWN = "own_vulnerabilities"
FIELDS = ("id", "service", "outcomes", "access", "privilege")
_LONGEST = 200


def checked_entries(
    entries: Sequence[Mapping[str, Any]], error: Callable[[int, str], InstanceError]
) -> list[dict[str, Any]]:
    """Entries as instances carry them; outcomes are a list, or names separated by ``;``.

    Args:
        entries: with the fields that an entry has.
        error: the error about an entry, from its position and the reason.

    Raises:
        InstanceError: names the entry that is wrong, what was seen and what is allowed.
    """
    known, found = set(load_catalogue().vulnerability_index), []
    for number, entry in enumerate(entries):
        missing = [field for field in FIELDS if not entry.get(field)]
        if missing:
            raise error(number, f"has no {missing[0]}; it needs {', '.join(FIELDS)}")
        outcomes = entry["outcomes"]
        if isinstance(outcomes, str):
            outcomes = [part.strip() for part in outcomes.split(";") if part.strip()]
        for field in ("id", "service"):
            text = entry[field]
            if not isinstance(text, str) or not text.isprintable() or len(text) > _LONGEST:
                raise error(number, f"{field} is {shown(text)}, it must be a short text")
        for kind, value, allowed in (
            ("access", entry["access"], ACCESS),
            ("privilege", entry["privilege"], PRIVILEGES),
            *(("outcome", outcome, OUTCOMES) for outcome in outcomes),
        ):
            if value not in allowed:
                raise error(number, suggest(kind, str(value)[:40], allowed))
        if "denial-of-service" in outcomes and len(outcomes) > 1:
            raise error(number, "denial-of-service stands alone")
        if entry["id"] in known:
            raise error(number, f"{shown(entry['id'])} stands in the catalogue already")
        known.add(entry["id"])
        found.append({**{field: entry[field] for field in FIELDS}, "outcomes": list(outcomes)})
    return found


def catalogue_of(instance: Instance) -> Catalogue:
    """The catalogue of the package, with the entries that an instance brings along behind it."""
    own = instance.params.get(OWN)
    return _joined(canonical_json(own)) if own else load_catalogue()


def _own_error(number: int, reason: str) -> InstanceError:
    return InstanceError(f"{OWN}: vulnerability {number + 1}: {reason}")


@lru_cache(maxsize=8)
def _joined(own: str) -> Catalogue:
    base = load_catalogue()
    entries = checked_entries(json.loads(own), _own_error)
    services = dict.fromkeys(entry["service"] for entry in entries)
    added = [Service(name, name) for name in services if name not in base.service_index]
    vulnerabilities = [
        Vulnerability(
            **entry | {"outcomes": tuple(entry["outcomes"])},
            description=entry["id"],
            cwe="",
            attack="",
        )
        for entry in entries
    ]
    return Catalogue((*base.services, *added), (*base.vulnerabilities, *vulnerabilities))


def stand_ins(catalogue: Catalogue) -> tuple[Array, Array]:
    """Entries of the package's catalogue whose texts agents read: of services, of vulnerabilities.

    For an own vulnerability the one that is most like it in outcomes, access and privilege, for an
    own service the first one: texts say little, and what counts is observed as it is.
    """
    base = load_catalogue()
    services, count = np.arange(len(catalogue.services)), len(base.codes)
    services[len(base.services) :] = 0
    found = np.arange(len(catalogue.codes))
    for place in range(count, len(found)):
        differ = base.codes ^ catalogue.codes[place]
        found[place] = min(range(count), key=lambda k: int(differ[k]).bit_count())
    return services, found
