"""Nodes that a good cover takes next, which an agent imitates: exact on what is left, if small.

There the teacher names all nodes that some smallest cover of the rest takes, so that a learner is
never told that one right node is worse than another. Where more is left, it names the nodes that
most of the best covers take among those that greedy independent sets leave.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.min_vertex.residual import completion

#: nodes with uncovered edges up to which the rest is solved exactly
EXACT = 64
#: nodes of least degree with which greedy independent sets begin where more is left
_BEGUN = 48
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@njit(cache=True)
def advised_nodes(first, neighbours, bare):  # type: ignore[no-untyped-def]
    """Unselected nodes that cover an uncovered edge and lead to a good cover."""
    left = np.flatnonzero(bare > 0)
    if left.shape[0] == 0:
        return left
    if left.shape[0] <= EXACT:
        return _exactly_taken(first, neighbours, bare, left)
    return _probably_taken(first, neighbours, bare, left)


@njit(cache=True)
def _exactly_taken(first, neighbours, bare, left):  # type: ignore[no-untyped-def]
    """Nodes without which the largest independent set of the rest is as large."""
    count = left.shape[0]
    place = np.full(bare.shape[0], -1, np.int64)
    for i in range(count):
        place[left[i]] = i
    near = np.zeros(count, np.uint64)
    for i in range(count):
        for k in range(first[left[i]], first[left[i] + 1]):
            j = place[neighbours[k]]
            if j >= 0:
                near[i] |= _ONE << np.uint64(j)
    everything = _ZERO
    for i in range(count):
        everything |= _ONE << np.uint64(i)
    most = _largest_independent(near, everything, 0, 0)
    found = np.empty(count, np.int64)
    number = 0
    for i in range(count):
        rest = everything & ~(_ONE << np.uint64(i))
        if _largest_independent(near, rest, 0, most - 1) == most:
            found[number] = left[i]
            number += 1
    return found[:number]


@njit(cache=True)
def _ones(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit("int64(uint64[:], uint64, int64, int64)", cache=True)
def _largest_independent(near, nodes, chosen, known):  # type: ignore[no-untyped-def]
    """Size of the largest independent set among `nodes`, plus `chosen`; `known` if none beats it.

    near (m,): the neighbours of a node as bits; a node of at most one neighbour is always taken,
    otherwise the one of most neighbours is taken or left out.
    """
    while True:
        if nodes == _ZERO:
            return max(chosen, known)
        if chosen + _ones(nodes) <= known:
            return known
        most, branch, taken = -1, -1, -1
        total = 0
        rest = nodes
        while rest:
            low = rest & (~rest + _ONE)
            i = _ones(low - _ONE)
            rest ^= low
            degree = _ones(near[i] & nodes)
            if degree <= 1:
                taken = i
                break
            total += degree
            if degree > most:
                most, branch = degree, i
        if taken < 0:
            break
        nodes &= ~(near[taken] | (_ONE << np.uint64(taken)))
        chosen += 1
    bit = _ONE << np.uint64(branch)
    # every node left out covers at most `most` edges
    if chosen + _ones(nodes) - (total // 2 + most - 1) // most <= known:
        return known
    known = _largest_independent(near, nodes & ~(near[branch] | bit), chosen + 1, known)
    return _largest_independent(near, nodes & ~bit, chosen, known)


@njit(cache=True)
def _probably_taken(first, neighbours, bare, left):  # type: ignore[no-untyped-def]
    """Nodes that most of the smallest covers take which greedy independent sets leave."""
    n = bare.shape[0]
    degree, alive = np.empty(n, np.int64), np.empty(n, np.bool_)
    taken, votes = np.empty(n), np.zeros(n)
    longest = -np.inf
    for v in left[np.argsort(bare[left], kind="mergesort")][:_BEGUN]:
        size = completion(first, neighbours, bare, v, degree, alive, taken)
        if size > longest:
            longest, votes[:] = size, 0.0
        if size == longest:
            votes += taken
    return np.flatnonzero(votes == votes.max())
