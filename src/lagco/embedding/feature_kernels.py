"""Bringing one column of a feature matrix up to date, compiled.

Each kernel writes what differs, notes the rows that changed (once each, through `dirty`), and
returns how many are noted now, or -1 - row for a value that is not finite.
"""

from __future__ import annotations

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]


@njit(cache=True)
def sync_all(column, out, dirty, rows, count):  # type: ignore[no-untyped-def]
    """Compare all of `column` (n,) with `out` (n,)."""
    for i in range(out.shape[0]):
        value = np.float32(column[i])
        if value != out[i]:
            if not np.isfinite(value):
                return -1 - i
            out[i] = value
            if not dirty[i]:
                dirty[i] = 1
                rows[count] = i
                count += 1
    return count


@njit(cache=True)
def sync_row(column, i, out, dirty, rows, count):  # type: ignore[no-untyped-def]
    """Compare row `i`."""
    if i < 0:
        i += out.shape[0]
    value = np.float32(column[i])
    if value != out[i]:
        if not np.isfinite(value):
            return -1 - i
        out[i] = value
        if not dirty[i]:
            dirty[i] = 1
            rows[count] = i
            count += 1
    return count


@njit(cache=True)
def sync_block(block, ids, out, dirty, rows, count):  # type: ignore[no-untyped-def]
    """Compare `block` (k, width), the rows `ids` (k,), with `out` (width, n)."""
    for k in range(ids.shape[0]):
        i = ids[k]
        for c in range(out.shape[0]):
            value = np.float32(block[k, c])
            if value != out[c, i]:
                if not np.isfinite(value):
                    return -1 - i
                out[c, i] = value
                if not dirty[i]:
                    dirty[i] = 1
                    rows[count] = i
                    count += 1
    return count
