"""Random `max-cut` instances over the paper's ranges."""

from __future__ import annotations

import numpy as np

from lagco.errors import InstanceError
from lagco.instances import Instance

NODES = (10, 100)
MAX_WEIGHT = (10, 100)


def draw_weights(rng: np.random.Generator, size: int | None = None) -> Instance:
    """A complete graph with integer weights uniform in 1 … max_weight."""
    n = int(rng.integers(NODES[0], NODES[1], endpoint=True)) if size is None else size
    if n < 2:
        raise InstanceError(f"max-cut: size {n} is too small, a cut needs 2 nodes")
    largest = int(rng.integers(*MAX_WEIGHT, endpoint=True))
    edges = np.stack(np.triu_indices(n, k=1)).astype(np.int32)
    weights = rng.integers(1, largest, size=(edges.shape[1],), endpoint=True)
    return Instance(
        problem="max-cut",
        name="",
        size=n,
        arrays={"edges": edges, "weights": weights.astype(np.float64)},
        params={"max_weight": largest},
    )
