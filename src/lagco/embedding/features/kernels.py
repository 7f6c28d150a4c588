"""Bringing rows of a feature matrix up to date, compiled.

Each kernel writes what differs and notes the rows that changed, see :class:`Changes`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]
from numpy.lib.stride_tricks import as_strided

from lagco.arrays import Array


class Changes(NamedTuple):
    """Rows of a matrix that changed, by group of attributes.

    Attributes:
        dirty: uint8 (groups, ≥ n), whether the row is listed in `changed`.
        changed: int32 (groups, ≥ n), changed rows in no particular order.
        counts: int64 (groups,), how many are listed.
    """

    dirty: Array
    changed: Array
    counts: Array


@njit(cache=True)
def note_row(i, group, changes):  # type: ignore[no-untyped-def]
    """Note a row as changed, unless it is."""
    dirty, changed, counts = changes
    if not dirty[group, i]:
        dirty[group, i] = 1
        changed[group, counts[group]] = i
        counts[group] += 1


@njit(cache=True)
def note_rows(low, high, changes):  # type: ignore[no-untyped-def]
    """Note the rows from `low` to `high` as changed in every group."""
    for group in range(changes.counts.shape[0]):
        for i in range(low, high):
            note_row(i, group, changes)


#: Types of columns that are read where they are; bools are read as the bytes they are.
TYPES = tuple(
    np.dtype(kind)
    for kind in ("float32", "float64", "int64", "int8", "bool", "uint8", "int16", "int32")
)
#: What is known of a column: address, number in TYPES, bytes from row to row and from value to
#: value, values per row, first column of the matrix, group.
ADDRESS, TYPE, ROW_STRIDE, VALUE_STRIDE, WIDTH, START, GROUP, FACTS = range(8)


#: bytes that :func:`memory_from` spans, more than there are
_ALL = 2**62


@njit(cache=True)
def memory_from(array):  # type: ignore[no-untyped-def]
    """All memory as numbers of the type of `array` (k,), byte by byte from its first number on.

    Columns of several types are read in one loop by their addresses: as arrays they would need a
    compiled function for each combination of types. Numba reads memory through arrays alone, so
    this one begins at an array of ours and reaches everywhere; :func:`place_of` says where.
    """
    return as_strided(array, (_ALL,), (1,))


@njit(cache=True)
def place_of(address, anchor):  # type: ignore[no-untyped-def]
    """Place of an address in the :func:`memory_from` of `anchor`.

    Unsigned, as numba counts negative places from the end; places before the anchor wrap around.
    """
    return np.uint64(address - anchor.ctypes.data)


@njit(cache=True)
def _compare(memory, place, known, rows, columns, changes):  # type: ignore[no-untyped-def]
    """Compare rows of one attribute, whose first value is at a place of `memory`.

    Returns a row with a value that is not finite, else -1.
    """
    low, high = rows
    start, width, group = known[START], known[WIDTH], known[GROUP]
    for i in range(low, high):
        at = place + np.uint64(i * known[ROW_STRIDE])
        for c in range(width):
            value = np.float32(memory[at])
            if value != columns[start + c, i]:
                if not np.isfinite(value):
                    return i
                columns[start + c, i] = value
                note_row(i, group, changes)
            at += np.uint64(known[VALUE_STRIDE])
    return -1


@njit(cache=True)
def sync_columns(wanted, facts, columns, changes):  # type: ignore[no-untyped-def]
    """Compare rows of attributes, read where they are, with the matrix `columns`.

    Args:
        wanted: flat, per entry the attribute, its first row and the one behind its last.
        facts: (attributes, FACTS), see there.
        columns: float32 (width, n), written where values differ.
        changes: written.

    Returns:
        Attribute and row of a value that is not finite, else -1 twice.
    """
    anchor = facts.reshape(facts.size)
    floats, doubles = memory_from(anchor.view(np.float32)), memory_from(anchor.view(np.float64))
    longs, ints = memory_from(anchor), memory_from(anchor.view(np.int32))
    shorts, signed = memory_from(anchor.view(np.int16)), memory_from(anchor.view(np.int8))
    unsigned = memory_from(anchor.view(np.uint8))
    for at in range(0, len(wanted), 3):
        known = facts[wanted[at]]
        rows = wanted[at + 1], wanted[at + 2]
        kind, place = known[TYPE], place_of(known[ADDRESS], anchor)
        if kind == 0:
            bad = _compare(floats, place, known, rows, columns, changes)
        elif kind == 1:
            bad = _compare(doubles, place, known, rows, columns, changes)
        elif kind == 2:
            bad = _compare(longs, place, known, rows, columns, changes)
        elif kind == 3 or kind == 4:
            bad = _compare(signed, place, known, rows, columns, changes)
        elif kind == 5:
            bad = _compare(unsigned, place, known, rows, columns, changes)
        elif kind == 6:
            bad = _compare(shorts, place, known, rows, columns, changes)
        else:
            bad = _compare(ints, place, known, rows, columns, changes)
        if bad >= 0:
            return wanted[at], bad
    return -1, -1


@njit(cache=True)
def sync_rows(block, rows, columns, start, group, changes):  # type: ignore[no-untyped-def]
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
                note_row(i, group, changes)
    return -1
