"""Norms of continuous attributes, each over one graph.

``min_max`` and ``z_score`` work column by column over the nodes (or edges) of the graph. ``l1`` and
``l2`` scale every row where rows are vectors (a sentence embedding), and the whole column where
values are single numbers (a row of one number would always become 1). What cannot be scaled,
a constant column or a zero row, becomes 0.
"""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array


def apply_norm(norm: str | None, block: Array) -> Array:
    """Scale `block` (k, width), the values of one attribute over one graph, to float32."""
    if norm is None or block.size == 0:
        return block.astype(np.float32, copy=False)
    values = block.astype(np.float64)
    if not np.isfinite(values).all():  # the caller names the row
        return block.astype(np.float32)
    if norm == "min_max":
        low = values.min(axis=0)
        values = _divided(values - low, values.max(axis=0) - low)
    elif norm == "z_score":
        values = values - values.mean(axis=0)
        deviation = values.std(axis=0)
        values = _divided(values, np.where(deviation > 1e-12, deviation, 0.0))
    else:
        axis = 1 if values.shape[1] > 1 else 0
        sizes = np.abs(values) if norm == "l1" else values**2
        total = sizes.sum(axis=axis, keepdims=True)
        values = _divided(values, total if norm == "l1" else np.sqrt(total))
    return values.astype(np.float32)


def is_per_row(norm: str | None, width: int) -> bool:
    """Whether a changed row leaves the other rows of the column as they are."""
    return norm is None or (norm in ("l1", "l2") and width > 1)


def _divided(values: Array, by: Array) -> Array:
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0)
