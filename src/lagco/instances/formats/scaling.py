"""Coordinates for cities of which only the distances are known: classical multidimensional scaling.

Up to 256 cities all distances count. Beyond that, 256 landmarks that lie far apart are placed so,
and every other city by its distances to them (landmark scaling, de Silva and Tenenbaum 2004), so
that memory in addition to the matrix is linear in the number of cities.
"""

from __future__ import annotations

import math

import numpy as np

from lagco.arrays import Array

LANDMARKS = 256
#: digits of the larger side that are kept, so that the last bits of a machine do not show
_DIGITS = 6


def scaled_coordinates(distances: Array) -> Array:
    """Points (n, 2) whose distances resemble `distances` (n, n), the same on every call."""
    n = len(distances)
    chosen = np.arange(n) if n <= LANDMARKS else _landmarks(distances)
    squares = distances[chosen][:, chosen] ** 2
    mean = squares.mean(axis=0)
    centred = -0.5 * (squares - mean - mean[:, None] + mean.mean())
    values, vectors = np.linalg.eigh(centred)
    points = np.zeros((n, 2))
    for axis in range(min(2, len(chosen))):
        value, vector = values[-1 - axis], vectors[:, -1 - axis]
        if value <= 1e-12 * max(abs(values[-1]), abs(values[0])):
            break  # the cities lie on a line, or in one place
        vector = vector * (1.0 if vector[np.abs(vector).argmax()] > 0 else -1.0)
        for city in range(n):
            points[city, axis] = 0.5 * vector @ (mean - distances[city, chosen] ** 2)
        points[:, axis] /= math.sqrt(value)
    extent = float(np.ptp(points, axis=0).max())
    decimals = _DIGITS - math.ceil(math.log10(extent)) if extent > 0 else 0
    return np.round(points, decimals) + 0.0  # no negative zeros


def _landmarks(distances: Array) -> Array:
    """Cities far from each other: each the farthest from those before, city 0 first."""
    chosen = np.zeros(LANDMARKS, dtype=np.int64)
    nearest = distances[0].copy()
    for k in range(1, LANDMARKS):
        chosen[k] = int(nearest.argmax())
        np.minimum(nearest, distances[chosen[k]], out=nearest)
    return chosen
