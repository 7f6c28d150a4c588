"""Compiled loops over scored components.

Every component element carries a `linear` part (squared distance for l2, minus the dot product
for inner and cosine) and, for cosine, a squared norm. All loops add components from left to
right, so an action has one and the same floating-point score whichever search finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit  # type: ignore[import-untyped, unused-ignore]

_F = TypeVar("_F", bound=Callable[..., Any])

compiled = cast("Callable[[_F], _F]", njit(cache=True, nogil=True))
# Sums over the dimensions of one row may be reassociated (SIMD). Equal rows still give equal
# sums, because every row goes through the same instructions.
compiled_sums = cast(
    "Callable[[_F], _F]", njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
)


class Axes(NamedTuple):
    """The m axes of a product one after the other, each sorted by weight.

    weight, linear, norms: of all elements; axis c lies in start[c]:start[c + 1]. rest[c]: smallest
    sum of the weights behind axis c.
    """

    weight: Any
    linear: Any
    norms: Any
    start: Any
    rest: Any


class Band(NamedTuple):
    """Tuples looked for: floor <= weight <= limit and low <= norm < high.

    slack: what rounding may add to a bound.
    """

    limit: float
    slack: float
    floor: float
    low: float
    high: float


class Found(NamedTuple):
    """Room for tuples (cap, m), their linear parts and norms (cap,)."""

    tuples: Any
    linear: Any
    norms: Any


@compiled_sums
def squared_distances(table: Any, query: Any) -> Any:
    """(n, d), (d,) -> (n,), checksum: squared distance of every row to the query."""
    n, d = table.shape
    out = np.empty(n)
    check = 0.0
    for i in range(n):
        total = 0.0
        for j in range(d):
            gap = query[j] - table[i, j]
            total += gap * gap
        out[i] = total
        check += total
    return out, check


@compiled_sums
def negative_dots(table: Any, query: Any) -> Any:
    """(n, d), (d,) -> (n,), checksum: minus the inner product of every row and query."""
    n, d = table.shape
    out = np.empty(n)
    check = 0.0
    for i in range(n):
        total = 0.0
        for j in range(d):
            total += query[j] * table[i, j]
        out[i] = -total
        check += total
    return out, check


@compiled_sums
def negative_dots_and_norms(table: Any, query: Any) -> Any:
    """(n, d), (d,) -> (n,), (n,), checksum: minus the inner product, and the squared norm."""
    n, d = table.shape
    out = np.empty(n)
    norms = np.empty(n)
    check = 0.0
    for i in range(n):
        total = 0.0
        norm = 0.0
        for j in range(d):
            x = np.float64(table[i, j])
            total += query[j] * x
            norm += x * x
        out[i] = -total
        norms[i] = norm
        check += total + norm
    return out, norms, check


@compiled
def cosine_costs(linear: Any, norms: Any) -> Any:
    """Minus sign(D) D^2 / N for D = -linear: ranks like minus the cosine, without its root.

    A quotient of sums, so whole-numbered vectors give exact ties; zero vectors give 0.
    """
    out = np.empty(linear.shape[0])
    for i in range(linear.shape[0]):
        if norms[i] > 0.0:
            out[i] = linear[i] * abs(linear[i]) / norms[i]
        else:
            out[i] = 0.0
    return out


@compiled
def cosines(linear: Any, norms: Any, query_norm: float) -> Any:
    """Cosine of each action from minus its dot product and its squared norm; 0 for zero vectors."""
    out = np.zeros(linear.shape[0])
    for i in range(linear.shape[0]):
        length = np.sqrt(norms[i]) * query_norm
        if length > 0.0:
            out[i] = -linear[i] / length
    return out


@compiled
def outer_sum(left: Any, right: Any) -> Any:
    """(a,), (b,) -> (a * b,): all sums, the right index running fastest."""
    b = right.shape[0]
    out = np.empty(left.shape[0] * b)
    for i in range(left.shape[0]):
        x = left[i]
        for j in range(b):
            out[i * b + j] = x + right[j]
    return out


@compiled
def merge_sums(left: Any, left_code: Any, right: Any, right_code: Any, count: int) -> Any:
    """The `count` smallest sums of two lists sorted by (cost, code), in that order.

    The multi-sequence walk: row i of the left list enters the heap when row i - 1 is first
    popped, and then advances through the right list. Returns positions in both lists, sums
    and codes.
    """
    a, b = left.shape[0], right.shape[0]
    count = min(count, a * b)
    # A row enters only behind the one above it: never more rows than answers asked for.
    rows = min(a, count) + 1
    next_j = np.zeros(rows, np.int64)
    heap = np.empty(rows, np.int64)
    key = np.empty(rows)
    tie = np.empty(rows, np.int64)
    out_i = np.empty(count, np.int64)
    out_j = np.empty(count, np.int64)
    out_cost = np.empty(count)
    out_code = np.empty(count, np.int64)
    size = 0
    if count > 0:
        heap[0] = 0
        key[0] = left[0] + right[0]
        tie[0] = left_code[0] + right_code[0]
        size = 1
    for done in range(count):
        i = heap[0]
        j = next_j[i]
        out_i[done] = i
        out_j[done] = j
        out_cost[done] = key[i]
        out_code[done] = tie[i]
        first = j == 0
        j += 1
        next_j[i] = j
        if j < b:
            key[i] = left[i] + right[j]
            tie[i] = left_code[i] + right_code[j]
            item = i
        else:
            size -= 1
            item = heap[size]
        if size > 0:
            at = 0
            while True:
                child = 2 * at + 1
                if child >= size:
                    break
                c = heap[child]
                if child + 1 < size:
                    d = heap[child + 1]
                    if key[d] < key[c] or (key[d] == key[c] and tie[d] < tie[c]):
                        child += 1
                        c = d
                if key[c] < key[item] or (key[c] == key[item] and tie[c] < tie[item]):
                    heap[at] = c
                    at = child
                else:
                    break
            heap[at] = item
        if first and i + 1 < a and i + 1 < rows:
            new = i + 1
            key[new] = left[new] + right[0]
            tie[new] = left_code[new] + right_code[0]
            at = size
            size += 1
            heap[at] = new
            while at > 0:
                up = (at - 1) // 2
                p = heap[up]
                if key[p] < key[new] or (key[p] == key[new] and tie[p] < tie[new]):
                    break
                heap[at] = p
                heap[up] = new
                at = up
    return out_i, out_j, out_cost, out_code


@compiled
def least_weight(linear: Any, norms: Any, slope: float) -> float:
    """Smallest linear + slope * norm."""
    least = np.inf
    for i in range(linear.shape[0]):
        w = linear[i] + slope * norms[i]
        least = min(least, w)
    return least


@compiled
def within(linear: Any, norms: Any, slope: float, limit: float, low: float, high: float) -> Any:
    """Positions with linear + slope * norm <= limit and low <= norm <= high."""
    n = linear.shape[0]
    keep = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        if linear[i] + slope * norms[i] <= limit and norms[i] >= low and norms[i] <= high:
            keep[size] = i
            size += 1
    return keep[:size].copy()


@compiled
def scan(axes: Axes, band: Band, state: Any, found: Found) -> int:
    """Fill `found` with the next tuples of a band; those below its floor were looked at before.

    state (m + 1,): positions and depth, all zero at the start; depth -1 means done. Returns how
    many tuples were written; call again until done.
    """
    weight, linear, norms, start, rest = axes
    limit, slack, floor, low, high = band
    out, out_linear, out_norms = found
    m = start.shape[0] - 1
    cap = out.shape[0]
    count = 0
    sums = np.zeros(m + 1)
    linears = np.zeros(m + 1)
    squares = np.zeros(m + 1)
    depth = state[m]
    if depth < 0:
        return 0
    for c in range(depth):
        at = start[c] + state[c]
        sums[c + 1] = sums[c] + weight[at]
        linears[c + 1] = linears[c] + linear[at]
        squares[c + 1] = squares[c] + norms[at]
    while depth >= 0:
        size = start[depth + 1] - start[depth]
        j = state[depth]
        at = start[depth] + j
        if depth < m - 1:
            if j < size and sums[depth] + weight[at] + rest[depth] <= limit + slack:
                sums[depth + 1] = sums[depth] + weight[at]
                linears[depth + 1] = linears[depth] + linear[at]
                squares[depth + 1] = squares[depth] + norms[at]
                depth += 1
                state[depth] = 0
            else:
                depth -= 1
                if depth >= 0:
                    state[depth] += 1
            continue
        base = sums[depth]
        if j == 0 and floor > -np.inf:
            # Weights are sorted, so what was seen before is a prefix.
            a, b = 0, size
            while a < b:
                mid = (a + b) // 2
                if base + weight[start[depth] + mid] < floor:
                    a = mid + 1
                else:
                    b = mid
            j = a
        while j < size:
            at = start[depth] + j
            if base + weight[at] > limit:
                break
            norm = squares[depth] + norms[at]
            if norm >= low and norm < high:
                if count == cap:
                    state[depth] = j
                    state[m] = depth
                    return count
                for c in range(depth):
                    out[count, c] = state[c]
                out[count, depth] = j
                out_linear[count] = linears[depth] + linear[at]
                out_norms[count] = norm
                count += 1
            j += 1
        depth -= 1
        if depth >= 0:
            state[depth] += 1
    state[m] = -1
    return count
