"""Scale of action vectors: statistics over the training instances, fixed from then on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lagco.arrays import Array

#: standard deviations below this count as 1
SMALLEST_DEVIATION = 1e-6
#: how far the bounds of the action space reach beyond what was seen, in standard deviations
MARGIN = 1.0


@dataclass(frozen=True)
class ActionScale:
    """Standardisation of action vectors and bounds of the space they live in.

    Attributes:
        mean: (d,)
        deviation: (d,)
        low: smallest standardised value seen, one unit lower: (d,) or (r,) after a reduction.
        high: largest one, one unit higher.
        projection: (d, r), the optional reduction of standardised vectors; None without one.
    """

    mean: Array
    deviation: Array
    low: Array
    high: Array
    projection: Array | None = None

    @property
    def width(self) -> int:
        """Dimension of the action space."""
        return len(self.low)

    @property
    def factor(self) -> Array:
        """1 / deviation."""
        return (1.0 / self.deviation).astype(np.float32)


class Moments:
    """Running mean, variance and range of weighted vectors."""

    def __init__(self, width: int) -> None:
        self.weight = np.zeros(width)
        self.mean = np.zeros(width)
        self.squares = np.zeros(width)
        self.low = np.full(width, np.inf)
        self.high = np.full(width, -np.inf)

    def add(self, columns: slice, vectors: Array, weights: Array | None = None) -> None:
        """Add vectors (k, w) that make up these columns; rows of weight 0 do not count."""
        if weights is not None:
            vectors, weights = vectors[weights > 0], weights[weights > 0]
        if not len(vectors):
            return
        values = vectors.astype(np.float64)
        if weights is None:
            weights = np.ones(len(values))
        total = weights.sum()
        mean = weights @ values / total
        squares = weights @ (values - mean) ** 2
        # Chan's update of mean and sum of squares by those of a batch
        before = self.weight[columns]
        delta = mean - self.mean[columns]
        after = before + total
        self.mean[columns] += delta * total / after
        self.squares[columns] += squares + delta**2 * before * total / after
        self.weight[columns] = after
        self.low[columns] = np.minimum(self.low[columns], values.min(axis=0))
        self.high[columns] = np.maximum(self.high[columns], values.max(axis=0))

    def scale(self) -> ActionScale:
        """The statistics so far; columns never seen have mean 0, deviation 1, bounds ±1."""
        seen = self.weight > 0
        deviation = np.sqrt(self.squares / np.where(seen, self.weight, 1.0))
        deviation[deviation < SMALLEST_DEVIATION] = 1.0
        low = np.where(seen, (self.low - self.mean) / deviation, 0.0) - MARGIN
        high = np.where(seen, (self.high - self.mean) / deviation, 0.0) + MARGIN
        mean = np.where(seen, self.mean, 0.0)
        return ActionScale(*(a.astype(np.float32) for a in (mean, deviation, low, high)))
