"""Distances between cities: by coordinates under one of TSPLIB's rules, or a given matrix.

Compiled code takes the triple (`rule`, `coordinates` (n, 2), `matrix` (n, n) or (0, 0)), so that
instances with coordinates need memory linear in n.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from lagco.errors import InstanceError, suggest
from lagco.instances import Instance

#: `euclidean` is exact; the others round as TSPLIB defines them. The most usual ones come first.
RULES = ("euclidean", "euc_2d", "ceil_2d", "att", "geo", "explicit")
_EUCLIDEAN, ROUNDED, _CEIL_2D, _ATT, _GEO, _EXPLICIT = range(len(RULES))
_EARTH_RADIUS = 6378.388
_TSPLIB_PI = 3.141592
#: from so many cities on a tree finds neighbours faster than measuring all distances
_TREE_FROM = 1000

Metric = tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]


def metric_of(instance: Instance) -> Metric:
    """The metric of an instance, as compiled code takes it."""
    rule = str(instance.params.get("metric", "euclidean"))
    if rule not in RULES:
        raise InstanceError(f"instance {instance.name!r}: {suggest('metric', rule, RULES)}")
    if rule == "explicit":
        matrix = np.array(instance.array("matrix"), dtype=np.float64)
        shape = (instance.size, instance.size)
    else:
        matrix = np.zeros((0, 0))
        shape = (0, 0)
    coordinates = np.zeros((instance.size, 2))
    if rule != "explicit" or "coordinates" in instance.arrays:
        coordinates = np.array(instance.array("coordinates"), dtype=np.float64)
    for name, array, wanted in (
        ("matrix", matrix, shape),
        ("coordinates", coordinates, (instance.size, 2)),
    ):
        if array.shape != wanted:
            raise InstanceError(
                f"instance {instance.name!r}: {name} has shape {array.shape}, expected {wanted}"
            )
        if not np.isfinite(array).all():
            raise InstanceError(f"instance {instance.name!r}: {name} has a value that is no number")
    matrix = _symmetric(matrix, instance.name)
    return RULES.index(rule), coordinates, matrix


def _symmetric(matrix: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    """The matrix without differences by rounding: searches go both ways round."""
    wrong = np.argwhere(~np.isclose(matrix, matrix.T, rtol=1e-9, atol=0.0))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise InstanceError(
            f"instance {name!r}: matrix[{i}, {j}] is {matrix[i, j]:g} and matrix[{j}, {i}] is "
            f"{matrix[j, i]:g}; give the same distance both ways"
        )
    if matrix.size and matrix.min() < 0:
        i, j = np.argwhere(matrix < 0)[0].tolist()
        raise InstanceError(
            f"instance {name!r}: matrix[{i}, {j}] is {matrix[i, j]:g}; give distances of 0 or more"
        )
    return np.minimum(matrix, matrix.T)


def unit_length(
    metric: Metric,
    extent: float,
    pairs: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.float64],
) -> float:
    """The length that features count as 1: the larger side of the bounding box, in the metric.

    Args:
        metric: of the instance.
        extent: that side, in units of the coordinates.
        pairs: edges (2, E) to compare both units on.
        lengths: their lengths (E,) in the metric.
    """
    rule, coordinates, matrix = metric
    if matrix.size:
        return float(matrix.max()) or 1.0
    if RULES[rule] != "euclidean":  # degrees against kilometres, and the like
        plain = np.linalg.norm(coordinates[pairs[0]] - coordinates[pairs[1]], axis=1).sum()
        extent *= float(lengths.sum() / plain) if plain else 1.0
    return extent or 1.0


def neighbour_lists(metric: Metric, count: int) -> npt.NDArray[np.int64]:
    """The `count` nearest other cities of every city, nearest first: (n, count)."""
    rule, coordinates, _ = metric
    n = len(coordinates)
    if n < _TREE_FROM or not follows_coordinates(rule):
        return np.asarray(nearest_neighbours(*metric, count))
    from scipy.spatial import cKDTree

    # one more than asked for, since a city is among its own neighbours, but not always the first
    _, found = cKDTree(coordinates).query(coordinates, k=count + 1)
    found = np.asarray(found)
    others = found != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False
    return np.asarray(found[others].reshape(n, count), dtype=np.int64)


@njit(cache=True)
def _radians(value):  # type: ignore[no-untyped-def]
    degrees = math.trunc(value)
    return _TSPLIB_PI * (degrees + 5.0 * (value - degrees) / 3.0) / 180.0


@njit(cache=True)
def _geo(coordinates, i, j):  # type: ignore[no-untyped-def]
    latitude_i, longitude_i = _radians(coordinates[i, 0]), _radians(coordinates[i, 1])
    latitude_j, longitude_j = _radians(coordinates[j, 0]), _radians(coordinates[j, 1])
    q1 = math.cos(longitude_i - longitude_j)
    q2 = math.cos(latitude_i - latitude_j)
    q3 = math.cos(latitude_i + latitude_j)
    inside = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3)
    return math.trunc(_EARTH_RADIUS * math.acos(min(1.0, max(-1.0, inside))) + 1.0)


@njit(cache=True)
def distance(rule, coordinates, matrix, i, j):  # type: ignore[no-untyped-def]
    """Distance between cities i and j."""
    if i == j:
        return 0.0
    if rule == _EXPLICIT:
        return matrix[i, j]
    if rule == _GEO:
        return _geo(coordinates, i, j)
    dx = coordinates[i, 0] - coordinates[j, 0]
    dy = coordinates[i, 1] - coordinates[j, 1]
    square = dx * dx + dy * dy
    if rule == _EUCLIDEAN:
        return math.sqrt(square)
    if rule == ROUNDED:
        return math.floor(math.sqrt(square) + 0.5)
    if rule == _CEIL_2D:
        return math.ceil(math.sqrt(square))
    real = math.sqrt(square / 10.0)
    rounded = math.floor(real + 0.5)
    return rounded + 1.0 if rounded < real else rounded


@njit(cache=True)
def follows_coordinates(rule):  # type: ignore[no-untyped-def]
    """Whether a longer straight line never means a shorter distance."""
    return rule <= _ATT


@njit(cache=True)
def distance_row(rule, coordinates, matrix, i):  # type: ignore[no-untyped-def]
    """Distances from city i to all cities (n,)."""
    n = coordinates.shape[0]
    row = np.empty(n)
    for j in range(n):
        row[j] = distance(rule, coordinates, matrix, i, j)
    return row


@njit(cache=True)
def distance_matrix(rule, coordinates, matrix):  # type: ignore[no-untyped-def]
    """All distances (n, n)."""
    n = coordinates.shape[0]
    full = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            full[i, j] = distance(rule, coordinates, matrix, i, j)
    return full


@njit(cache=True)
def path_length(rule, coordinates, matrix, path):  # type: ignore[no-untyped-def]
    """Length of a path, not closed."""
    length = 0.0
    for i in range(len(path) - 1):
        length += distance(rule, coordinates, matrix, path[i], path[i + 1])
    return length


@njit(cache=True)
def tour_length(rule, coordinates, matrix, tour):  # type: ignore[no-untyped-def]
    """Length of the closed tour through the cities in that order."""
    total = 0.0
    for k in range(tour.shape[0]):
        total += distance(rule, coordinates, matrix, tour[k - 1], tour[k])
    return total


@njit(cache=True)
def nearest_neighbours(rule, coordinates, matrix, count):  # type: ignore[no-untyped-def]
    """The `count` nearest other cities of every city, nearest first: (n, count)."""
    n = coordinates.shape[0]
    nearest = np.empty((n, count), dtype=np.int64)
    for i in range(n):
        row = distance_row(rule, coordinates, matrix, i)
        row[i] = np.inf
        nearest[i] = np.argsort(row, kind="mergesort")[:count]
    return nearest


@njit(cache=True)
def edge_lengths(rule, coordinates, matrix, pairs):  # type: ignore[no-untyped-def]
    """Lengths of the edges (2, E): (E,)."""
    lengths = np.empty(pairs.shape[1])
    for k in range(pairs.shape[1]):
        lengths[k] = distance(rule, coordinates, matrix, pairs[0, k], pairs[1, k])
    return lengths
