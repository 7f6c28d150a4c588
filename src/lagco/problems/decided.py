"""Nodes whose choice is decided beforehand: those that are fixed, and those that are forced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import FIXED
from lagco.errors import InstanceError, suggest
from lagco.instances import ArrayForm, Instance

#: array (n,): the value that a node has to have, -1 where it is free
FORCED = "forced"
#: both arrays, as an instance's form declares them
FORMS = {
    FIXED: ArrayForm("integer", ("size",), low=0, below=2, optional=True),
    FORCED: ArrayForm("integer", ("size",), low=-1, below=2, optional=True),
}
_FREE = -1


def decided(instance: Instance, before: Array | None) -> Array:
    """Value of every node that is decided beforehand, else -1: int8 (n,).

    Args:
        instance: says what is fixed and what is forced.
        before: values (n,) in the incumbent, from which fixed nodes have theirs.
    """
    found = np.array(instance.arrays.get(FORCED, np.full(instance.size, _FREE)), dtype=np.int8)
    if before is not None and FIXED in instance.arrays:
        flags = instance.array(FIXED).astype(bool)
        found[flags] = before[flags]
    return found


def limits_from(
    instance: Instance,
    table: Sequence[Mapping[str, str]],
    names: Sequence[str],
    values: Mapping[str, int],
) -> dict[str, Array]:
    """Arrays of limits from a table: nodes that stay as they are, and values that they must have.

    Columns: ``element``, and where values are given ``value``; empty ones mean that it stays.

    Args:
        instance: what is limited.
        table: rows by column.
        names: of the nodes.
        values: what the words in the column ``value`` stand for.
    """
    places = {name: number for number, name in enumerate(names)}
    fixed = np.array(instance.arrays.get(FIXED, np.zeros(instance.size)), dtype=np.int8)
    forced = np.array(instance.arrays.get(FORCED, np.full(instance.size, _FREE)), dtype=np.int8)
    for number, row in enumerate(table, start=1):
        if not {"element"} <= set(row) <= {"element", "value"}:
            raise InstanceError(
                f"a table of what may not change has the columns {', '.join(row)}; it needs the "
                "columns element, or element and value"
            )
        name, value = row["element"], row.get("value", "")
        if name not in places:
            raise InstanceError(f"row {number}: {suggest('element', name, list(places))}")
        if value and value not in values:
            raise InstanceError(f"row {number}: {suggest('value', value, list(values))}")
        if value:
            forced[places[name]] = values[value]
        else:
            fixed[places[name]] = 1
    found = {FIXED: fixed} if fixed.any() else {}
    return found | ({FORCED: forced} if (forced != _FREE).any() else {})


def excess(instance: Instance, elements: Array, values: Array) -> Array:
    """1 for every value (k,) of elements (k,) that is not the forced one, else 0: (k,)."""
    forced: Any = instance.arrays.get(FORCED)
    if forced is None:
        return np.zeros(len(elements))
    wanted = forced[elements]
    found: Array = ((wanted != _FREE) & (wanted != values)).astype(np.float64)
    return found
