"""Random `min-vertex` instances over the paper's ranges."""

from __future__ import annotations

import numpy as np

from lagco.errors import InstanceError
from lagco.instances import Instance

NODES = (10, 50)
EDGE_PROBABILITY = (0.1, 0.4)


def draw_graph(rng: np.random.Generator, size: int | None = None) -> Instance:
    """An Erdős–Rényi graph, drawn again while it has no edge."""
    n = int(rng.integers(NODES[0], NODES[1], endpoint=True)) if size is None else size
    if n < 2:
        raise InstanceError(f"min-vertex: size {n} is too small, an edge needs 2 nodes")
    probability = float(rng.uniform(*EDGE_PROBABILITY))
    edges = np.zeros((2, 0), dtype=np.int32)
    while edges.shape[1] == 0:
        edges = _bernoulli_pairs(rng, n, probability)
    return Instance(
        problem="min-vertex",
        name="",
        size=n,
        arrays={"edges": edges},
        params={"edge_prob": probability},
    )


def _bernoulli_pairs(
    rng: np.random.Generator, n: int, probability: float
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Every pair with that probability, row by row so that memory stays linear in the result."""
    rows = [np.flatnonzero(rng.random(n - 1 - u) < probability) + u + 1 for u in range(n - 1)]
    sources = np.repeat(np.arange(n - 1), [len(row) for row in rows])
    return np.stack([sources, np.concatenate(rows)]).astype(np.int32)
