"""Chains of moves: what may follow when a node changes sides, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

#: moves that a chain looks ahead
DEPTH = 8
#: steps for which the search keeps a node: BASE + SHARE x nodes + up to SPREAD - 1
BASE, SHARE, SPREAD = 3, 0.05, 10
#: values that differ by less are equal
TINY = 1e-9


@njit(cache=True)
def best_chain(  # type: ignore[no-untyped-def]
    first, neighbours, slot_weights, node, side, gain, change, state, touched, members
):
    """The most that a chain of moves beginning with `node` adds to the cut, and its length.

    Every further move is the best one among the nodes next to those moved before. Scratch, left as
    found: change (n,) zeros, state (n,) zeros; touched (n,) and members (DEPTH,) of any content.
    """
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
                change[other] -= 2.0 * slot_weights[k]
            else:
                change[other] += 2.0 * slot_weights[k]
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
def chains_from(first, neighbours, slot_weights, nodes, side, gain, values, lengths):  # type: ignore[no-untyped-def]
    """Write value and length of the best chain from each of `nodes` (k,)."""
    n = gain.shape[0]
    change = np.zeros(n)
    state = np.zeros(n, np.int8)
    touched = np.empty(n, np.int64)
    members = np.empty(DEPTH, np.int64)
    for i in range(nodes.shape[0]):
        values[i], lengths[i] = best_chain(
            first,
            neighbours,
            slot_weights,
            nodes[i],
            side,
            gain,
            change,
            state,
            touched,
            members,
        )
