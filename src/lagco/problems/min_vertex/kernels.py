"""What happens inside a step of `min-vertex`, compiled."""

from __future__ import annotations

import math

from numba import njit


@njit(cache=True)
def select_node(  # type: ignore[no-untyped-def]
    first, neighbours, edge_ids, node, selected, covered, bare, uncovered
):
    """Select `node`, cover its edges; return how many were not covered before."""
    selected[node] = 1
    newly = 0
    for k in range(first[node], first[node + 1]):
        edge = edge_ids[k]
        if not covered[edge]:
            covered[edge] = 1
            newly += 1
            other = neighbours[k]
            bare[other] -= 1
            uncovered[other] = math.log1p(bare[other])
    bare[node] = 0
    uncovered[node] = 0.0
    return newly
