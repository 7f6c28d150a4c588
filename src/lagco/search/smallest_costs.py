"""The smallest of many costs, compiled.

A heap finds a few. For hundreds the costs are first dealt to buckets of equal width, which takes
one pass, and only those in the same bucket are compared: where costs spread as scores do, there are
a few in each. A bucket with many is left to the heap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.search.products.kernels import compiled

#: so few costs are found by a heap
_FEW = 32
_BUCKETS = 512
#: costs of one bucket that are sorted by insertion
_CROWD = 16


@compiled
def first_smallest(costs: Any) -> Any:
    """Position of the smallest cost; the first one on ties, -1 when there is none below inf."""
    best = -1
    least = np.inf
    for i in range(costs.shape[0]):
        if costs[i] < least:
            least = costs[i]
            best = i
    return best


@compiled
def _sift(heap: Any, size: int, costs: Any) -> None:
    """Restore a max-heap of positions by (cost, position) after its root was replaced."""
    at = 0
    item = heap[0]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        a = heap[child]
        if child + 1 < size:
            b = heap[child + 1]
            if costs[b] > costs[a] or (costs[b] == costs[a] and b > a):
                child += 1
                a = b
        if costs[a] > costs[item] or (costs[a] == costs[item] and a > item):
            heap[at] = a
            at = child
        else:
            break
    heap[at] = item


@compiled
def _by_heap(costs: Any, count: int) -> Any:
    """What :func:`smallest` returns, from a heap of `count` positions while going over all."""
    n = costs.shape[0]
    heap = np.empty(min(count, n), np.int64)
    size = 0
    i = 0
    while i < n and size < count:
        if costs[i] < np.inf:
            at = size
            heap[at] = i
            size += 1
            while at > 0:
                up = (at - 1) // 2
                if costs[heap[up]] > costs[i]:
                    break
                # Later positions are larger, so an equal cost must rise as well.
                heap[at] = heap[up]
                heap[up] = i
                at = up
        i += 1
    if size == count and size > 0:
        worst = costs[heap[0]]
        while i < n:
            if costs[i] < worst:
                heap[0] = i
                _sift(heap, size, costs)
                worst = costs[heap[0]]
            i += 1
    for last in range(size - 1, 0, -1):
        top = heap[0]
        heap[0] = heap[last]
        heap[last] = top
        _sift(heap, last, costs)
    return heap[:size].copy()


@compiled
def _by_buckets(costs: Any, count: int) -> Any:
    """What :func:`smallest` returns, by buckets; costs that are not finite are left out."""
    n = costs.shape[0]
    low, high, size = np.inf, -np.inf, 0
    for i in range(n):
        if costs[i] < np.inf:
            low, high = min(low, costs[i]), max(high, costs[i])
            size += 1
    span = high - low
    if not 0.0 < span < np.inf:  # none, or all alike, or too far apart
        return _by_heap(costs, count)
    scale = (_BUCKETS - 1) / span
    bucket = np.empty(n, np.int32)
    ends = np.zeros(_BUCKETS + 1, np.int64)
    for i in range(n):
        bucket[i] = (costs[i] - low) * scale if costs[i] < np.inf else _BUCKETS
        ends[bucket[i]] += 1
    total = 0
    for b in range(_BUCKETS + 1):
        here = ends[b]
        ends[b] = total
        total += here
    items = np.empty(n, np.int64)
    for i in range(n):  # ascending in each bucket
        items[ends[bucket[i]]] = i
        ends[bucket[i]] += 1
    count = min(count, size)
    begin, b = 0, 0
    while begin < count:
        end = ends[b]
        if end - begin > _CROWD:
            crowd = items[begin:end].copy()
            order = _by_heap(costs[crowd], min(end, count) - begin)
            for i in range(order.shape[0]):
                items[begin + i] = crowd[order[i]]
        else:
            for i in range(begin + 1, end):
                item, at = items[i], i
                while at > begin and costs[items[at - 1]] > costs[item]:
                    items[at] = items[at - 1]
                    at -= 1
                items[at] = item
        begin = end
        b += 1
    return items[:count].copy()


@compiled
def smallest(costs: Any, count: int) -> Any:
    """Positions of the `count` smallest finite costs, sorted by (cost, position)."""
    return _by_heap(costs, count) if count < _FEW else _by_buckets(costs, count)
