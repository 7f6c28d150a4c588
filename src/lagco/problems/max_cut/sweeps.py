"""The paper's reference for `max-cut`: local searches from random sides."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.instances import Instance, SweepReference
from lagco.problems.adjacency import adjacency
from lagco.problems.max_cut.kernels import flip_node, initial_gains
from lagco.problems.max_cut.weights import cut_value, weighted_edges, weighted_graph
from lagco.problems.random_stream import choose_in_proportion, next_word, random_stream
from lagco.runtime.stopping import stop_flag


def sweep_cuts(instance: Instance, sweeps: int, seed: int) -> SweepReference:
    """Largest cut over `sweeps` sweeps; the worst case is no cut at all."""
    n = instance.size
    edges, weights = weighted_edges(instance)
    graph = weighted_graph(adjacency(n, edges), weights)
    tolerance = 1e-12 * float(np.abs(weights).sum())
    best = _sweep(graph, sweeps, tolerance, random_stream(seed), stop_flag())
    return SweepReference(
        best=cut_value(edges, weights, best),
        worst=0.0,
        best_solution=best,
        worst_solution=np.zeros(n, dtype=np.int8),
        sweeps=sweeps,
    )


@njit(cache=True, nogil=True)
def _sweep(graph, sweeps, tolerance, stream, stop):  # type: ignore[no-untyped-def]
    first, neighbours, weights = graph
    n = first.shape[0] - 1
    side = np.zeros(n, dtype=np.int8)
    best = side.copy()
    best_cut = 0.0
    gain = np.empty(n)
    chances = np.empty(n)
    for _ in range(sweeps):
        for v in range(n):
            side[v] = np.int8(next_word(stream) >> np.uint64(63))
        initial_gains(graph, side, gain)
        cut = 0.0
        for v in range(n):
            for k in range(first[v], first[v + 1]):
                if side[v] != side[neighbours[k]]:
                    cut += 0.5 * weights[k]
        while not stop[0]:
            for v in range(n):
                chances[v] = gain[v] if gain[v] > tolerance else 0.0
            node = choose_in_proportion(stream, chances, n)
            if node < 0:
                break
            cut += flip_node(graph, node, side, gain)
        if cut > best_cut:
            best_cut = cut
            best[:] = side
        if stop[0]:
            break
    return best
