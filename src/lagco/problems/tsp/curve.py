"""Cities in the order of a curve that fills the plane (D. Hilbert, 1891): a tour in no time."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array

#: of each coordinate; the curve visits the cells of a square of that many bits a side
_BITS = 16


def along_curve(coordinates: Array) -> Array:
    """Cities (n,) in the order in which the curve comes by; coordinates (n, 2)."""
    corner = coordinates.min(axis=0)
    span = float((coordinates.max(axis=0) - corner).max()) or 1.0
    cells = ((coordinates - corner) / span * (2**_BITS - 1)).astype(np.int64)
    x, y = cells[:, 0], cells[:, 1]
    along = np.zeros(len(cells), dtype=np.int64)
    for bit in reversed(range(_BITS)):
        side = 1 << bit
        right, upper = x & side > 0, y & side > 0
        along += side * side * ((3 * right) ^ upper)
        x, y = x & (side - 1), y & (side - 1)
        turned = right & ~upper  # the curve runs through quarters mirrored, so that ends meet
        x, y = np.where(turned, side - 1 - x, x), np.where(turned, side - 1 - y, y)
        x, y = np.where(upper, x, y), np.where(upper, y, x)
    return np.argsort(along, kind="stable")
