"""Failures as scenarios: every link alone, or groups of links that fail together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, UsageError
from lagco.instances import Instance
from lagco.instances.formats.source import Source
from lagco.instances.formats.table import table_of
from lagco.problems.networks.elements import link_names, link_places, place_of
from lagco.problems.networks.network import FAILED

#: name of the failures of every link alone
LINKS = "links"
_COLUMNS = {"group", "link"}


def failures_of(instance: Instance, given: str | Path) -> Mapping[str, Mapping[str, Array]]:
    """What fails, by name: flags (E,) of links in addition to those that have failed.

    Args:
        instance: the network.
        given: ``links``, or a table (CSV) with the columns ``group`` and ``link``, a row for every
            link of a group, whose two directions fail together.
    """
    groups = _every_link(instance) if str(given) == LINKS else _groups(instance, given)
    before = instance.arrays.get(FAILED, np.zeros(instance.array("edges").shape[1], dtype=np.int8))
    found = {}
    for name, links in groups.items():
        flags = before.copy()
        flags[links] = 1
        found[name] = {FAILED: flags}
    return found


def _every_link(instance: Instance) -> dict[str, list[int]]:
    """Links by name; the two directions of one fail together."""
    names = link_names(instance)
    return {names[links[0]]: links for links in _by_ends(instance).values()}


def _by_ends(instance: Instance) -> dict[tuple[int, ...], list[int]]:
    """Links by the nodes that they join: both directions, where each is a link of its own."""
    found: dict[tuple[int, ...], list[int]] = {}
    for e, pair in enumerate(instance.array("edges").T.tolist()):
        found.setdefault(tuple(sorted(pair)), []).append(e)
    return found


def _groups(instance: Instance, given: str | Path) -> dict[str, list[int]]:
    if not Path(given).exists():
        raise UsageError(f"failures={str(given)!r}: give links, or a table that exists")
    source, places = Source.load(given), link_places(instance)
    ends, by_ends = instance.array("edges").T.tolist(), _by_ends(instance)
    found: dict[str, list[int]] = {}
    for number, row in enumerate(table_of(source), start=1):
        if set(row) != _COLUMNS:
            columns = ", ".join(row)
            raise source.error(f"a table of failures has the columns group and link, not {columns}")
        try:
            link = place_of("link", row["link"], places, number)
        except InstanceError as error:
            raise InstanceError(f"{given}: {error}") from None
        found.setdefault(row["group"], []).extend(by_ends[tuple(sorted(ends[link]))])
    if not found:
        raise source.error("there is no group")
    return found
