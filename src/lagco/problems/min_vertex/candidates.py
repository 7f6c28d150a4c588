"""Features of candidate nodes: what a ranker sees of taking them into a cover, compiled.

A cover takes all neighbours of a node that it leaves out, so a candidate is as good as the best of
its neighbours is to leave out: one of few uncovered edges, whose neighbours have many and share
them, after which a greedy independent set is large. The covers that leave the largest of these
sets out vote on the candidate itself. Degrees are relative to the rest of the graph, sizes of
independent sets are differences. Names of nodes matter only where greedy completions (the last six
features) and the list of nodes of least degree break ties.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lagco.problems.min_vertex.residual import completion, independence, neighbourhood

#: features of a candidate
EACH = 30
#: nodes of least uncovered degree that are looked at closely
_LISTED = 32
#: differences of sizes of independent sets are cut off here
_FAR = 3.0
#: completions that are so much smaller than the largest vote, too: estimates are no whole numbers
_NEARLY = 0.25


@njit(cache=True)
def describe_nodes(first, neighbours, selected, bare, low, leaves, nodes, each):  # type: ignore[no-untyped-def]
    """Write features of candidate `nodes` (k,) to each (k, EACH).

    bare, low, leaves (n,): uncovered edges of a node, the fewest of its neighbours over uncovered
    edges, and how many of these have one only.
    """
    n, k = bare.shape[0], nodes.shape[0]
    mark = np.zeros(n, np.bool_)
    left = edges = most = 0
    least = n
    for v in range(n):
        if bare[v] > 0:
            left += 1
            edges += bare[v]
            most = max(most, bare[v])
            least = min(least, bare[v])
    edges //= 2
    each[:] = 0.0
    if left == 0:
        return
    mean = 2.0 * edges / left
    spared, completed, votes = _spared_sizes(first, neighbours, selected, bare, left, edges, mark)
    top, longest = spared.max(), completed.max()
    agreed = 0.0
    for i in range(k):
        agreed = max(agreed, votes[nodes[i]])
    share = (completed == longest).sum() / min(left, _LISTED)
    density = 2.0 * edges / (left * (left - 1.0))
    for i in range(k):
        u, f = nodes[i], each[i]
        own = bare[u]
        above = lower = 0
        for j in range(k):
            above += bare[nodes[j]] > own
            lower += low[nodes[j]] < low[u]
        f[0] = math.log1p(own)
        f[1] = own / mean
        f[2] = own / most
        f[3] = above / k
        f[4] = math.log1p(low[u])
        f[5] = math.log(low[u] / least)
        f[6] = 1.0 if low[u] == least else 0.0
        f[7] = lower / k
        f[8] = math.log1p(leaves[u])
        f[18] = math.log1p(mean)
        f[19] = left / n
        f[20] = density
        f[21] = least / mean
        if own == 0:
            continue
        for a in range(first[u], first[u + 1]):
            if not selected[neighbours[a]]:
                mark[neighbours[a]] = True
        total = within = fewest = pairs = listed = 0
        best = farthest = -np.inf
        dominated = 0.0
        for a in range(first[u], first[u + 1]):
            v = neighbours[a]
            if selected[v]:
                continue
            common = 0
            for b in range(first[v], first[v + 1]):
                common += mark[neighbours[b]]
            total += bare[v]
            within += common
            fewest += bare[v] == least
            pairs += bare[v] == 2
            dominated = max(dominated, common / (bare[v] - 1.0) if bare[v] > 1 else 1.0)
            if spared[v] > -np.inf:
                listed += 1
                best = max(best, spared[v])
                farthest = max(farthest, completed[v])
        for a in range(first[u], first[u + 1]):
            mark[neighbours[a]] = False
        within //= 2
        taken = independence(left - 1, edges - own)
        left_out = 1.0 + independence(left - 1 - own, edges - total + within)
        f[9] = dominated
        f[10] = 1.0 if dominated == 1.0 else 0.0
        f[11] = 2.0 * within / (own * (own - 1.0)) - density if own > 1 else 0.0
        f[12] = total / (own * mean)
        f[13] = max(best - top, -_FAR)
        f[14] = 1.0 if best == top else 0.0
        f[15] = listed / _LISTED
        f[16] = max(-_FAR, min(_FAR, left_out - taken))
        f[17] = max(-_FAR, min(_FAR, left_out - top))
        f[22] = math.log1p(fewest)
        f[23] = math.log1p(pairs)
        f[24] = max(farthest - longest, -_FAR)
        f[25] = 1.0 if farthest == longest else 0.0
        f[26] = max(completed[u] - longest, -_FAR)
        f[27] = share
        f[28] = votes[u]
        f[29] = 1.0 if votes[u] == agreed else 0.0


@njit(cache=True)
def _spared_sizes(first, neighbours, selected, bare, left, edges, mark):  # type: ignore[no-untyped-def]
    """Independent sets with each of the nodes of least degree: expected and completed sizes (n,).

    Those of other nodes are minus infinity. Also the share of the largest completed sets whose
    covers take a node (n,).
    """
    n = bare.shape[0]
    sizes = np.full(n, -np.inf)
    completed = np.full(n, -np.inf)
    degree = np.empty(n, np.int64)
    listed = np.empty(_LISTED, np.int64)
    taken, votes = np.empty(n), np.zeros(n)
    count, voters, longest = 0, 0, -np.inf
    for v in range(bare.shape[0]):
        if bare[v] == 0 or (count == _LISTED and bare[v] >= bare[listed[count - 1]]):
            continue
        at = min(count, _LISTED - 1)
        while at > 0 and bare[listed[at - 1]] > bare[v]:
            listed[at] = listed[at - 1]
            at -= 1
        listed[at] = v
        count = min(count + 1, _LISTED)
    for i in range(count):
        v = listed[i]
        gone, within = neighbourhood(first, neighbours, selected, bare, v, mark)
        sizes[v] = 1.0 + independence(left - 1 - bare[v], edges - gone + within)
        completed[v] = completion(first, neighbours, bare, v, degree, mark, taken)
        mark[:] = False
        if completed[v] > longest + _NEARLY:
            voters, votes[:] = 0, 0.0
        longest = max(longest, completed[v])
        if completed[v] >= longest - _NEARLY:
            voters += 1
            votes += taken
    return sizes, completed, votes / voters
