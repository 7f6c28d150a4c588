"""Sums of scaled rows, the inner loops of compiled networks.

Rows of messages lie anywhere: the plain loop over the columns of ``out[i] += factor * table[row]``
reads and writes `out` once per row, and asks each time whether it overlaps with the row. So a block
of columns is walked through all rows before the next one is: its sums are tuples of eight numbers,
which the compiler keeps in registers and handles at a time, see
:func:`lagco.runtime.compiled_code.prepare_compiler`. Two blocks that are walked together lie apart:
of neighbours, compilers for processors with registers of sixteen numbers make one, and then
multiply and add in two instructions. Places are unsigned there: numba counts
negative ones from the end, and would ask for every number which it is.

``contract`` allows to multiply and add in one instruction, and nothing that reorders a sum: every
number is summed from the first row to the last, whichever rows are summed together. So a row has
the same bits whether it is computed alone or among others, which updates of embeddings rely on.
Indices are not checked.

The plain sums they equal bit by bit are in ``tests/embedding/test_row_sums.py``; whether a product
is rounded before it is added is the compiler's choice for every column. Nothing here is kept on
disk: it is part of the kernels that call it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_FAST = {"contract"}
_0, _1, _2, _3, _4, _5, _6, _7, _8 = [np.uint64(place) for place in range(9)]
_16 = np.uint64(16)
_ZERO, _ONE, _HIGHEST = np.float32(0.0), np.float32(1.0), np.float32(np.inf)


@njit
def _block(rows, i, at):  # type: ignore[no-untyped-def]
    """Eight numbers of row i."""
    return (
        rows[i, at], rows[i, at + _1], rows[i, at + _2], rows[i, at + _3],
        rows[i, at + _4], rows[i, at + _5], rows[i, at + _6], rows[i, at + _7],
    )  # fmt: skip


@njit
def _write(rows, i, at, block):  # type: ignore[no-untyped-def]
    rows[i, at], rows[i, at + _1], rows[i, at + _2], rows[i, at + _3] = block[:4]
    rows[i, at + _4], rows[i, at + _5], rows[i, at + _6], rows[i, at + _7] = block[4:]


@njit
def _write_part(line, at, block):  # type: ignore[no-untyped-def]
    line[at], line[at + _1], line[at + _2], line[at + _3] = block[:4]
    line[at + _4], line[at + _5], line[at + _6], line[at + _7] = block[4:]


@njit(fastmath=_FAST)
def _plus(sums, x, row):  # type: ignore[no-untyped-def]
    """sums + x * row"""
    a, b, c, d, e, f, g, h = sums
    return (
        a + x * row[0], b + x * row[1], c + x * row[2], d + x * row[3],
        e + x * row[4], f + x * row[5], g + x * row[6], h + x * row[7],
    )  # fmt: skip


@njit
def _higher(sums, row):  # type: ignore[no-untyped-def]
    a, b, c, d, e, f, g, h = sums
    p, q, r, s, t, u, v, w = row
    return (
        p if p > a else a, q if q > b else b, r if r > c else c, s if s > d else d,
        t if t > e else e, u if u > f else f, v if v > g else g, w if w > h else h,
    )  # fmt: skip


@njit
def _lower(sums, row):  # type: ignore[no-untyped-def]
    a, b, c, d, e, f, g, h = sums
    p, q, r, s, t, u, v, w = row
    return (
        p if p < a else a, q if q < b else b, r if r < c else c, s if s < d else d,
        t if t < e else e, u if u < f else f, v if v < g else g, w if w < h else h,
    )  # fmt: skip


@njit(fastmath=_FAST)
def add_products(out, rows, number, factors, count, table, t):  # type: ignore[no-untyped-def]
    """out[i] += sum of factors[i, k] * table[t, k] over k < `count`, for i in rows[:number].

    Four rows at a time, and four rows of the table: a number of `out` or of `table` that is read
    from memory then serves four products.

    Args:
        out: float32 (·, d), written.
        rows: integers (≥ number,), all different.
        factors: float32 (·, ≥ count).
        table: float32 (·, ≥ count, d).
    """
    columns = out.shape[1]
    lines = table[t]
    together = number - number % 4
    whole = count - count % 4
    for q in range(0, together, 4):
        a, b, c, d = out[rows[q]], out[rows[q + 1]], out[rows[q + 2]], out[rows[q + 3]]
        fa, fb = factors[rows[q]], factors[rows[q + 1]]
        fc, fd = factors[rows[q + 2]], factors[rows[q + 3]]
        for k in range(0, whole, 4):
            first, second, third, fourth = lines[k], lines[k + 1], lines[k + 2], lines[k + 3]
            a0, a1, a2, a3 = fa[k], fa[k + 1], fa[k + 2], fa[k + 3]
            b0, b1, b2, b3 = fb[k], fb[k + 1], fb[k + 2], fb[k + 3]
            c0, c1, c2, c3 = fc[k], fc[k + 1], fc[k + 2], fc[k + 3]
            d0, d1, d2, d3 = fd[k], fd[k + 1], fd[k + 2], fd[k + 3]
            for o in range(columns):
                w, x, y, z = first[o], second[o], third[o], fourth[o]
                a[o] = (((a[o] + a0 * w) + a1 * x) + a2 * y) + a3 * z
                b[o] = (((b[o] + b0 * w) + b1 * x) + b2 * y) + b3 * z
                c[o] = (((c[o] + c0 * w) + c1 * x) + c2 * y) + c3 * z
                d[o] = (((d[o] + d0 * w) + d1 * x) + d2 * y) + d3 * z
        for k in range(whole, count):
            line = lines[k]
            a0, b0, c0, d0 = fa[k], fb[k], fc[k], fd[k]
            for o in range(columns):
                w = line[o]
                a[o] += a0 * w
                b[o] += b0 * w
                c[o] += c0 * w
                d[o] += d0 * w
    for q in range(together, number):
        a, fa = out[rows[q]], factors[rows[q]]
        for k in range(0, whole, 4):
            first, second, third, fourth = lines[k], lines[k + 1], lines[k + 2], lines[k + 3]
            a0, a1, a2, a3 = fa[k], fa[k + 1], fa[k + 2], fa[k + 3]
            for o in range(columns):
                total = (a[o] + a0 * first[o]) + a1 * second[o]
                a[o] = (total + a2 * third[o]) + a3 * fourth[o]
        for k in range(whole, count):
            line, a0 = lines[k], fa[k]
            for o in range(columns):
                a[o] += a0 * line[o]


@njit(fastmath=_FAST)
def add_columns(out, i, values, e, table):  # type: ignore[no-untyped-def]
    """out[i] += sum of values[k, e] * table[k] over the rows k of `values`.

    float32: out (·, d), values (c, ·), table (≥ c, d).
    """
    for k in range(values.shape[0]):
        factor = values[k, e]
        for o in range(out.shape[1]):
            out[i, o] += factor * table[k, o]


@njit(fastmath=_FAST)
def add_messages(out, i, factors, f, table, sources, rows, low, high):  # type: ignore[no-untyped-def]
    """out[i] += sum of factors[f, sources[m]] * table[rows[m]] over low <= m < high.

    float32: out, table, of which the columns that both have, and factors, many of which may be 0;
    integers: sources, rows (≥ high,).
    """
    columns = np.uint64(min(out.shape[1], table.shape[1]))
    i, f, at, half = np.uint64(i), np.uint64(f), _0, columns // _16 * _8
    while at < half:
        first, second = _block(out, i, at), _block(out, i, half + at)
        for m in range(low, high):
            x = factors[f, np.uint64(sources[m])]
            if x != _ZERO:
                row = np.uint64(rows[m])
                first = _plus(first, x, _block(table, row, at))
                second = _plus(second, x, _block(table, row, half + at))
        _write(out, i, at, first)
        _write(out, i, half + at, second)
        at += _8
    rest = half + half
    for m in range(low, high if rest < columns else low):
        x, row = factors[f, np.uint64(sources[m])], np.uint64(rows[m])
        if x != _ZERO:
            for o in range(rest, columns):
                out[i, o] += x * table[row, o]


@njit(fastmath=_FAST)
def add_neighbours(out, i, table, rows, low, high):  # type: ignore[no-untyped-def]
    """out[i] += sum of table[rows[m]] over low <= m < high; arrays as above."""
    columns = np.uint64(min(out.shape[1], table.shape[1]))
    i, at, half = np.uint64(i), _0, columns // _16 * _8
    while at < half:
        first, second = _block(out, i, at), _block(out, i, half + at)
        for m in range(low, high):
            row = np.uint64(rows[m])
            first = _plus(first, _ONE, _block(table, row, at))
            second = _plus(second, _ONE, _block(table, row, half + at))
        _write(out, i, at, first)
        _write(out, i, half + at, second)
        at += _8
    rest = half + half
    for m in range(low, high if rest < columns else low):
        row = np.uint64(rows[m])
        for o in range(rest, columns):
            out[i, o] += table[row, o]


@njit
def pool_columns(rows, weights, elements, count, start, sums, highest, lowest):  # type: ignore[no-untyped-def]
    """Sum, maximum and minimum of rows (·, d), written from place `start` on.

    Row k < `count` is rows[elements[k]], or rows[k] without elements (0,). It counts weights[k]
    times, once without weights (0,), and not at all where that is not positive. Where no row counts
    the sum is 0, the other two are infinite.
    """
    start, columns = np.uint64(start), np.uint64(rows.shape[1])
    at = _0
    while at < columns:
        whole = at + _8 <= columns
        total, high, low = _ZERO, -_HIGHEST, _HIGHEST
        totals = total, total, total, total, total, total, total, total
        highs = high, high, high, high, high, high, high, high
        lows = low, low, low, low, low, low, low, low
        for k in range(np.uint64(count)):
            weight = np.float32(weights[k]) if weights.shape[0] else _ONE
            if weight > 0:
                i = np.uint64(elements[k]) if elements.shape[0] else k
                if whole:
                    row = _block(rows, i, at)
                    totals = _plus(totals, weight, row)
                    highs, lows = _higher(highs, row), _lower(lows, row)
                else:
                    value = rows[i, at]
                    total += weight * value
                    high, low = max(high, value), min(low, value)
        if whole:
            _write_part(sums, start + at, totals)
            _write_part(highest, start + at, highs)
            _write_part(lowest, start + at, lows)
            at += _8
        else:
            sums[start + at], highest[start + at], lowest[start + at] = total, high, low
            at += _1


@njit
def write_standardised(out, i, at, table, t, mean, factor, start):  # type: ignore[no-untyped-def]
    """out[i, at + c] = (table[t, c] - mean[start + c]) * factor[start + c] for all columns c."""
    for c in range(table.shape[1]):
        out[i, at + c] = (table[t, c] - mean[start + c]) * factor[start + c]
