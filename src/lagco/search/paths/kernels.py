"""Compiled loops over simple paths.

Weights are given per position and node, so a path's weight is a sum along it. `completion` is the
layered shortest-path bound: the least weight of any walk (not only simple paths) that finishes
from a node at a position. It is exact but for repeated nodes, which makes both searches below
look at little more than what they return.

A unit is a (demand, source) pair: unit_demand, unit_source, unit_target (-1: ends anywhere),
unit_hops (most hops); units with the same target and hops stand together and share one bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lagco.search.products.kernels import compiled

_LANES = 16


class PathWeights(NamedTuple):
    """Weights that paths are summed over.

    node: (T, n), per position and node. pad: (T + 1,), of leaving positions i, i + 1, ... empty.
    lead: (demands,), of the demand.
    """

    node: Any
    pad: Any
    lead: Any


class PathGraph(NamedTuple):
    """Neighbours ``heads[offsets[v]:offsets[v + 1]]`` of node v, and the fewest hops of a path that
    may end anywhere.
    """

    offsets: Any
    heads: Any
    least: int


class Band(NamedTuple):
    """Weights looked for: floor <= weight <= limit; slack: what rounding may add to a bound."""

    limit: float
    slack: float
    floor: float


class Cursor(NamedTuple):
    """Where a walk over paths stands; must come back unchanged with the next call.

    state: (2,), unit and depth, (0, -1) at the start, unit = U when done. pointer: (T,). row:
    (1 + T,).
    """

    state: Any
    pointer: Any
    row: Any


@compiled
def completion(
    weight: Any, pad: Any, offsets: Any, heads: Any, target: int, hops: int, least: int, out: Any
) -> None:
    """out[i, v] (T, n): least weight from standing on v at position i to the end, v included.

    weight (T, n); pad (T + 1,): weight of leaving positions i, i + 1, ... empty; least: fewest
    hops of a path that may end anywhere.
    """
    n = weight.shape[1]
    out[hops + 1 :] = np.inf
    for i in range(hops, -1, -1):
        for v in range(n):
            rest = np.inf
            if v == target or (target < 0 and i >= least):
                rest = pad[i + 1]
            if v != target and i < hops:
                for e in range(offsets[v], offsets[v + 1]):
                    rest = min(rest, out[i + 1, heads[e]])
            out[i, v] = weight[i, v] + rest


@compiled
def unit_bounds(
    weight: Any, pad: Any, lead: Any, offsets: Any, heads: Any, least: int, units: Any
) -> Any:
    """Least weight of any walk of each unit. units (U, 4): demand, source, target, hops.

    The recursion of `completion`, for up to _LANES targets of equal hops at once: the loop over
    targets is the innermost one and runs in vector registers. Only two layers are kept.
    """
    n = weight.shape[1]
    count = units.shape[0]
    bound = np.empty(count)
    here = np.empty((n, _LANES))
    ahead = np.empty((n, _LANES))
    rest = np.empty(_LANES)
    lane_of = np.full(n, -1)
    begin = 0
    while begin < count:
        hops = units[begin, 3]
        lane = -1
        anywhere = -1
        target = -2
        end = begin
        while end < count and units[end, 3] == hops:
            if units[end, 2] != target:
                if lane + 1 == _LANES:
                    break
                lane += 1
                target = units[end, 2]
                if target < 0:
                    anywhere = lane
                else:
                    lane_of[target] = lane
            end += 1
        for i in range(hops, -1, -1):
            for v in range(n):
                for x in range(_LANES):
                    rest[x] = np.inf
                if i < hops:
                    for e in range(offsets[v], offsets[v + 1]):
                        h = heads[e]
                        for x in range(_LANES):
                            y = ahead[h, x]
                            rest[x] = y if y < rest[x] else rest[x]
                if anywhere >= 0 and i >= least:
                    rest[anywhere] = min(rest[anywhere], pad[i + 1])
                if lane_of[v] >= 0:
                    rest[lane_of[v]] = pad[i + 1]
                w = weight[i, v]
                for x in range(_LANES):
                    here[v, x] = w + rest[x]
            here, ahead = ahead, here
        lane = -1
        target = -2
        for u in range(begin, end):
            if units[u, 2] != target:
                lane += 1
                target = units[u, 2]
                if target >= 0:
                    lane_of[target] = -1
            bound[u] = lead[units[u, 0]] + ahead[units[u, 1], lane]
        begin = end
    return bound


@compiled
def _behind(row: Any, length: int, other: Any) -> bool:
    """Whether the first `length` entries of row already stand behind those of other."""
    for j in range(length):
        if row[j] != other[j]:
            return bool(row[j] > other[j])
    return False


@compiled
def _worse(cost_a: float, row_a: Any, cost_b: float, row_b: Any) -> bool:
    if cost_a != cost_b:
        return cost_a > cost_b
    return _behind(row_a, row_a.shape[0], row_b)


@compiled
def best_paths(
    weight: Any,
    pad: Any,
    lead: Any,
    offsets: Any,
    heads: Any,
    least: int,
    units: Any,
    bound: Any,
    count: int,
    slack: float,
) -> Any:
    """The `count` paths least in (weight, row), as rows (., 1 + T) and weights, unordered.

    Depth first in order of the bound, with a heap of the best so far: memory is that of the
    answer. A branch that can only tie with the worst kept is followed only while its row stands
    before that one's.
    """
    positions, n = weight.shape
    degree = 1
    for v in range(n):
        degree = max(degree, offsets[v + 1] - offsets[v])
    reach = np.empty((positions, n))
    target, hops = -2, -2
    kept = np.empty((count, positions + 1), np.int64)
    cost = np.empty(count)
    heap = np.empty(count, np.int64)
    size = 0
    worst = np.inf
    row = np.empty(positions + 1, np.int64)
    used = np.zeros(n, np.bool_)
    choices = np.empty((positions, degree), np.int64)
    choice_bound = np.empty((positions, degree))
    choice_count = np.zeros(positions, np.int64)
    pointer = np.zeros(positions, np.int64)
    acc = np.empty(positions)
    order = np.argsort(bound, kind="mergesort")
    for rank in range(order.shape[0]):
        u = order[rank]
        if bound[u] > worst + slack or bound[u] == np.inf:
            break
        if units[u, 2] != target or units[u, 3] != hops:
            target, hops = units[u, 2], units[u, 3]
            completion(weight, pad, offsets, heads, target, hops, least, reach)
        row[0] = units[u, 0]
        row[1] = units[u, 1]
        acc[0] = lead[units[u, 0]] + weight[0, units[u, 1]]
        depth = 0
        entering = True
        while depth >= 0:
            v = row[depth + 1]
            if entering:
                entering = False
                used[v] = True
                if v == target or (target < 0 and depth >= least):
                    total = acc[depth] + pad[depth + 1]
                    for j in range(depth + 2, positions + 1):
                        row[j] = n
                    slot = -1
                    if size < count:
                        slot = size
                        size += 1
                        heap[slot] = slot
                        kept[slot] = row
                        cost[slot] = total
                        at = slot
                        while at > 0:
                            up = (at - 1) // 2
                            p = heap[up]
                            if not _worse(total, row, cost[p], kept[p]):
                                break
                            heap[at] = p
                            heap[up] = slot
                            at = up
                    elif _worse(cost[heap[0]], kept[heap[0]], total, row):
                        slot = heap[0]
                        kept[slot] = row
                        cost[slot] = total
                        at = 0
                        while True:
                            child = 2 * at + 1
                            if child >= size:
                                break
                            if child + 1 < size and _worse(
                                cost[heap[child + 1]],
                                kept[heap[child + 1]],
                                cost[heap[child]],
                                kept[heap[child]],
                            ):
                                child += 1
                            c = heap[child]
                            if not _worse(cost[c], kept[c], total, row):
                                break
                            heap[at] = c
                            at = child
                        heap[at] = slot
                    if size == count:
                        worst = cost[heap[0]]
                found = 0
                if v != target and depth < hops:
                    for e in range(offsets[v], offsets[v + 1]):
                        h = heads[e]
                        b = reach[depth + 1, h]
                        if used[h] or not acc[depth] + b <= worst + slack or b == np.inf:
                            continue
                        at = found
                        while at > 0 and choice_bound[depth, at - 1] > b:
                            choices[depth, at] = choices[depth, at - 1]
                            choice_bound[depth, at] = choice_bound[depth, at - 1]
                            at -= 1
                        choices[depth, at] = h
                        choice_bound[depth, at] = b
                        found += 1
                choice_count[depth] = found
                pointer[depth] = 0
            at = pointer[depth]
            pointer[depth] += 1
            if at < choice_count[depth] and acc[depth] + choice_bound[depth, at] <= worst + slack:
                h = choices[depth, at]
                row[depth + 2] = h
                if (
                    size == count
                    and acc[depth] + choice_bound[depth, at] >= worst
                    and _behind(row, depth + 3, kept[heap[0]])
                ):
                    continue
                acc[depth + 1] = acc[depth] + weight[depth + 1, h]
                depth += 1
                entering = True
            else:
                used[v] = False
                depth -= 1
    return kept[:size], cost[:size]


@compiled
def stream_paths(
    weights: PathWeights,
    graph: PathGraph,
    units: Any,
    band: Band,
    cursor: Cursor,
    out: Any,
    counting: bool,
) -> int:
    """Fill out (cap, 1 + T) with the next paths of a band, in no order.

    counting: only count the paths, all in one call.
    """
    weight, pad, lead = weights
    offsets, heads, least = graph
    limit, slack, floor = band
    state, pointer, row = cursor
    positions, n = weight.shape
    cap = -1 if counting else out.shape[0]
    count = 0
    reach = np.empty((positions, n))
    target, hops = -2, -2
    used = np.zeros(n, np.bool_)
    acc = np.empty(positions)
    unit, depth = state[0], state[1]
    while unit < units.shape[0]:
        if units[unit, 2] != target or units[unit, 3] != hops:
            target, hops = units[unit, 2], units[unit, 3]
            completion(weight, pad, offsets, heads, target, hops, least, reach)
        if count == cap:
            break
        entering = False
        if depth < 0:
            s = units[unit, 1]
            if not lead[units[unit, 0]] + reach[0, s] <= limit + slack or reach[0, s] == np.inf:
                unit += 1
                continue
            row[0] = units[unit, 0]
            row[1] = s
            depth = 0
            entering = True
        acc[0] = lead[row[0]] + weight[0, row[1]]
        used[row[1]] = True
        for i in range(1, depth + 1):
            acc[i] = acc[i - 1] + weight[i, row[i + 1]]
            used[row[i + 1]] = True
        while depth >= 0:
            v = row[depth + 1]
            if entering:
                entering = False
                pointer[depth] = offsets[v]
                if v == target or (target < 0 and depth >= least):
                    total = acc[depth] + pad[depth + 1]
                    if total <= limit and total >= floor:
                        if not counting:
                            for j in range(depth + 2):
                                out[count, j] = row[j]
                            for j in range(depth + 2, positions + 1):
                                out[count, j] = n
                        count += 1
                if v == target or depth == hops:
                    pointer[depth] = offsets[v + 1]
            if count == cap:
                break
            moved = False
            while pointer[depth] < offsets[v + 1]:
                h = heads[pointer[depth]]
                pointer[depth] += 1
                if used[h]:
                    continue
                b = reach[depth + 1, h]
                if acc[depth] + b <= limit + slack and b < np.inf:
                    acc[depth + 1] = acc[depth] + weight[depth + 1, h]
                    row[depth + 2] = h
                    used[h] = True
                    depth += 1
                    entering = True
                    moved = True
                    break
            if not moved:
                used[v] = False
                depth -= 1
        if depth < 0:
            unit += 1
        else:
            break
    state[0], state[1] = unit, depth
    return count


@compiled
def path_sums(rows: Any, tables: Any, pad: Any, lead: Any) -> Any:
    """(k, 1 + T) rows -> (k,): sums of the position tables (T, n) along each path."""
    positions, n = tables.shape
    out = np.empty(rows.shape[0])
    for r in range(rows.shape[0]):
        total = lead[rows[r, 0]]
        i = 0
        while i < positions and rows[r, i + 1] < n:
            total += tables[i, rows[r, i + 1]]
            i += 1
        out[r] = total + pad[i]
    return out
