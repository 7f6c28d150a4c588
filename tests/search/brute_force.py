"""The reference: score every action, sort by (cost, index tuple)."""

from __future__ import annotations

import itertools

import numpy as np


def costs(vectors, query, metric):
    if metric == "l2":
        return ((vectors - query) ** 2).sum(1)
    dots = vectors @ query
    if metric == "inner":
        return -dots
    norms = (vectors**2).sum(1)
    return np.where(norms > 0, -dots * np.abs(dots) / np.where(norms > 0, norms, 1), 0.0)


def nearest(vectors, rows, query, metric, k):
    """Index rows of the k best, best first, ties by index tuple."""
    if not len(rows):
        return rows
    return rows[np.lexsort((*rows.T[::-1], costs(vectors, query, metric)))[:k]]


def score(vector, query, metric):
    if metric == "l2":
        return ((vector - query) ** 2).sum()
    if metric == "inner":
        return vector @ query
    length = np.linalg.norm(vector) * np.linalg.norm(query)
    return vector @ query / length if length else 0.0


def simple_paths(edges, nodes, sources, targets, hops, min_len=1):
    """Rows (demand, p_0, ...) padded with `nodes`, by plain recursion."""
    following = {v: set() for v in range(nodes)}
    for a, b in np.asarray(edges).T.tolist():
        if a != b:
            following[a].add(b)
    width = max(hops) + 1
    rows = []

    def extend(demand, path, target, most):
        if path[-1] == target or (target < 0 and len(path) > min_len):
            rows.append([demand, *path, *[nodes] * (width - len(path))])
        if path[-1] == target or len(path) > most:
            return
        for v in following[path[-1]]:
            if v not in path:
                extend(demand, [*path, v], target, most)

    for demand, (s, t, h) in enumerate(zip(sources, targets, hops, strict=True)):
        for start in range(nodes) if s < 0 else [s]:
            extend(demand, [start], t, h)
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, width + 1)


def connected_sets(edges, nodes, most, allowed):
    """Rows of all connected sets of allowed nodes, padded with `nodes`, by trying all sets."""
    beside = {v: set() for v in range(nodes)}
    for a, b in np.asarray(edges).T.tolist():
        beside[a].add(b)
        beside[b].add(a)
    rows = []
    for size in range(1, most + 1):
        for chosen in itertools.combinations(np.flatnonzero(allowed).tolist(), size):
            reached, waiting = {chosen[0]}, [chosen[0]]
            while waiting:
                found = (beside[waiting.pop()] & set(chosen)) - reached
                reached |= found
                waiting += found
            if len(reached) == size:
                rows.append([*chosen, *[nodes] * (most - size)])
    return np.array(sorted(rows), dtype=np.int64).reshape(-1, most)
