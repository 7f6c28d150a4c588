"""Lower bounds on the size of covers, by linear programming or CP-SAT."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.errors import MissingExtra
from lagco.instances import Instance
from lagco.problems.adjacency import edges_of
from lagco.problems.min_vertex.solver import cover_bound

#: CP-SAT is asked only where it has at least so long, and so many edges per second at most: its
#: model takes time of its own
_LEAST_SECONDS = 1.0
_EDGES_PER_SECOND = 20_000
#: a largest matching is found where there are so many edges per second at most: it is not cut short
_MATCHED_PER_SECOND = 200_000


def size_bound(instance: Instance, seconds: float | None = None) -> float:
    """A size that no cover is below: the better of the two bounds.

    The linear one is half of a largest matching in the graph's bipartite double cover; where there
    is not the time for it, a plain matching of the graph takes its place.
    """
    n = instance.size
    edges = edges_of(instance)
    if not edges.size:
        return 0.0
    if seconds is not None and edges.shape[1] > _MATCHED_PER_SECOND * seconds:
        return float(_matched(edges, np.zeros(n, dtype=np.bool_)))
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    ends = np.concatenate([edges, edges[::-1]], axis=1)
    graph = csr_array((np.ones(ends.shape[1], dtype=np.int8), (ends[0], ends[1])), shape=(n, n))
    matched = int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())
    bound = float(math.ceil(matched / 2))
    time = _LEAST_SECONDS if seconds is None else seconds
    if time < _LEAST_SECONDS or edges.shape[1] > _EDGES_PER_SECOND * time:
        return bound
    try:
        return max(bound, cover_bound(instance, seconds))
    except MissingExtra:
        return bound


@njit(cache=True)
def _matched(edges: Array, taken: Array) -> int:
    """How many edges have no end in common, each taken if its ends are free; taken (n,): scratch.

    A cover has an end of each.
    """
    count = 0
    for k in range(edges.shape[1]):
        u, v = edges[0, k], edges[1, k]
        if not taken[u] and not taken[v]:
            taken[u] = taken[v] = True
            count += 1
    return count
