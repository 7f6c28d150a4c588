"""Chains of moves: what may follow when a node changes sides, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.max_cut.weights import WeightedGraph

#: moves that a chain looks ahead
DEPTH = 8
#: steps for which the search keeps a node: BASE + SHARE x nodes + up to SPREAD - 1
BASE, SHARE, SPREAD = 3, 0.05, 10
#: values that differ by less are equal
TINY = 1e-9


class Cut(NamedTuple):
    """State of an episode.

    Attributes:
        graph: with weights
        side: (n,) 0 or 1
        gain: (n,) what moving a node adds to the cut
        unit: typical gain of a node
        cut: weight between the sides
        best: the largest so far
    """

    graph: WeightedGraph
    side: Array
    gain: Array
    unit: float
    cut: float
    best: float


class Scratch(NamedTuple):
    """Scratch of `best_chain`, left as found.

    Attributes:
        change: (n,) zeros
        state: (n,) zeros
        touched: (n,) of any content
        members: (DEPTH,) of any content
    """

    change: Array
    state: Array
    touched: Array
    members: Array


@njit(cache=True)
def best_chain(node, graph, side, gain, scratch):  # type: ignore[no-untyped-def]
    """The most that a chain of moves beginning with `node` adds to the cut, and its length.

    Every further move is the best one among the nodes next to those moved before.
    """
    first, neighbours, weights = graph
    change, state, touched, members = scratch
    count = moved = length = 0
    total, best = 0.0, -np.inf
    current = node
    while True:
        total += gain[current] + change[current]
        members[moved] = current
        moved += 1
        if total > best + TINY:
            best, length = total, moved
        state[current] += 2  # 1: touched, 2 or 3: moved
        if moved == DEPTH:
            break
        for k in range(first[current], first[current + 1]):
            other = neighbours[k]
            where = side[other] if state[other] < 2 else 1 - side[other]
            if state[other] == 0:
                state[other] = 1
                touched[count] = other
                count += 1
            if where == side[current]:
                change[other] -= 2.0 * weights[k]
            else:
                change[other] += 2.0 * weights[k]
        following, most = -1, -np.inf
        for i in range(count):
            other = touched[i]
            if state[other] < 2 and gain[other] + change[other] > most:
                following, most = other, gain[other] + change[other]
        if following < 0:
            break
        current = following
    for i in range(count):
        change[touched[i]] = 0.0
        state[touched[i]] = 0
    for i in range(moved):
        change[members[i]] = 0.0
        state[members[i]] = 0
    return best, length


@njit(cache=True)
def chains_from(nodes, graph, side, gain):  # type: ignore[no-untyped-def]
    """Values and lengths (k,) of the best chains from `nodes` (k,)."""
    n, k = gain.shape[0], nodes.shape[0]
    values, lengths = np.empty(k), np.empty(k, np.int64)
    room = np.empty(n, np.int64), np.empty(DEPTH, np.int64)
    scratch = Scratch(np.zeros(n), np.zeros(n, np.int8), *room)
    for i in range(k):
        values[i], lengths[i] = best_chain(nodes[i], graph, side, gain, scratch)
    return values, lengths
