"""Compactness of an action space: the paper's cmp@k."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lagco.arrays import Array


def compactness(vectors: Array, ks: Sequence[int] = (3, 5, 10)) -> dict[int, float]:
    """Mean pairwise distance over the mean distance to the k nearest neighbours, for every k.

    Args:
        vectors: action vectors (N, d); a few hundred are enough.
        ks: numbers of neighbours; those that N does not reach are left out.
    """
    points = np.asarray(vectors, dtype=np.float64)
    n = len(points)
    squares = (points**2).sum(axis=1)
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * points @ points.T, 0.0))
    np.fill_diagonal(distances, 0.0)
    mean = distances.sum() / max(n * (n - 1), 1)
    ordered = np.sort(distances, axis=1)[:, 1:]
    found = {}
    for k in ks:
        if k < n:
            near = ordered[:, :k].mean()
            found[k] = float(mean / near) if near > 0 else float("inf")
    return found
