"""A strong cut: one-flip tabu search, on large graphs simulated annealing.

A tabu move looks at all nodes and begins again from disturbed elite sides where it finds nothing.
Annealing looks at one node at a time, which on hundreds of nodes and more leads further in the same
time. The number of moves is fixed, so the answer depends on instance and seed alone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance, SolverReference
from lagco.problems.adjacency import adjacency
from lagco.problems.max_cut.kernels import flip_node, initial_gains
from lagco.problems.max_cut.weights import cut_value, weighted_edges
from lagco.problems.random_stream import next_below, next_float, next_word, random_stream

MOVES_PER_NODE = 2_000
MAX_MOVES = 4_000_000
_PATIENCE = 30  # moves per node without a new best before the sides are disturbed
LARGE = 250  # nodes from which on cuts are annealed
SWEEPS = 30_000  # over all nodes, of annealing
#: first heat of a run, over the typical gain of a node; where a run starts from good sides
HOTTEST, WARM = 0.4, 0.22
#: chance of a move that changes nothing
_IDLE = 0.85


def solve_cut(instance: Instance, seed: int, effort: float = 1.0) -> SolverReference:
    """The best sides found (best-known); `effort` multiplies the moves."""
    best = improve_cut(instance, None, seed, effort)
    value = cut_value(*weighted_edges(instance), best)
    method = "tabu search" if instance.size < LARGE else "annealing"
    return SolverReference(value, "best-known", method, best)


def improve_cut(instance: Instance, sides: Array | None, seed: int, effort: float) -> Array:
    """The best sides met by tabu search or annealing from `sides`, or from random ones."""
    n = instance.size
    graph = _prepared(instance)
    stream = random_stream(seed)
    side = np.empty(n, dtype=np.int8)
    if sides is None:
        _draw_sides(side, stream)
    else:
        side[:] = sides
    found: Array
    if n < LARGE:
        moves = int(effort * min(MOVES_PER_NODE * n, MAX_MOVES))
        found = search_cut(*graph, side, moves, stream)
    else:
        typical = float(np.sqrt(np.square(graph[2]).sum() / n))
        hottest = (HOTTEST if sides is None else WARM) * typical
        found = anneal_cut(*graph, side, hottest, max(1, int(effort * SWEEPS)), stream)
    return found


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> tuple[Array, Array, Array]:
    """Neighbours and weights, kept while one instance is improved again and again."""
    edges, weights = weighted_edges(instance)
    first, neighbours, edge_ids = adjacency(instance.size, edges)
    return first, neighbours, weights[edge_ids]


@njit(cache=True)
def _draw_sides(side, stream):  # type: ignore[no-untyped-def]
    for v in range(side.shape[0]):
        side[v] = np.int8(next_word(stream) >> np.uint64(63))


@njit(cache=True)
def search_cut(first, neighbours, slot_weights, side, moves, stream):  # type: ignore[no-untyped-def]
    """Sides of the largest cut met in that many tabu moves from `side`, which is written over."""
    n = first.shape[0] - 1
    gain = np.empty(n)
    free_at = np.zeros(n, dtype=np.int64)
    tenure = 3 + n // 100
    initial_gains(first, neighbours, slot_weights, side, gain)
    # `cut` and the two records are relative to the start
    cut = 0.0
    best, best_cut = side.copy(), 0.0
    local_best = 0.0
    last_progress = 0
    for move in range(moves):
        node, most, ties = -1, -np.inf, 0
        for v in range(n):
            allowed = move >= free_at[v] or cut + gain[v] > best_cut
            if not allowed or gain[v] < most:
                continue
            if gain[v] > most:
                node, most, ties = v, gain[v], 1
            else:
                ties += 1
                if next_below(stream, ties) == 0:
                    node = v
        if node < 0:
            node = next_below(stream, n)
        cut += flip_node(first, neighbours, slot_weights, node, side, gain)
        free_at[node] = move + 1 + tenure + next_below(stream, 10)
        if cut > local_best:
            local_best = cut
            last_progress = move
        if cut > best_cut:
            best_cut = cut
            best[:] = side
        elif move - last_progress > _PATIENCE * n:
            # go back to the best sides and move a random part of the nodes
            share = 2 + next_below(stream, max(1, n // 4))
            for v in range(n):
                if side[v] != best[v]:
                    cut += flip_node(first, neighbours, slot_weights, v, side, gain)
            for _ in range(share):
                v = next_below(stream, n)
                cut += flip_node(first, neighbours, slot_weights, v, side, gain)
                free_at[v] = move + tenure + next_below(stream, 10)
            local_best = cut
            last_progress = move
    return best


@njit(cache=True)
def anneal_cut(first, neighbours, slot_weights, side, hottest, sweeps, stream):  # type: ignore[no-untyped-def]
    """Sides of the largest cut met while the heat falls to 0 from `side`, which is written over."""
    n = first.shape[0] - 1
    gain = np.empty(n)
    initial_gains(first, neighbours, slot_weights, side, gain)
    best, best_cut, cut = side.copy(), 0.0, 0.0  # relative to the start
    is_best = False  # the sides are the best met, and `best` does not hold them yet
    for sweep in range(sweeps):
        heat = hottest * (1.0 - sweep / sweeps)
        for v in range(n):
            change = gain[v]
            if change <= 0.0:
                # not all moves that change nothing are made: a sweep that makes all of them carries
                # what is uncut along in step, and it never meets
                chance = np.exp(change / heat) if change < 0.0 else _IDLE
                if next_float(stream) >= chance:
                    continue
                if is_best and change < 0.0:
                    best[:] = side
                    is_best = False
            cut += flip_node(first, neighbours, slot_weights, v, side, gain)
            if cut > best_cut:
                best_cut = cut
                is_best = True
    if is_best:
        best[:] = side
    return best
