"""A search for one episode, which an agent imitates: tabu search that looks ahead by chains.

A node that was moved stays for a while, unless moving it gives the largest cut so far. Among the
others that one moves for which its own gain and the best chain of moves from it are largest.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.max_cut.chains import BASE, SHARE, SPREAD, TINY, chains_from

#: nodes of the largest gains from which chains begin
_MOST = 128
#: what a move of a chain costs, so that shorter ones go first
_LENGTH_COST = 0.002
#: values within this part of the unit are equally good
_EQUAL = 1e-4


@njit(cache=True)
def advised_nodes(state, ages, steps):  # type: ignore[no-untyped-def]
    """Nodes that the search would move now, all equally good.

    ages (n,): steps since a node was moved; steps: moves so far.
    """
    graph, side, gain, unit, cut, best = state
    n = gain.shape[0]
    allowed = np.empty(n, np.int64)
    count, oldest = 0, 0
    for v in range(n):
        # the spread follows from the step of the move, so that the state decides everything
        extra = ((steps - ages[v]) * 2654435761 >> 7) % SPREAD if ages[v] <= steps else 0
        if ages[v] >= BASE + SHARE * n + extra or cut + gain[v] > best + TINY * unit:
            allowed[count] = v
            count += 1
        if ages[v] > ages[oldest]:
            oldest = v
    if count == 0:
        return np.array([oldest])
    nodes = allowed[:count]
    if count > _MOST:
        nodes = nodes[np.argsort(-gain[nodes], kind="mergesort")[:_MOST]]
    values, lengths = chains_from(nodes, graph, side, gain)
    for i in range(nodes.shape[0]):
        values[i] = 0.5 * (values[i] + gain[nodes[i]]) / unit - _LENGTH_COST * lengths[i]
    return nodes[values > values.max() - _EQUAL]
