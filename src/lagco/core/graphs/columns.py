"""Columns of a graph view: the values of one attribute over all nodes or edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lagco.arrays import Array
from lagco.errors import SpecError

#: A numeric array whose first axis runs over nodes or edges, or a list (texts, lists of texts).
Column: TypeAlias = Array | list[Any]
#: Which rows of a column: one, several, or (None) all of them.
Rows: TypeAlias = int | Array | slice | None


def differing_rows(first: Column, second: Column) -> Array:
    """Rows in which two columns differ; all of them if their shapes or kinds differ."""
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if first.shape != second.shape or first.dtype != second.dtype:
            return np.arange(len(second))
        if not len(first):
            return np.zeros(0, dtype=np.int64)
        unequal = first != second
        if first.dtype.kind == "f":
            unequal &= ~(np.isnan(first) & np.isnan(second))
        return np.flatnonzero(unequal.reshape(len(first), -1).any(axis=1))
    if len(first) != len(second) or type(first) is not type(second):
        return np.arange(len(second))
    pairs = zip(first, second, strict=True)
    return np.flatnonzero([not _equal(a, b) for a, b in pairs])


def _equal(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(np.all(first == second))


def merged_rows(touched: list[Rows], rows: int) -> Array | None:
    """All touched rows of a column with that many rows, sorted; None where some are all."""
    if any(part is None for part in touched):
        return None
    everything = np.arange(rows)
    return np.unique(np.concatenate([np.atleast_1d(everything[part]) for part in touched]))


def selected_rows(
    columns: Mapping[str, Column], spec: Mapping[str, Any] | None, rows: int, kind: str
) -> Array:
    """Rows that meet `spec`: attribute = value, or a predicate on its array."""
    if not spec:
        return np.arange(rows)
    chosen: Any = True
    for name, wanted in spec.items():
        if name not in columns:
            known = ", ".join(columns) or "none"
            raise SpecError(f"spec names {kind} attribute {name!r}; the view has {known}")
        column = np.asarray(columns[name])
        meets = wanted(column) if callable(wanted) else column == wanted
        chosen = meets if chosen is True else chosen & meets
    return np.asarray(chosen).nonzero()[0]


def gathered(
    rows: Sequence[Mapping[str, Any]],
    names: Iterable[str] | None,
    kind: str,
    labels: Sequence[Any],
) -> dict[str, Column]:
    """Columns from the attributes of nodes or edges, given as one mapping each."""
    wanted = list(names) if names is not None else list(dict.fromkeys(k for r in rows for k in r))
    columns: dict[str, Column] = {}
    for name in wanted:
        for row, label in zip(rows, labels, strict=True):
            if name not in row:
                raise SpecError(
                    f"{kind} {label!r} has no attribute {name!r}; give it to every {kind}"
                )
        columns[name] = as_column([row[name] for row in rows])
    return columns


def as_column(values: list[Any]) -> Column:
    """A numeric array where the values are numbers or equally long vectors, else the list itself.

    Integers, floats and truth values keep their kind, numpy's or Python's; a mixture becomes the
    kind that holds all of them.
    """
    if not values:
        return np.zeros(0)
    kinds = {type(value) for value in values}
    if all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds):
        try:
            found = np.array(values)
        except OverflowError:
            return values
        return found if found.dtype.kind in "biuf" else values
    if all(issubclass(kind, np.generic) for kind in kinds):
        return np.array(values)
    if kinds == {np.ndarray} and len({value.shape for value in values}) == 1:
        return np.stack(values)
    return values


def copied(column: Column) -> Column:
    """A copy, lists inside a list copied too."""
    if isinstance(column, np.ndarray):
        return column.copy()
    return [list(value) if isinstance(value, list) else value for value in column]


class Part(NamedTuple):
    """A column that is part of a larger array, in a form that keeps this when both are copied."""

    owner: Array
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def column(self) -> Column:
        """The column, in the owner's memory."""
        memory = self.owner.ravel("K").view(np.uint8)
        return np.ndarray(self.shape, self.dtype, memory, self.offset, self.strides)


def as_part(column: Column) -> Column | Part:
    """Where the column lies in the array that owns its memory; itself if it owns it."""
    owner = column.base if isinstance(column, np.ndarray) else None
    if not isinstance(column, np.ndarray) or not isinstance(owner, np.ndarray):
        return column
    if owner.dtype.hasobject or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
        return column
    offset = column.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return Part(owner, offset, column.shape, column.strides, column.dtype)


def plain_value(column: Column, row: int) -> Any:
    """One value, as a Python number where it is a number."""
    value = column[row]
    return value.item() if isinstance(value, np.generic) else value
