"""Bringing rows of a feature matrix up to date, compiled.

Each kernel writes what differs and notes the rows that changed, once each through `dirty`: those of
group g are ``changed[g, :counts[g]]``.
"""

from __future__ import annotations

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]


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


@njit(cache=True)
def sync_range(block, low, high, columns, start, group, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """Compare the rows from `low` to `high` of `block` (n, width) with ``columns[start:]``.

    Returns a row with a value that is not finite, else -1.
    """
    for i in range(low, high):
        for c in range(block.shape[1]):
            value = np.float32(block[i, c])
            if value != columns[start + c, i]:
                if not np.isfinite(value):
                    return i
                columns[start + c, i] = value
                note_row(i, group, dirty, changed, counts)
    return -1


@njit(cache=True)
def sync_rows(block, rows, columns, start, group, dirty, changed, counts):  # type: ignore[no-untyped-def]
    """The same for `rows` (k,), whose values are those of `block` (k, width)."""
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
