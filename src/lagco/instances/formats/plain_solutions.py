"""Solutions of problems of one's own: JSON with the instance that they solve, read strictly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.formats.document import VERSION, Document, declares, json_value
from lagco.instances.formats.source import Source
from lagco.instances.instance import Instance
from lagco.store import readable_json, shown

NAME = "lagco-solution"
#: largest whole numbers that an array holds
_LOW, _HIGH = -(2**63), 2**63 - 1


def matches(source: Source) -> bool:
    """Whether a file is such a solution, damaged or not."""
    return declares(source, NAME)


def write_plain(instance: Instance, solution: Any, objective: float | None = None) -> str:
    """The text of a solution: nested lists, with the identity of what it solves."""
    return readable_json(
        {
            "format": NAME,
            "version": VERSION,
            "problem": instance.problem,
            "instance": instance.name,
            "checksum": instance.asked,
            "objective": None if objective is None else float(objective),
            "solution": plain_values(instance, solution),
        }
    ).decode()


def plain_values(instance: Instance, solution: Any) -> Any:
    """A solution as nested lists of finite numbers, truth values or texts."""
    try:
        array = np.asarray(solution)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    kind = array.dtype.kind
    finite = kind != "f" or bool(np.isfinite(array).all())
    if kind not in "biufU" or not finite:
        what = "values that are not finite" if not finite else "rows or values of different kinds"
        raise InstanceError(
            f"a solution of {instance.name!r} has {what}, which no file can hold: return an array "
            "of numbers from solution(), rows padded to one length, or define a solution_form"
        )
    return array.tolist()


def read_plain(source: Source, instance: Instance) -> Array:
    """The solution of a file as :func:`write_plain` makes it.

    Raises:
        InstanceError: it is damaged, or solves another instance.
    """
    if not matches(source):
        raise source.error(f"not a solution: JSON whose 'format' is {NAME!r} is expected")
    document = Document(source, json_value(source), "solution")
    content = document.content
    for field, wanted in (("problem", instance.problem), ("checksum", instance.asked)):
        if content[field] != wanted:
            solved = f"{shown(content['instance'])} of {shown(content['problem'])}"
            this = f"{instance.name!r} of {instance.problem!r}"
            if solved == this:
                this += f": the same name, but other data ({instance.asked[:8]}…)"
            raise document.error((field,), f"it solves {solved}, not this {this}")
    values = content["solution"]
    shape = _shape(values)
    leaves = _leaves(document, ("solution",), values, shape)
    kinds = {type(leaf) for leaf in leaves}
    if len(kinds) > 1 and not kinds <= {int, float}:
        named = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise document.error(("solution",), f"mixes {named}")
    return np.array(leaves, dtype=None if leaves else np.int64).reshape(shape)


def _shape(values: Any) -> tuple[int, ...]:
    """Shape of nested lists, by the first entry of each."""
    shape = []
    while isinstance(values, list):
        shape.append(len(values))
        if not values:
            break
        values = values[0]
    return tuple(shape)


def _leaves(
    document: Document, path: tuple[str | int, ...], values: Any, shape: tuple[int, ...]
) -> list[Any]:
    """Values of nested lists that have a shape, in order."""
    if not shape:
        if isinstance(values, bool | str):
            return [values]
        whole = isinstance(values, int) and _LOW <= values <= _HIGH
        if whole or (isinstance(values, float) and math.isfinite(values)):
            return [values]
        raise document.error(path, f"is {shown(values)}, not a number or text")
    if not isinstance(values, list) or len(values) != shape[0]:
        found = f"{len(values)} entries" if isinstance(values, list) else shown(values)
        raise document.error(path, f"is {found}, the others have {shape[0]} entries")
    return [
        leaf
        for position, inner in enumerate(values)
        for leaf in _leaves(document, (*path, position), inner, shape[1:])
    ]
