"""Compiled steps of `max-cut`."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def initial_gains(graph, side, gain):  # type: ignore[no-untyped-def]
    """For every node: weight to its own side minus weight to the other one."""
    first, neighbours, weights = graph
    for v in range(gain.shape[0]):
        total = 0.0
        for k in range(first[v], first[v + 1]):
            if side[neighbours[k]] == side[v]:
                total += weights[k]
            else:
                total -= weights[k]
        gain[v] = total


@njit(cache=True)
def flip_node(graph, node, side, gain):  # type: ignore[no-untyped-def]
    """Move `node` to the other side; return what that adds to the cut."""
    first, neighbours, weights = graph
    added = gain[node]
    side[node] = 1 - side[node]
    gain[node] = -added
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        if side[other] == side[node]:
            gain[other] += 2.0 * weights[k]
        else:
            gain[other] -= 2.0 * weights[k]
    return added


@njit(cache=True)
def scale_gains(graph, node, gain, unit, scaled_gain):  # type: ignore[no-untyped-def]
    """Bring the scaled gains of `node` and its neighbours up to date."""
    first, neighbours, _ = graph
    scaled_gain[node] = np.arcsinh(gain[node] / unit)
    for k in range(first[node], first[node + 1]):
        other = neighbours[k]
        scaled_gain[other] = np.arcsinh(gain[other] / unit)


@njit(cache=True)
def heaviest_edges(graph, edge_ids, num_edges, count):  # type: ignore[no-untyped-def]
    """Edges among the `count` of largest absolute weight at one of their ends, in order."""
    first, _, weights = graph
    kept = np.zeros(num_edges, dtype=np.bool_)
    for v in range(first.shape[0] - 1):
        begin, end = first[v], first[v + 1]
        order = np.argsort(-np.abs(weights[begin:end]), kind="mergesort")
        for k in range(min(count, end - begin)):
            kept[edge_ids[begin + order[k]]] = True
    return np.flatnonzero(kept)
