"""Features of candidate nodes: what a ranker sees of moving them, compiled.

Amounts are in units of the gain that random sides give, on a logarithmic scale; times are shares of
the number of nodes. Nothing depends on names of nodes, on the unit of weights or on the size.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.problems.max_cut.chains import BASE, DEPTH, SHARE, SPREAD, TINY, chains_from

#: features of a candidate
EACH = 22


@njit(cache=True)
def describe_nodes(  # type: ignore[no-untyped-def]
    first, neighbours, slot_weights, side, gain, degree, nodes, ages, cut, best, unit, left, plan,
    promised, each,
):  # fmt: skip
    """Write features of candidate `nodes` (k,) to each (k, EACH).

    degree (n,): sums of absolute weights; ages (k,): steps since the candidates were moved; cut,
    best: now and the largest so far; unit: of gains; left: share of the steps left, and their
    number; plan (n,): sides to go to, the present ones without a plan; promised: cut there.
    """
    n, k = gain.shape[0], nodes.shape[0]
    chain = np.empty(k)
    length = np.empty(k, np.int64)
    chains_from(first, neighbours, slot_weights, nodes, side, gain, chain, length)
    tiny, tenure = TINY * unit, BASE + SHARE * n
    improving = away = 0
    for v in range(n):
        improving += gain[v] > tiny
        away += plan[v] != side[v]
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
        f[0] = np.arcsinh(own / unit)
        f[1] = np.arcsinh(chain[i] / unit)
        f[2] = length[i] / DEPTH
        f[3] = np.arcsinh((most - own) / unit)
        f[4] = np.arcsinh((farthest - chain[i]) / unit)
        f[5] = above / k
        f[6] = longer / k
        f[7] = min(1.0, age / tenure)
        f[8] = min(1.0, age / (tenure + SPREAD))
        f[9] = min(1.0, age / n)
        f[10] = 1.0 if age == 1 else 0.0
        f[11] = 1.0 if age > 4 * n else 0.0
        f[12] = 1.0 if cut + own > best + tiny else 0.0
        f[13] = 1.0 if cut + chain[i] > best + tiny else 0.0
        f[14] = own / max(degree[nodes[i]], tiny)
        f[15] = behind
        f[16] = improving / n
        f[17] = left[0]
        f[18] = 1.0 if plan[nodes[i]] != side[nodes[i]] else 0.0
        f[19] = 1.0 if away > 0 and plan[nodes[i]] == side[nodes[i]] else 0.0
        f[20] = np.arcsinh((promised - best) / unit) if away > 0 else 0.0
        f[21] = away / max(1, left[1])
