"""Limits of link weights: links that keep theirs, and ranges of single links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.elements import checked_columns, link_places, place_of
from lagco.problems.ospf.routing.weights import (
    HIGHEST,
    LARGEST_WEIGHT,
    LOWEST,
    weight_ranges,
)

_COLUMNS = ("element",), ("link",), ("element", "min", "max"), ("link", "min", "max")


def limits_from(instance: Instance, table: Sequence[Mapping[str, str]]) -> dict[str, Array]:
    """Arrays of limits from a table: links that keep their weight, or ranges of weights.

    Columns: ``link`` (or ``element``), and where there are ranges ``min`` and ``max``; a link with
    neither of them keeps its weight, and an empty one of them does not restrict.
    """
    checked_columns(table, _COLUMNS, "what may not change")
    places = link_places(instance)
    links = instance.array("edges").shape[1]
    fixed = np.array(instance.arrays.get("fixed", np.zeros(links, dtype=np.int8)))
    lowest, highest = (part.copy() for part in weight_ranges(instance))
    ranged: set[int] = set()
    for number, row in enumerate(table, start=1):
        name = row.get("link") or row.get("element", "")
        e = place_of("link", name, places, number)
        low, high = row.get("min", ""), row.get("max", "")
        if not low and not high:
            fixed[e] = 1
            continue
        if e in ranged:
            raise InstanceError(f"row {number}: {name} has a range already; give one of them")
        ranged.add(e)
        lowest[e] = _weight(low, number) if low else 1
        highest[e] = _weight(high, number) if high else max(LARGEST_WEIGHT, 1)
        if lowest[e] > highest[e]:
            raise InstanceError(f"row {number}: weights of {name} from {low} to {high}")
    found: dict[str, Array] = {"fixed": fixed} if fixed.any() else {}
    return found | ({LOWEST: lowest, HIGHEST: highest} if ranged else {})


def _weight(text: str, row: int) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LARGEST_WEIGHT):
        raise InstanceError(f"row {row}: {text!r} is no weight, give 1 to {LARGEST_WEIGHT}")
    return int(text)


def excess(instance: Instance, links: Array, weights: Array) -> Array:
    """Distance of weights (k,) of links (k,) from their ranges."""
    if LOWEST not in instance.arrays and HIGHEST not in instance.arrays:
        return np.zeros(len(links))
    lowest, highest = weight_ranges(instance)
    below, above = lowest[links] - weights, weights - highest[links]
    found: Array = np.maximum(np.maximum(below, above), 0).astype(np.float64)
    return found
