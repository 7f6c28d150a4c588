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
from lagco.problems.max_cut.limits import SIDES, cut_limits, no_limits, start_within
from lagco.problems.max_cut.weights import WeightedGraph, cut_value, weighted_edges, weighted_graph
from lagco.problems.random_stream import next_below, next_float, next_word, random_stream
from lagco.runtime.stopping import stop_flag

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
    """The best sides met by tabu search or annealing from `sides`, or from random ones.

    Within limits, from sides that keep to them.
    """
    n = instance.size
    graph = _prepared(instance)
    stream = random_stream(seed)
    side = np.empty(n, dtype=np.int8)
    within = cut_limits(instance)
    if sides is None or within is not None:
        _draw_sides(side, stream)
    if within is not None:
        side = start_within(instance, within, sides, side)
    elif sides is not None:
        side[:] = sides
    limits = no_limits(n) if within is None else within
    found: Array
    if n < LARGE:
        moves = int(effort * min(MOVES_PER_NODE * n, MAX_MOVES))
        found = search_cut(graph, side, limits, moves, stream, stop_flag())
    else:
        typical = float(np.sqrt(np.square(graph.weights).sum() / n))
        hottest = (HOTTEST if sides is None else WARM) * typical
        sweeps = max(1, int(effort * SWEEPS))
        found = anneal_cut(graph, side, limits, hottest, sweeps, stream, stop_flag())
    before = instance.arrays.get(SIDES)
    if before is not None and within is None and 2 * np.count_nonzero(found != before) > n:
        return 1 - found  # the same cut, with fewer changes
    return found


@lru_cache(maxsize=1)
def _prepared(instance: Instance) -> WeightedGraph:
    """Neighbours and weights, kept while one instance is improved again and again."""
    edges, weights = weighted_edges(instance)
    return weighted_graph(adjacency(instance.size, edges), weights)


@njit(cache=True)
def _draw_sides(side, stream):  # type: ignore[no-untyped-def]
    for v in range(side.shape[0]):
        side[v] = np.int8(next_word(stream) >> np.uint64(63))


@njit(cache=True, inline="always")
def _may_move(v, side, limits, changed):  # type: ignore[no-untyped-def]
    """Whether a node may move, where so many have changed their side."""
    if limits.locked[v]:
        return False
    return changed < limits.most or side[v] != limits.before[v]


@njit(cache=True)
def _move(graph, v, side, gain, limits, changed):  # type: ignore[no-untyped-def]
    """Move a node; return what that adds to the cut, and how many have changed their side."""
    changed += 1 if side[v] == limits.before[v] else -1
    return flip_node(graph, v, side, gain), changed


@njit(cache=True)
def _count_changed(side, before):  # type: ignore[no-untyped-def]
    changed = 0
    for v in range(side.shape[0]):
        changed += side[v] != before[v]
    return changed


@njit(cache=True, nogil=True)
def search_cut(graph, side, limits, moves, stream, stop):  # type: ignore[no-untyped-def]
    """Sides of the largest cut met in that many tabu moves from `side`, which is written over.

    Fewer moves when stop (1,) is set. All sides met are within the limits.
    """
    n = side.shape[0]
    changed = _count_changed(side, limits.before)
    gain = np.empty(n)
    free_at = np.zeros(n, dtype=np.int64)
    tenure = 3 + n // 100
    initial_gains(graph, side, gain)
    # `cut` and the two records are relative to the start
    cut = 0.0
    best, best_cut = side.copy(), 0.0
    local_best = 0.0
    last_progress = 0
    for move in range(moves):
        if stop[0]:
            break
        node, most, ties = -1, -np.inf, 0
        for v in range(n):
            allowed = move >= free_at[v] or cut + gain[v] > best_cut
            if not allowed or gain[v] < most or not _may_move(v, side, limits, changed):
                continue
            if gain[v] > most:
                node, most, ties = v, gain[v], 1
            else:
                ties += 1
                if next_below(stream, ties) == 0:
                    node = v
        if node < 0:
            node = next_below(stream, n)
            if not _may_move(node, side, limits, changed):
                continue
        added, changed = _move(graph, node, side, gain, limits, changed)
        cut += added
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
                    added, changed = _move(graph, v, side, gain, limits, changed)
                    cut += added
            for _ in range(share):
                v = next_below(stream, n)
                if not _may_move(v, side, limits, changed):
                    continue
                added, changed = _move(graph, v, side, gain, limits, changed)
                cut += added
                free_at[v] = move + tenure + next_below(stream, 10)
            local_best = cut
            last_progress = move
    return best


@njit(cache=True, nogil=True)
def anneal_cut(graph, side, limits, hottest, sweeps, stream, stop):  # type: ignore[no-untyped-def]
    """Sides of the largest cut met while the heat falls to 0 from `side`, which is written over.

    When stop (1,) is set, only moves follow that make the cut larger, in a last sweep.
    """
    n = side.shape[0]
    gain = np.empty(n)
    initial_gains(graph, side, gain)
    changed = _count_changed(side, limits.before)
    best, best_cut, cut = side.copy(), 0.0, 0.0  # relative to the start
    is_best = False  # the sides are the best met, and `best` does not hold them yet
    stopped = False
    for sweep in range(sweeps):
        if stopped:
            break
        stopped = stop[0] != 0
        heat = hottest * (1.0 - sweep / sweeps)
        for v in range(n):
            change = gain[v]
            if not _may_move(v, side, limits, changed):
                continue
            if change <= 0.0:
                if stopped:
                    continue
                # not all moves that change nothing are made: a sweep that makes all of them carries
                # what is uncut along in step, and it never meets
                chance = np.exp(change / heat) if change < 0.0 else _IDLE
                if next_float(stream) >= chance:
                    continue
                if is_best and change < 0.0:
                    best[:] = side
                    is_best = False
            added, changed = _move(graph, v, side, gain, limits, changed)
            cut += added
            if cut > best_cut:
                best_cut = cut
                is_best = True
    if is_best:
        best[:] = side
    return best
