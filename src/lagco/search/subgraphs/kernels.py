"""Compiled enumeration of connected subgraphs, with bounds on what a subgraph can grow into.

Every connected set of nodes is visited once (Wernicke's ESU): it is grown from its first node in a
fixed order of roots, by nodes behind that one, and a node that is added brings only neighbours that
no node before it has. The enumeration stops when its output is full, and goes on at the next call.

The vector of a set is the pooling of its nodes' vectors plus an offset. With the nodes that are
within reach, each coordinate of it lies in an interval, for Sum, Mean and RootSum so does the inner
product with the query; this bounds the cost of all sets that a set can grow into, and a set that
cannot grow into one below the limit is left.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lagco.search.metrics import Floats, Ints
from lagco.search.products.kernels import compiled

SUM, MEAN, ROOT_SUM, MAX, MIN = range(5)
_L2, _INNER, _COSINE = range(3)  # as in lagco.search.metrics.CODES
#: entries of `Walk.at`: rank of the root, size of the present set, sets visited
RANK, SIZE, VISITED = range(3)


class Network(NamedTuple):
    """The neighbours of v are heads[offsets[v] : offsets[v + 1]]; allowed: bool (n,)."""

    offsets: Ints
    heads: Ints
    allowed: NDArray[np.bool_]


class Asked(NamedTuple):
    """Vectors of the nodes, and what is asked of subgraphs.

    nodes: (n, d + 1), the last column the inner product with the query. offset, query: (d,).
    lead: of the components before the subgraph the least linear part, the least and largest
    squared norm. most: squared length of the whole query. pooling, metric: codes.
    """

    nodes: Floats
    offset: Floats
    query: Floats
    lead: tuple[float, float, float]
    most: float
    pooling: int
    metric: int


class Walk(NamedTuple):
    """State of an enumeration of sets of at most k nodes.

    order, rank: (n,) the roots, and the place of each node among them. chosen: (k,) the set.
    extension: nodes that may be added; level i goes through extension[pointer[i] : end[i]].
    touched: (n,) whether a node is in the set or next to it. reach: (k,) most hops from the root.
    sums: (k, d + 1) pooled so far. low, high: (k, d + 1) ranges of the nodes within so many hops of
    the root; hops, seen: (n,) these hops, and for which root they are known.
    """

    at: Ints
    order: Ints
    rank: Ints
    chosen: Ints
    pointer: Ints
    end: Ints
    extension: Ints
    touched: NDArray[np.bool_]
    reach: Ints
    sums: Floats
    low: Floats
    high: Floats
    hops: Ints
    seen: Ints
    queue: Ints


@compiled
def _pool(pooling: int, before: Any, node: Any, out: Any) -> None:
    """Add a node to what is pooled so far."""
    for c in range(out.shape[0]):
        if pooling == MAX:
            out[c] = max(before[c], node[c])
        elif pooling == MIN:
            out[c] = min(before[c], node[c])
        else:
            out[c] = before[c] + node[c]


@compiled
def _share(pooling: int, size: int) -> float:
    """What the sum over `size` nodes is multiplied by."""
    if pooling == MEAN:
        return 1.0 / size
    return 1.0 / math.sqrt(size) if pooling == ROOT_SUM else 1.0


@compiled
def _score(asked: Any, sums: Any, size: int) -> Any:
    """Linear part and squared norm of a set."""
    share = _share(asked.pooling, size)
    linear = norm = 0.0
    for c in range(asked.query.shape[0]):
        value = share * sums[c] + asked.offset[c]
        if asked.metric == _L2:
            linear += (asked.query[c] - value) ** 2
        else:
            linear -= asked.query[c] * value
            norm += value * value
    return linear, norm


@compiled
def _least_cost(asked: Any, linear: float, low: float, high: float) -> float:
    """Least cost of an action whose subgraph has a linear part from `linear` on, and such a norm.

    low, high: range of the squared norm.
    """
    linear += asked.lead[0]
    if asked.metric != _COSINE:
        return linear
    low, high = low + asked.lead[1], high + asked.lead[2]
    if linear < 0.0:
        return max(-asked.most, -linear * linear / low) if low > 0.0 else -asked.most
    return linear * linear / high if high > 0.0 else 0.0


@compiled
def _interval(pooling: int, total: float, size: int, more: int, low: float, high: float) -> Any:
    """Range of a coordinate once up to `more` nodes from [low, high] join a set of `size`."""
    if pooling == MAX:
        return total, max(total, high)
    if pooling == MIN:
        return min(total, low), total
    if pooling == SUM:
        return total + more * min(low, 0.0), total + more * max(high, 0.0)
    least = most = total * _share(pooling, size)
    for added in range(1, more + 1):
        share = _share(pooling, size + added)
        least = min(least, share * (total + added * low))
        most = max(most, share * (total + added * high))
    return least, most


@compiled
def _bound(asked: Any, sums: Any, size: int, more: int, low: Any, high: Any, limit: float) -> float:
    """Least cost of any set that this one can grow into, itself included."""
    width = asked.query.shape[0]
    distance = dot = least_norm = most_norm = 0.0
    root = math.sqrt(-limit) if asked.metric == _COSINE and limit < 0.0 else 0.0
    share = _share(asked.pooling, size)
    length = 0.0
    if root > 0.0:
        for c in range(width):
            length += (share * sums[c] + asked.offset[c]) ** 2
        length = math.sqrt(length)
    inside = 0.0
    for c in range(width):
        query, offset = asked.query[c], asked.offset[c]
        a, b = _interval(asked.pooling, sums[c], size, more, low[c], high[c])
        a, b = a + offset, b + offset
        gap = max(a - query, query - b, 0.0)
        distance += gap * gap
        dot += max(query * a, query * b)
        if asked.metric != _INNER:
            nearest = max(a, -b, 0.0)
            least_norm += nearest * nearest
            most_norm += max(a * a, b * b)
        if length > 0.0:
            slope = query - root * (share * sums[c] + offset) / length
            inside += max(slope * a, slope * b)
    if asked.pooling == SUM or asked.pooling == MEAN or asked.pooling == ROOT_SUM:
        _, b = _interval(asked.pooling, sums[width], size, more, low[width], high[width])
        for c in range(width):
            b += asked.query[c] * asked.offset[c]
        dot = min(dot, b)
    if asked.metric == _INNER:
        return _least_cost(asked, -dot, 0.0, 0.0)
    if asked.metric == _L2:
        square = 0.0
        for c in range(width):
            square += asked.query[c] * asked.query[c]
        return _least_cost(asked, max(distance, square - 2.0 * dot + least_norm), 0.0, 0.0)
    # A cosine beyond the limit needs <q, u> > root |u|, and |u| >= <g, u> for every unit vector g,
    # here the direction of the present set.
    if length > 0.0 and inside < asked.lead[0]:
        return np.inf
    return _least_cost(asked, -dot, least_norm, most_norm)


@compiled
def _open(network: Any, asked: Any, walk: Any, root: int) -> None:
    """Begin with the set of one root; what it can reach is ranged by hops."""
    levels, width = walk.low.shape
    rank = walk.at[RANK]
    walk.seen[root], walk.hops[root], walk.queue[0] = rank, 0, root
    begin, end = 0, 1
    for h in range(levels):
        walk.low[h], walk.high[h] = np.inf, -np.inf
        if h:
            walk.low[h], walk.high[h] = walk.low[h - 1], walk.high[h - 1]
        stop = end
        while begin < stop:
            v = walk.queue[begin]
            begin += 1
            for c in range(width):
                walk.low[h, c] = min(walk.low[h, c], asked.nodes[v, c])
                walk.high[h, c] = max(walk.high[h, c], asked.nodes[v, c])
            for e in range(network.offsets[v], network.offsets[v + 1]):
                w = network.heads[e]
                if network.allowed[w] and walk.rank[w] > rank and walk.seen[w] != rank:
                    walk.seen[w], walk.hops[w], walk.queue[end] = rank, h + 1, w
                    end += 1
    walk.touched[root] = True
    walk.chosen[0], walk.reach[0] = root, 0
    walk.sums[0] = asked.nodes[root]
    walk.pointer[0] = walk.end[0] = 0


@compiled
def _extend(network: Any, walk: Any, level: int) -> None:
    """Let the neighbours that the last node of the set brings be added."""
    end = walk.end[level]
    v = walk.chosen[level]
    for e in range(network.offsets[v], network.offsets[v + 1]):
        w = network.heads[e]
        if network.allowed[w] and walk.rank[w] > walk.at[RANK] and not walk.touched[w]:
            walk.touched[w] = True
            walk.extension[end] = w
            end += 1
    walk.end[level] = end


@compiled
def _leave(walk: Any, level: int) -> None:
    """Undo `_extend`."""
    for i in range(walk.end[level - 1] if level else 0, walk.end[level]):
        walk.touched[walk.extension[i]] = False
    if not level:
        walk.touched[walk.chosen[0]] = False


@compiled
def _write(chosen: Any, size: int, nodes: int, row: Any) -> None:
    """A set in ascending order, padded with `nodes`."""
    row[size:] = nodes
    for i in range(size):
        at = i
        while at > 0 and row[at - 1] > chosen[i]:
            row[at] = row[at - 1]
            at -= 1
        row[at] = chosen[i]


@compiled
def advance(
    network: Any, asked: Any, walk: Any, limit: float, work: int, rows: Any, linear: Any, norms: Any
) -> int:
    """Go on until `rows` is full, all sets were visited, or `work` of them were.

    Writes rows (·, k) of sets that may have a cost up to `limit`, with linear parts and norms;
    returns how many. Costs of sets alone are lower bounds where other components go with them.
    """
    at, nodes, most = walk.at, walk.rank.shape[0], walk.chosen.shape[0]
    count = 0
    while count < rows.shape[0] and at[VISITED] < work:
        level = at[SIZE] - 1
        if level < 0:
            at[RANK] += 1
            if at[RANK] >= nodes:
                break
            root = walk.order[at[RANK]]
            if not network.allowed[root]:
                continue
            _open(network, asked, walk, root)
            level = 0
        elif walk.pointer[level] == walk.end[level]:
            _leave(walk, level)
            at[SIZE] = level
            continue
        else:
            node = walk.extension[walk.pointer[level]]
            walk.pointer[level] += 1
            level += 1
            walk.chosen[level] = node
            walk.pointer[level], walk.end[level] = walk.pointer[level - 1], walk.end[level - 1]
            walk.reach[level] = max(walk.reach[level - 1], walk.hops[node])
            _pool(asked.pooling, walk.sums[level - 1], asked.nodes[node], walk.sums[level])
        size = level + 1
        at[VISITED] += 1
        sums = walk.sums[level]
        first, norm = _score(asked, sums, size)
        if _least_cost(asked, first, norm, norm) <= limit:
            _write(walk.chosen, size, nodes, rows[count])
            linear[count], norms[count] = first, norm
            count += 1
        more = most - size
        far = min(walk.reach[level] + more, most - 1)
        if more > 0 and (
            limit == np.inf
            or _bound(asked, sums, size, more, walk.low[far], walk.high[far], limit) <= limit
        ):
            _extend(network, walk, level)
            at[SIZE] = size
        elif level == 0:
            walk.touched[root] = False
    return count


@compiled
def pooled_rows(nodes: Any, offset: Any, rows: Any, pooling: int) -> Any:
    """Vectors (k, d) of sets, given as rows (k, T) padded with n: the poolings plus the offset."""
    width = offset.shape[0]
    out = np.empty((rows.shape[0], width))
    total = np.empty(width)
    for i in range(rows.shape[0]):
        size = 0
        for t in range(rows.shape[1]):
            v = rows[i, t]
            if v == nodes.shape[0]:
                break
            size += 1
            if t == 0:
                total[:] = nodes[v, :width]
            else:
                _pool(pooling, total, nodes[v], total)
        share = _share(pooling, max(size, 1))
        for c in range(width):
            out[i, c] = share * total[c] + offset[c]
    return out
