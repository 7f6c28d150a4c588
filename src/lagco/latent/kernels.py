"""Compiled loops behind observations and action sets."""

from __future__ import annotations

import numpy as np
from numba import njit

MEAN, MAX, MIN, SUM = range(4)


@njit(cache=True)
def pool_rows(rows, out):  # type: ignore[no-untyped-def]
    """Mean, max, min and sum of `rows` (k, d) into `out` (4, d); zeros for no rows."""
    count, width = rows.shape
    out[:] = 0.0
    if count == 0:
        return
    for c in range(width):
        out[MAX, c] = out[MIN, c] = rows[0, c]
    for i in range(count):
        for c in range(width):
            value = rows[i, c]
            out[SUM, c] += value
            out[MAX, c] = max(out[MAX, c], value)
            out[MIN, c] = min(out[MIN, c], value)
    for c in range(width):
        out[MEAN, c] = out[SUM, c] / count


@njit(cache=True)
def pool_chosen(rows, chosen, out):  # type: ignore[no-untyped-def]
    """The same over the rows with the numbers `chosen` (k,)."""
    width = rows.shape[1]
    out[:] = 0.0
    count = chosen.shape[0]
    if count == 0:
        return
    for c in range(width):
        out[MAX, c] = out[MIN, c] = rows[chosen[0], c]
    for i in range(count):
        for c in range(width):
            value = rows[chosen[i], c]
            out[SUM, c] += value
            out[MAX, c] = max(out[MAX, c], value)
            out[MIN, c] = min(out[MIN, c], value)
    for c in range(width):
        out[MEAN, c] = out[SUM, c] / count


@njit(cache=True)
def pool_weighted(rows, weights, out):  # type: ignore[no-untyped-def]
    """Weighted mean, max and min over rows of positive weight, into `out` (4, d).

    The row `SUM` gets the weighted sum. Returns the total weight.
    """
    count, width = rows.shape
    out[:] = 0.0
    total = 0.0
    for i in range(count):
        weight = weights[i]
        if weight <= 0.0:
            continue
        for c in range(width):
            value = rows[i, c]
            out[SUM, c] += weight * value
            if total == 0.0:
                out[MAX, c] = out[MIN, c] = value
            else:
                out[MAX, c] = max(out[MAX, c], value)
                out[MIN, c] = min(out[MIN, c], value)
        total += weight
    if total > 0.0:
        for c in range(width):
            out[MEAN, c] = out[SUM, c] / total
    return total


@njit(cache=True)
def node_vectors(z, features, columns, elements, mean, scale):  # type: ignore[no-untyped-def]
    """Vectors (k, p + a) of nodes: embedding and chosen feature columns, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    out = np.empty((elements.shape[0], width + extra), dtype=np.float32)
    for i in range(elements.shape[0]):
        node = elements[i]
        for c in range(width):
            out[i, c] = (z[node, c] - mean[c]) * scale[c]
        for c in range(extra):
            out[i, width + c] = (features[node, columns[c]] - mean[width + c]) * scale[width + c]
    return out


@njit(cache=True)
def edge_vectors(z, edges, features, columns, elements, mean, scale):  # type: ignore[no-untyped-def]
    """Vectors (k, 2 p + a) of edges: both ends and chosen feature columns, standardised."""
    width, extra = z.shape[1], columns.shape[0]
    out = np.empty((elements.shape[0], 2 * width + extra), dtype=np.float32)
    for i in range(elements.shape[0]):
        edge = elements[i]
        u, v = edges[0, edge], edges[1, edge]
        for c in range(width):
            out[i, c] = (z[u, c] - mean[c]) * scale[c]
            out[i, width + c] = (z[v, c] - mean[width + c]) * scale[width + c]
        for c in range(extra):
            at = 2 * width + c
            out[i, at] = (features[edge, columns[c]] - mean[at]) * scale[at]
    return out


@njit(cache=True)
def hop_distances(nodes, edges):  # type: ignore[no-untyped-def]
    """Hops between all pairs along directed edges (2, E), n where there is no way: (n, n)."""
    first = np.zeros(nodes + 1, dtype=np.int64)
    for k in range(edges.shape[1]):
        first[edges[0, k] + 1] += 1
    for v in range(nodes):
        first[v + 1] += first[v]
    heads = np.empty(edges.shape[1], dtype=np.int64)
    filled = first[:-1].copy()
    for k in range(edges.shape[1]):
        heads[filled[edges[0, k]]] = edges[1, k]
        filled[edges[0, k]] += 1
    hops = np.full((nodes, nodes), nodes, dtype=np.int64)
    queue = np.empty(nodes, dtype=np.int64)
    for source in range(nodes):
        hops[source, source] = 0
        queue[0] = source
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for k in range(first[u], first[u + 1]):
                v = heads[k]
                if hops[source, v] == nodes:
                    hops[source, v] = hops[source, u] + 1
                    queue[tail] = v
                    tail += 1
    return hops


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
