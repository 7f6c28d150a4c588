"""Features of candidate nodes: what a ranker sees of moving them, compiled.

Amounts are in units of the gain that random sides give, on a logarithmic scale; times are shares of
the number of nodes. Nothing depends on names of nodes, on the unit of weights or on the size.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.core.candidates import Columns
from lagco.problems.max_cut.chains import BASE, DEPTH, SHARE, SPREAD, TINY, chains_from

#: what a ranker sees of moving a node
EACH = Columns(
    gain="what the move adds to the cut",
    chain="what the best chain of moves from there adds",
    chain_length="length of that chain over the longest",
    behind_gain="difference to the largest gain of a candidate",
    behind_chain="difference to the best chain of a candidate",
    gain_rank="share of the candidates with a larger gain",
    chain_rank="share of the candidates with a better chain",
    age_by_tenure="steps since the node was moved, over the shortest tenure",
    age_by_longest="the same over the longest tenure",
    age="the same over the number of nodes",
    moved_last="the node was moved by the last step",
    long_unmoved="the node was not moved for long",
    best_gain="the move leads to the largest cut so far",
    best_chain="the chain leads to the largest cut so far",
    relative_gain="gain over the sum of the node's absolute weights",
    behind="difference of the cut to the best so far",
    improving="share of all nodes whose move improves the cut",
    steps_left="share of the steps that is left",
)
#: a node counts as long unmoved after so many steps per node
_LONG = 4


@njit(cache=True)
def describe_nodes(nodes, state, degree, ages, steps_left, each):  # type: ignore[no-untyped-def]
    """Write features of candidate `nodes` (k,) to the records `each` (k,).

    degree (n,): sums of absolute weights; ages (k,): steps since the candidates were moved;
    steps_left: share of the steps that is left.
    """
    graph, side, gain, unit, cut, best = state
    n, k = gain.shape[0], nodes.shape[0]
    chain, length = chains_from(nodes, graph, side, gain)
    tiny, tenure = TINY * unit, BASE + SHARE * n
    improving = 0
    for v in range(n):
        improving += gain[v] > tiny
    most = gain[nodes].max()
    farthest = chain.max()
    behind = np.arcsinh((best - cut) / unit)
    for i in range(k):
        own, age = gain[nodes[i]], ages[i] + 1
        above = longer = 0
        for j in range(k):
            above += gain[nodes[j]] > own + tiny
            longer += chain[j] > chain[i] + tiny
        f = each[i]
        f.gain = np.arcsinh(own / unit)
        f.chain = np.arcsinh(chain[i] / unit)
        f.chain_length = length[i] / DEPTH
        f.behind_gain = np.arcsinh((most - own) / unit)
        f.behind_chain = np.arcsinh((farthest - chain[i]) / unit)
        f.gain_rank = above / k
        f.chain_rank = longer / k
        f.age_by_tenure = min(1.0, age / tenure)
        f.age_by_longest = min(1.0, age / (tenure + SPREAD))
        f.age = min(1.0, age / n)
        f.moved_last = age == 1
        f.long_unmoved = age > _LONG * n
        f.best_gain = cut + own > best + tiny
        f.best_chain = cut + chain[i] > best + tiny
        f.relative_gain = own / max(degree[nodes[i]], tiny)
        f.behind = behind
        f.improving = improving / n
        f.steps_left = steps_left
