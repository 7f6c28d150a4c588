"""Links and demands by name, tables of what may not change, and the fullest links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.network import Network, heads_of, tails_of

#: number of a name that several links or demands have: A-B to C, and A to B-C
_SEVERAL = -1


def link_names(instance: Instance) -> list[str]:
    """Names of the links, as the names of their ends: A-B."""
    return _joined_names(instance, "edges")


def demand_names(instance: Instance) -> list[str]:
    """Names of the demands, as the names of their ends: A-B."""
    return _joined_names(instance, "demands")


def _joined_names(instance: Instance, pairs: str) -> list[str]:
    names = node_names(instance)
    return [f"{names[u]}-{names[v]}" for u, v in instance.array(pairs).T.tolist()]


def link_places(instance: Instance) -> dict[str, int]:
    """Numbers of the links by name; where they have both directions also by the name of the other.

    The names that are listed come first.
    """
    names = node_names(instance)
    places = _places(link_names(instance))
    if not instance.params.get("directed", False):
        back = _places([f"{names[v]}-{names[u]}" for u, v in instance.array("edges").T.tolist()])
        places |= {name: e for name, e in back.items() if name not in places}
    return places


def demand_places(instance: Instance) -> dict[str, int]:
    """Numbers of the demands by name."""
    return _places(demand_names(instance))


def _places(names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, name in enumerate(names):
        found[name] = _SEVERAL if name in found else number
    return found


def place_of(kind: str, name: str, places: Mapping[str, int], row: int) -> int:
    """Number of the link or demand of that name in a row of a table.

    Raises:
        InstanceError: there is none, near names are listed; or more than one.
    """
    if name not in places:
        raise InstanceError(f"row {row}: {suggest(kind, name, list(places))}")
    if places[name] == _SEVERAL:
        raise InstanceError(
            f"row {row}: more than one {kind} is called {name!r}; rename a node of them"
        )
    return places[name]


def checked_columns(
    rows: Sequence[Mapping[str, str]], known: Sequence[Sequence[str]], what: str
) -> None:
    """Refuse a table whose columns are none of those known."""
    for row in rows:
        if set(row) not in [set(columns) for columns in known]:
            able = "; or ".join(", ".join(columns) for columns in known)
            raise InstanceError(f"a table of {what} has the columns {', '.join(row)}; give {able}")


def fullest_links(
    instance: Instance, network: Network, utilisation: Array, most: int
) -> list[tuple[str, float]]:
    """The fullest arcs by the names of their ends, with their utilisation (2 E,)."""
    names = node_names(instance)
    arcs = np.sort(network.arcs)
    order = arcs[np.argsort(-utilisation[arcs], kind="stable")][:most]
    begins, ends = tails_of(network.edges, order), heads_of(network.edges, order)
    found: list[Any] = [
        (f"{names[u]}-{names[v]}", float(utilisation[arc]))
        for u, v, arc in zip(begins.tolist(), ends.tolist(), order.tolist(), strict=True)
    ]
    return found
