"""Fields of events: what they mean, what values they take, and their JSON schemas.

A value is checked by plain code, since a matrix of traffic has thousands and a running state may
not wait for it; the schema says the same to others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.results.numbers import of_things
from lagco.store import Schema, shown

#: longest text of a field, and numbers beyond it are refused
_MAX_TEXT, _MAX_NUMBER = 200, 1e15


@dataclass(frozen=True)
class Field:
    """A field of an event.

    Attributes:
        meaning: one phrase about it.
        schema: JSON schema of its values.
        fault: says what is wrong with a value; None where nothing is.
        optional: whether it may be left out.
        all_right: whether there is no fault in a whole column of values, found out quickly; where
            it is False, each is looked at.
    """

    meaning: str
    schema: Schema
    fault: Callable[[Any], str | None]
    optional: bool = False
    all_right: Callable[[Sequence[Any]], bool] = lambda values: False


def text(meaning: str, *, optional: bool = False) -> Field:
    """A name, as in the instance's file."""

    def fault(value: Any) -> str | None:
        if isinstance(value, str) and 0 < len(value) <= _MAX_TEXT:
            return None
        return f"is {shown(value)}, it must be a text of 1 to {_MAX_TEXT} characters"

    def all_right(values: Sequence[Any]) -> bool:
        lengths = set(map(len, values)) if set(map(type, values)) == {str} else {0}
        return min(lengths) > 0 and max(lengths) <= _MAX_TEXT

    schema = {"type": "string", "minLength": 1, "maxLength": _MAX_TEXT, "description": meaning}
    return Field(meaning, schema, fault, optional, all_right)


def number(
    meaning: str,
    *,
    low: float = -_MAX_NUMBER,
    high: float = _MAX_NUMBER,
    optional: bool = False,
) -> Field:
    """A finite number within bounds."""

    def fault(value: Any) -> str | None:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        if fits and low <= value <= high:
            return None
        return f"is {shown(value)}, it must be a number from {low:g} to {high:g}"

    def all_right(values: Sequence[Any]) -> bool:
        if not set(map(type, values)) <= {int, float}:
            return False
        numbers = np.array(values, dtype=np.float64)
        return bool(((numbers >= low) & (numbers <= high)).all())

    schema = {"type": "number", "minimum": low, "maximum": high, "description": meaning}
    return Field(meaning, schema, fault, optional, all_right)


def whole(meaning: str, *, low: int, high: int, optional: bool = False) -> Field:
    """A whole number within bounds."""

    def fault(value: Any) -> str | None:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return None
        return f"is {shown(value)}, it must be a whole number from {low} to {high}"

    schema = {"type": "integer", "minimum": low, "maximum": high, "description": meaning}
    return Field(meaning, schema, fault, optional)


def rows(meaning: str, *columns: Field, optional: bool = False) -> Field:
    """A list of rows, each with a value per column."""

    def fault(value: Any) -> str | None:
        if not isinstance(value, list | tuple):
            return f"is {shown(value)}, it must be a list of rows"
        width = len(columns)
        if set(map(type, value)) <= {list, tuple} and set(map(len, value)) == {width}:
            each = zip(columns, zip(*value, strict=True), strict=True)
            if all(column.all_right(values) for column, values in each):
                return None
        for number, row in enumerate(value, start=1):
            if not isinstance(row, list | tuple) or len(row) != width:
                return f"has {shown(row)} as row {number}, it must be a list of {width} values"
        for place, column in enumerate(columns):
            for number, row in enumerate(value, start=1):
                wrong = column.fault(row[place])
                if wrong is not None:
                    return f"{wrong} (row {number})"
        return None

    row = {
        "type": "array",
        "prefixItems": [column.schema for column in columns],
        "items": False,
        "minItems": len(columns),
    }
    return Field(meaning, {"type": "array", "items": row, "description": meaning}, fault, optional)


def listed(meaning: str, item: Field, *, count: int | None = None, optional: bool = False) -> Field:
    """A list of values of one kind; of so many where `count` says."""

    def fault(value: Any) -> str | None:
        if not isinstance(value, list | tuple):
            return f"is {shown(value)}, it must be a list"
        if count is not None and len(value) != count:
            return f"has {of_things(len(value), 'values')}, it must have {count}"
        return next((wrong for each in value if (wrong := item.fault(each)) is not None), None)

    schema: dict[str, Any] = {"type": "array", "items": item.schema, "description": meaning}
    if count is not None:
        schema |= {"minItems": count, "maxItems": count}
    return Field(meaning, schema, fault, optional)
