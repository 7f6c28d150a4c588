"""The fixed linear reduction of extracted vectors: principal components of those seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lagco.arrays import Array
from lagco.errors import SpecError
from lagco.results.numbers import of_things


@dataclass(frozen=True)
class Reduction:
    """x -> (x - mean) @ components.

    Attributes:
        mean: (full,)
        components: (full, width); columns beyond the rank of the data are zero.
    """

    mean: Array
    components: Array

    @property
    def width(self) -> int:
        """Width after the reduction."""
        return int(self.components.shape[1])

    def __call__(self, vectors: Array) -> Array:
        """Reduce vectors (k, full) to (k, width)."""
        if vectors.shape[1] != len(self.mean):
            raise SpecError(
                f"the extractor gives {of_things(vectors.shape[1], 'numbers')}, it gave "
                f"{len(self.mean)} in training"
            )
        return np.asarray((vectors - self.mean) @ self.components, dtype=np.float32)


def fit_reduction(vectors: Array, width: int) -> Reduction:
    """Principal components of `vectors` (k, full), each with its largest entry positive.

    With fewer than `width` directions in the data, the remaining columns are zero, so that the
    width does not depend on how much was seen.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    mean = vectors.mean(axis=0)
    _, sizes, directions = np.linalg.svd(vectors - mean, full_matrices=False)
    rank = int((sizes > 1e-8 * max(float(sizes.max(initial=0.0)), 1e-12)).sum())
    kept = directions[: min(width, rank)]
    signs = np.sign(kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)])
    components = np.zeros((vectors.shape[1], width), dtype=np.float32)
    components[:, : len(kept)] = (kept * signs[:, None]).T
    return Reduction(mean.astype(np.float32), components)
