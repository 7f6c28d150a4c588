"""Compiled steps of `tsp`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.tsp.distances import distance, follows_coordinates


@njit(cache=True)
def measure(rule, coordinates, matrix, city, unit, out):  # type: ignore[no-untyped-def]
    """log(1 + distance / unit) from `city` to all cities."""
    for j in range(out.shape[0]):
        out[j] = math.log1p(distance(rule, coordinates, matrix, city, j) / unit)


@njit(cache=True)
def look_around(nearest, lengths, visited, nearest_left, share_left):  # type: ignore[no-untyped-def]
    """Per city: lengths to the two nearest unvisited of its neighbours, and how many are unvisited.

    A city with fewer than two of them gets the length to its last neighbour in their place.
    """
    n, count = nearest.shape
    for i in range(n):
        found = 0
        for k in range(count):
            if not visited[nearest[i, k]]:
                if found < 2:
                    nearest_left[i, found] = lengths[i, k]
                found += 1
        share_left[i] = found / count
        while found < 2:
            nearest_left[i, found] = lengths[i, count - 1]
            found += 1


#: cities up to which a completion is always whole
FEW_LEFT = 10_000


@njit(cache=True, fastmath=True)
def _largest_square(x, y, xs, ys, count):  # type: ignore[no-untyped-def]
    largest = -1.0
    for k in range(count):  # a plain maximum, so that the compiler uses vector instructions
        square = (xs[k] - x) * (xs[k] - x) + (ys[k] - y) * (ys[k] - y)
        largest = max(largest, square)
    return largest


@njit(cache=True)
def _complete_by_coordinates(rule, coordinates, matrix, current, remaining, count, stop):  # type: ignore[no-untyped-def]
    xs, ys = np.empty(count), np.empty(count)
    for k in range(count):
        xs[k], ys[k] = coordinates[remaining[k], 0], coordinates[remaining[k], 1]
    total = 0.0
    while count > 0 and not (stop[0] and count > FEW_LEFT):
        x, y = coordinates[current, 0], coordinates[current, 1]
        # the margin covers the different rounding of fused instructions; ties take the first city
        bound = _largest_square(x, y, xs, ys, count) * (1.0 - 1e-12)
        farthest = -1
        for k in range(count):
            square = (xs[k] - x) * (xs[k] - x) + (ys[k] - y) * (ys[k] - y)
            if square >= bound and (farthest < 0 or remaining[k] < remaining[farthest]):
                farthest = k
        total += distance(rule, coordinates, matrix, current, remaining[farthest])
        current = remaining[farthest]
        count -= 1
        remaining[farthest] = remaining[count]
        xs[farthest], ys[farthest] = xs[count], ys[count]
    return total, current


@njit(cache=True)
def _complete_by_distance(rule, coordinates, matrix, current, remaining, count):  # type: ignore[no-untyped-def]
    total = 0.0
    while count > 0:
        farthest, most = -1, -1.0
        for k in range(count):
            d = distance(rule, coordinates, matrix, current, remaining[k])
            if d > most or (d == most and remaining[k] < remaining[farthest]):
                farthest, most = k, d
        total += most
        current = remaining[farthest]
        count -= 1
        remaining[farthest] = remaining[count]
    return total, current


@njit(cache=True, nogil=True)
def farthest_completion(rule, coordinates, matrix, current, start, visited, stop):  # type: ignore[no-untyped-def]
    """Length of going to the farthest remaining city, again and again, and back to the start.

    Where many have coordinates and stop (1,) is set, the rest is left out: nobody asks any more.
    """
    n = coordinates.shape[0]
    remaining = np.empty(n, dtype=np.int64)
    count = 0
    for city in range(n):
        if not visited[city]:
            remaining[count] = city
            count += 1
    if follows_coordinates(rule):
        total, last = _complete_by_coordinates(
            rule, coordinates, matrix, current, remaining, count, stop
        )
    else:
        total, last = _complete_by_distance(rule, coordinates, matrix, current, remaining, count)
    return total + distance(rule, coordinates, matrix, last, start)
