"""Random connected subgraphs, grown node by node."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array


def grow(
    rng: np.random.Generator, first: Array, heads: Array, allowed: Array, max_size: int
) -> list[int]:
    """Nodes of a random connected subgraph in ascending order; none where no node is allowed.

    The neighbours of v are heads[first[v] : first[v + 1]].
    """
    roots = np.flatnonzero(allowed)
    if not len(roots):
        return []
    size = int(rng.integers(1, max_size + 1))
    chosen = [int(rng.choice(roots))]
    beside: dict[int, None] = {}  # in the order met, so that a seed gives one result
    while len(chosen) < size:
        last = chosen[-1]
        around = heads[first[last] : first[last + 1]].tolist()
        beside.update(dict.fromkeys(v for v in around if allowed[v] and v not in chosen))
        if not beside:
            break
        node = list(beside)[int(rng.integers(len(beside)))]
        del beside[node]
        chosen.append(node)
    return sorted(chosen)
