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

from lagco.core.candidates import Columns
from lagco.problems.min_vertex.residual import completion, independence, neighbourhood

#: what a ranker sees of taking a node into the cover; degrees count uncovered edges. Where the node
#: has none, everything about its neighbourhood is 0
EACH = Columns(
    degree="log1p of the node's degree",
    degree_by_mean="degree over the mean of the nodes left",
    degree_by_most="degree over the largest",
    degree_rank="share of the candidates of higher degree",
    lowest="log1p of the lowest degree of a neighbour",
    lowest_by_least="logarithm of that over the lowest degree of all",
    has_lowest="a neighbour has the lowest degree of all",
    lowest_rank="share of the candidates with a neighbour of lower degree",
    leaves="log1p of the neighbours of degree 1",
    dominates="largest share of a neighbour's other neighbours that are the node's too",
    dominates_all="all of some neighbour's are",
    clustering="share of pairs of neighbours that are joined, less that of all nodes",
    neighbours_by_mean="mean degree of the neighbours over that of all nodes",
    spared_behind="estimated independent set with the best neighbour less the best of all",
    spared_best="the best of all is with a neighbour",
    neighbours_listed="neighbours among the nodes of least degree, over how many are listed",
    left_out="estimated independent set with the node less the one without it",
    left_out_behind="the same less the best of all",
    mean_degree="log1p of the mean degree",
    nodes_left="share of the nodes that have uncovered edges",
    density="share of their pairs that are uncovered edges",
    least_by_mean="lowest degree over the mean",
    least_neighbours="log1p of the neighbours of the lowest degree of all",
    paired_neighbours="log1p of the neighbours of degree 2",
    completed_behind="completed set with the best neighbour less the largest of all",
    completed_best="the largest of all is with a neighbour",
    own_behind="completed set with the node less the largest of all",
    completed_share="share of the listed nodes whose completed set is the largest",
    votes="share of the largest completed sets whose covers take the node",
    most_votes="no candidate has more votes",
)
#: nodes of least uncovered degree that are looked at closely
_LISTED = 32
#: differences of sizes of independent sets are cut off here
_FAR = 3.0
#: completions that are so much smaller than the largest vote, too: estimates are no whole numbers
_NEARLY = 0.25


@njit(cache=True)
def describe_nodes(first, neighbours, selected, bare, low, leaves, nodes, each):  # type: ignore[no-untyped-def]
    """Write features of candidate `nodes` (k,) to the records `each` (k,), all zeros.

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
        f.degree = math.log1p(own)
        f.degree_by_mean = own / mean
        f.degree_by_most = own / most
        f.degree_rank = above / k
        f.lowest = math.log1p(low[u])
        f.lowest_by_least = math.log(low[u] / least)
        f.has_lowest = low[u] == least
        f.lowest_rank = lower / k
        f.leaves = math.log1p(leaves[u])
        f.mean_degree = math.log1p(mean)
        f.nodes_left = left / n
        f.density = density
        f.least_by_mean = least / mean
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
        f.dominates = dominated
        f.dominates_all = dominated == 1.0
        f.clustering = 2.0 * within / (own * (own - 1.0)) - density if own > 1 else 0.0
        f.neighbours_by_mean = total / (own * mean)
        f.spared_behind = max(best - top, -_FAR)
        f.spared_best = best == top
        f.neighbours_listed = listed / _LISTED
        f.left_out = max(-_FAR, min(_FAR, left_out - taken))
        f.left_out_behind = max(-_FAR, min(_FAR, left_out - top))
        f.least_neighbours = math.log1p(fewest)
        f.paired_neighbours = math.log1p(pairs)
        f.completed_behind = max(farthest - longest, -_FAR)
        f.completed_best = farthest == longest
        f.own_behind = max(completed[u] - longest, -_FAR)
        f.completed_share = share
        f.votes = votes[u]
        f.most_votes = votes[u] == agreed


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
