"""Nodes that a good cover takes next, which an agent imitates: exact on what is left, if small.

A cover takes all neighbours of a node that it leaves out. The teacher leaves out a node of least
uncovered degree that some largest independent set of the rest contains, and names its neighbours.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.min_vertex.residual import independence, neighbourhood

#: nodes with uncovered edges up to which the rest is solved exactly
EXACT = 64
_ONE, _ZERO = np.uint64(1), np.uint64(0)


@njit(cache=True)
def advised_nodes(first, neighbours, selected, bare):  # type: ignore[no-untyped-def]
    """Unselected nodes that cover an uncovered edge and lead to a good cover."""
    n = bare.shape[0]
    left = np.flatnonzero(bare > 0)
    if left.shape[0] == 0:
        return left
    if left.shape[0] <= EXACT:
        spared = _exactly_spared(first, neighbours, bare, left)
    else:
        spared = _probably_spared(first, neighbours, selected, bare, left)
    taken = np.zeros(n, np.bool_)
    for v in spared:
        for k in range(first[v], first[v + 1]):
            taken[neighbours[k]] = selected[neighbours[k]] == 0
    return np.flatnonzero(taken)


@njit(cache=True)
def _exactly_spared(first, neighbours, bare, left):  # type: ignore[no-untyped-def]
    """Nodes of the least uncovered degree at which largest independent sets have any."""
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
    order = np.argsort(bare[left], kind="mergesort")
    number = 0
    for at in range(count):
        i = order[at]
        if number and bare[left[i]] > bare[found[0]]:
            break
        rest = everything & ~(near[i] | (_ONE << np.uint64(i)))
        if 1 + _largest_independent(near, rest, 0, most - 2) == most:
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
def _probably_spared(first, neighbours, selected, bare, left):  # type: ignore[no-untyped-def]
    """The node after which the largest independent set is expected."""
    n = bare.shape[0]
    mark = np.zeros(n, np.bool_)
    edges = bare.sum() // 2
    best, most = left[0], -np.inf
    for v in left:
        gone, within = neighbourhood(first, neighbours, selected, bare, v, mark)
        value = independence(left.shape[0] - 1 - bare[v], edges - gone + within)
        if value > most:
            best, most = v, value
    return np.array([best])
