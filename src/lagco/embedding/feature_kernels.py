"""Bringing rows of a feature matrix up to date, compiled.

Each kernel writes what differs and notes the rows that changed, once each through `dirty`: those of
group g are ``changed[g, :counts[g]]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types  # type: ignore[import-untyped, unused-ignore]

from lagco.embedding.row_sums import intrinsic


@njit(cache=True)
def note_row(i, group, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """Note a row as changed, unless it is."""
    if not dirty[group, i]:
        dirty[group, i] = 1
        changed[group, counts[group]] = i
        counts[group] += 1


@njit(cache=True)
def note_rows(low, high, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """Note the rows from `low` to `high` as changed in every group."""
    for group in range(counts.shape[0]):
        for i in range(low, high):
            note_row(i, group, dirty, changed, counts)


#: Types of columns that are read where they are; bools are read as the bytes they are.
TYPES = tuple(
    np.dtype(kind)
    for kind in ("float32", "float64", "int64", "int8", "bool", "uint8", "int16", "int32")
)
#: What is known of a column: address, number in TYPES, bytes from row to row and from value to
#: value, values per row, first column of the matrix, group.
ADDRESS, TYPE, ROW_STRIDE, VALUE_STRIDE, WIDTH, START, GROUP, FACTS = range(8)


@intrinsic
def _value_at(typingctx, address, kind):  # type: ignore[no-untyped-def]
    """The number at an address, of the type of `kind`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = context.get_value_type(kind).as_pointer()
        return builder.load(builder.inttoptr(args[0], pointer))

    return kind(types.intp, kind), generate


@njit(cache=True)
def read_value(address, code):  # type: ignore[no-untyped-def]
    """The number at an address, of that type, as float32."""
    if code == 0:
        return _value_at(address, np.float32(0))
    if code == 1:
        return np.float32(_value_at(address, np.float64(0)))
    if code == 2:
        return np.float32(_value_at(address, np.int64(0)))
    if code == 3 or code == 4:
        return np.float32(_value_at(address, np.int8(0)))
    if code == 5:
        return np.float32(_value_at(address, np.uint8(0)))
    if code == 6:
        return np.float32(_value_at(address, np.int16(0)))
    return np.float32(_value_at(address, np.int32(0)))


@njit(cache=True)
def sync_columns(wanted, facts, columns, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """Compare rows of attributes, read where they are, with the matrix `columns`.

    Args:
        wanted: flat, per entry the attribute, its first row and the one behind its last.
        facts: (attributes, FACTS), see there.

    Returns:
        Attribute and row of a value that is not finite, else -1 twice.
    """
    for at in range(0, len(wanted), 3):
        known = facts[wanted[at]]
        code, group = known[TYPE], known[GROUP]
        for i in range(wanted[at + 1], wanted[at + 2]):
            address = known[ADDRESS] + i * known[ROW_STRIDE]
            for c in range(known[START], known[START] + known[WIDTH]):
                value = read_value(address, code)
                if value != columns[c, i]:
                    if not np.isfinite(value):
                        return wanted[at], i
                    columns[c, i] = value
                    note_row(i, group, dirty, changed, counts)
                address += known[VALUE_STRIDE]
    return -1, -1


@njit(cache=True)
def sync_rows(block, rows, columns, start, group, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """The same for `rows` (k,) of one attribute, whose values are those of `block` (k, width).

    Returns a row with a value that is not finite, else -1.
    """
    for k in range(rows.shape[0]):
        i = rows[k]
        for c in range(block.shape[1]):
            value = np.float32(block[k, c])
            if value != columns[start + c, i]:
                if not np.isfinite(value):
                    return i
                columns[start + c, i] = value
                note_row(i, group, dirty, changed, counts)
    return -1
