"""Limits of paths: demands that keep theirs, and links that may not be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.elements import (
    checked_columns,
    demand_places,
    link_places,
    place_of,
)
from lagco.problems.networks.network import Network, network_of

#: array (E,): 1 for every link that no path may take
FORBIDDEN = "forbidden"
_COLUMNS = ("element",), ("demand",), ("link",), ("demand", "link"), ("element", "link")


def limits_from(instance: Instance, table: Sequence[Mapping[str, str]]) -> dict[str, Array]:
    """Arrays of limits from a table: demands that keep their path, links that no path may take.

    Columns: ``demand`` (or ``element``), ``link``, or both, one of which is empty in a row.
    """
    checked_columns(table, _COLUMNS, "what may not change")
    demands = demand_places(instance)
    links = link_places(instance)
    count, paths = (instance.array(name).shape[1] for name in ("edges", "demands"))
    fixed = np.array(instance.arrays.get("fixed", np.zeros(paths, dtype=np.int8)))
    forbidden = np.array(instance.arrays.get(FORBIDDEN, np.zeros(count, dtype=np.int8)))
    for number, row in enumerate(table, start=1):
        demand, link = row.get("demand") or row.get("element", ""), row.get("link", "")
        if bool(demand) == bool(link):
            raise InstanceError(f"row {number}: give a demand to keep or a link to forbid")
        if demand:
            fixed[place_of("demand", demand, demands, number)] = 1
        else:
            forbidden[place_of("link", link, links, number)] = 1
    found: dict[str, Array] = {"fixed": fixed} if fixed.any() else {}
    return found | ({FORBIDDEN: forbidden} if forbidden.any() else {})


def forbidden_arcs(instance: Instance, network: Network) -> Array:
    """Flags (2 E,) of the arcs that no path may take."""
    flags = np.zeros(2 * network.num_links, dtype=bool)
    links = instance.arrays.get(FORBIDDEN)
    if links is None:
        return flags
    u, v = instance.array("edges")[:, links.astype(bool)]
    ends = [(u, v)] if instance.params.get("directed", False) else [(u, v), (v, u)]
    for begin, end in ends:
        arcs = network.arc_of[begin, end]
        flags[arcs[arcs >= 0]] = True
    return flags


@lru_cache(maxsize=2)
def _kept(instance: Instance) -> tuple[Network, Array]:
    """The network and its forbidden arcs, kept while one instance is asked about."""
    network = network_of(instance, joined=True)
    return network, forbidden_arcs(instance, network)


def excess(instance: Instance, paths: Array) -> Array:
    """Number of forbidden arcs on paths (k, T), padded with n: (k,)."""
    if FORBIDDEN not in instance.arrays:
        return np.zeros(len(paths))
    network, flags = _kept(instance)
    begins, ends = paths[:, :-1], paths[:, 1:]
    there = (ends < network.num_nodes) & (begins < network.num_nodes)
    arcs = np.where(there, network.arc_of[begins * there, ends * there], -1)
    found: Array = (flags[arcs] & (arcs >= 0)).sum(axis=1).astype(np.float64)
    return found
