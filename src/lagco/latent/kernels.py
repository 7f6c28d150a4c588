"""Compiled loops behind observations and action sets."""

from __future__ import annotations

import numpy as np
from numba import njit

MEAN, MAX, MIN, SUM, ROOT_SUM = range(5)
#: weights of rows that all count the same
EQUAL = np.zeros(0)


@njit(cache=True)
def attached_values(objects, column, owners, positions, start, mean, factor, out):  # type: ignore[no-untyped-def]
    """Vectors of objects (k, w), and from column `start` on ``column[owners, positions]``
    standardised; objects without rows are left alone.
    """
    width = column.shape[2]
    known = objects.shape[1] if objects.shape[0] else 0
    for i in range(owners.shape[0]):
        for c in range(known):
            out[i, c] = objects[i, c]
        for c in range(width):
            at = start + c
            value = np.float32(column[owners[i], positions[i], c])
            out[i, at] = (value - mean[at]) * factor[at]


@njit(cache=True)
def pool_rows(rows, weights, start, out):  # type: ignore[no-untyped-def]
    """Mean, max, min and sum of `rows` (k, d) into the columns of `out` (4, ·) from `start` on.

    weights: (k,), how often each row counts, rows of weight 0 not at all; `EQUAL` for once each.
    Zeros where no row counts. Returns the total weight.
    """
    count, width = rows.shape
    out[:, start : start + width] = 0.0
    total = 0.0
    for i in range(count):
        weight = weights[i] if weights.shape[0] else 1.0
        if weight <= 0.0:
            continue
        for c in range(width):
            value = rows[i, c]
            at = start + c
            out[SUM, at] += np.float32(weight) * value
            if total == 0.0:
                out[MAX, at] = out[MIN, at] = value
            else:
                out[MAX, at] = max(out[MAX, at], value)
                out[MIN, at] = min(out[MIN, at], value)
        total += weight
    if total > 0.0:
        for at in range(start, start + width):
            out[MEAN, at] = out[SUM, at] / total
    return total


@njit(cache=True)
def pool_positions(z, counts, mean, scale, start, out):  # type: ignore[no-untyped-def]
    """`pool_rows` for every position of a path: node vectors standardised for that position.

    counts: (positions, n), how often a node counts there; mean, scale: (positions · p,).
    """
    n, width = z.shape
    rows = np.empty((n, width), dtype=np.float32)
    for t in range(counts.shape[0]):
        for i in range(n):
            for c in range(width):
                rows[i, c] = (z[i, c] - mean[t * width + c]) * scale[t * width + c]
        pool_rows(rows, counts[t], start + t * width, out)


@njit(cache=True)
def write_pooled(rows, poolings, out):  # type: ignore[no-untyped-def]
    """Poolings of `rows` (k, d), one after the other: (len(poolings) · d,)."""
    count, width = rows.shape
    found = np.empty((4, width), dtype=np.float32)
    pool_rows(rows, EQUAL, 0, found)
    root = np.float32(np.sqrt(max(count, 1)))
    for k in range(poolings.shape[0]):
        for c in range(width):
            if poolings[k] == ROOT_SUM:
                out[k * width + c] = found[SUM, c] / root
            else:
                out[k * width + c] = found[poolings[k], c]


@njit(cache=True)
def write_summary(found, poolings, size, out):  # type: ignore[no-untyped-def]
    """The same from the mean, max and min (≥ 3, d) over a set of `size` vectors."""
    width = found.shape[1]
    for k in range(poolings.shape[0]):
        for c in range(width):
            if poolings[k] == SUM:
                out[k * width + c] = found[MEAN, c] * np.float32(size)
            elif poolings[k] == ROOT_SUM:
                out[k * width + c] = found[MEAN, c] * np.float32(np.sqrt(size))
            else:
                out[k * width + c] = found[poolings[k], c]


@njit(cache=True)
def standardise(values, mean, factor, cut):  # type: ignore[no-untyped-def]
    """(values - mean) · factor in place, cut off at ± `cut`."""
    for c in range(values.shape[0]):
        value = (values[c] - mean[c]) * factor[c]
        values[c] = min(max(value, -cut), cut)


@njit(cache=True)
def node_vectors(z, features, columns, elements, mean, scale, out):  # type: ignore[no-untyped-def]
    """Vectors (k, p + a) of nodes: embedding and chosen rows of `features`, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    for i in range(elements.shape[0]):
        node = elements[i]
        for c in range(width):
            out[i, c] = (z[node, c] - mean[c]) * scale[c]
        for c in range(extra):
            out[i, width + c] = (features[columns[c], node] - mean[width + c]) * scale[width + c]


@njit(cache=True)
def edge_vectors(z, edges, features, columns, elements, mean, scale, out):  # type: ignore[no-untyped-def]
    """Vectors (k, 2 p + a) of edges: both ends and chosen rows of `features`, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    for i in range(elements.shape[0]):
        edge = elements[i]
        u, v = edges[0, edge], edges[1, edge]
        for c in range(width):
            out[i, c] = (z[u, c] - mean[c]) * scale[c]
            out[i, width + c] = (z[v, c] - mean[width + c]) * scale[width + c]
        for c in range(extra):
            at = 2 * width + c
            out[i, at] = (features[columns[c], edge] - mean[at]) * scale[at]


@njit(cache=True)
def position_vectors(z, mean, scale, slots, out):  # type: ignore[no-untyped-def]
    """Node vectors standardised for each of the first `slots` positions of `out` (T, n, p)."""
    n, width = z.shape
    out[slots:] = 0.0
    for t in range(slots):
        for i in range(n):
            for c in range(width):
                out[t, i, c] = (z[i, c] - mean[t * width + c]) * scale[t * width + c]


@njit(cache=True)
def admissible_counts(hops, sources, targets, limits, positions):  # type: ignore[no-untyped-def]
    """For how many demands a node may stand at a position of a path: (positions, n)."""
    nodes = hops.shape[0]
    counts = np.zeros((positions, nodes))
    for e in range(sources.shape[0]):
        for v in range(nodes):
            latest = limits[e] - hops[v, targets[e]]
            for t in range(hops[sources[e], v], min(latest + 1, positions)):
                counts[t, v] += 1.0
    return counts


@njit(cache=True)
def nearest_row(table, query, metric):  # type: ignore[no-untyped-def]
    """Row of `table` (k, d) nearest to `query` (d,) and its score; the first one among equals.

    metric: 0 cosine, 1 inner product, 2 squared distance.
    """
    count, width = table.shape
    best, best_cost, best_score = -1, np.inf, 0.0
    square = 0.0
    for c in range(width):
        square += query[c] * query[c]
    for i in range(count):
        dot = norm = distance = 0.0
        for c in range(width):
            value = np.float64(table[i, c])
            asked = np.float64(query[c])
            dot += value * asked
            norm += value * value
            distance += (value - asked) * (value - asked)
        if metric == 0:
            score = dot / np.sqrt(square * norm) if square * norm > 0.0 else 0.0
            cost = -score
        elif metric == 1:
            score, cost = dot, -dot
        else:
            score = cost = distance
        if cost < best_cost:
            best, best_cost, best_score = i, cost, score
    return best, best_score
