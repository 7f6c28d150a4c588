"""Sums held in registers have the bits of plain sums, from the first row to the last."""

import numpy as np
import pytest
from numba import njit

from lagco.embedding.inference.row_sums import (
    add_columns,
    add_messages,
    add_neighbours,
    add_products,
    pool_columns,
    write_standardised,
)

WIDTHS = (1, 7, 33, 200)


@njit
def products(out, rows, factors, table):
    add_products(out, rows, len(rows), factors, factors.shape[1], table, 1)


@njit
def messages(out, values, table, sources, rows):
    add_messages(out, 1, values, 0, table, sources, rows, 2, len(rows))
    add_neighbours(out, 0, table, rows, 2, len(rows))
    add_columns(out, 2, values, 3, table)


@njit
def pooled(rows, weights, elements, out):
    count = len(elements) if len(elements) else len(rows)
    pool_columns(rows, weights, elements, count, 1, out[0], out[1], out[2])


@njit
def standardised(out, table, mean, factor):
    for i in range(len(table)):
        write_standardised(out, i, 1, table, i, mean, factor, 2)


def _drawn(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def rounded_twice(row, factor, other):
    return row + factor * other


def rounded_once(row, factor, other):
    exact = row.astype(np.float64) + np.float64(factor) * other.astype(np.float64)
    return exact.astype(np.float32)


def assert_is_sum_in_order(found, row, terms):
    """`found` is `row` and its (factor, row) in turn; whether products are rounded before they are
    added is the compiler's choice, which depends on the processor and on the column."""
    sums = {rounded_once: row, rounded_twice: row}
    for factor, other in terms:
        sums = {way: way(total, factor, other) for way, total in sums.items()}
    assert ((found == sums[rounded_once]) | (found == sums[rounded_twice])).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_products_have_the_bits_of_sums_in_order_for_any_number_of_rows(width):
    factors, table = _drawn(9, 5), _drawn(2, 5, width)
    alone = _drawn(9, width)
    for row in range(9):
        products(alone, np.array([row]), factors, table)
        terms = zip(factors[row], table[1], strict=True)
        assert_is_sum_in_order(alone[row], _drawn(9, width)[row], terms)
    for count in (0, 1, 4, 7):
        rows = np.random.default_rng(count).permutation(9)[:count]
        out, expected = _drawn(9, width), _drawn(9, width)
        products(out, rows, factors, table)
        expected[rows] = alone[rows]
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("width", WIDTHS)
def test_messages_neighbours_and_columns_have_the_bits_of_sums_in_order(width):
    rng = np.random.default_rng(width)
    values, table = _drawn(4, 6), _drawn(8, width)
    values[0, ::2] = 0.0
    sources, rows = rng.integers(0, 6, 10, np.int32), rng.integers(0, 8, 10, np.int32)
    out, start = _drawn(3, width), _drawn(3, width)
    messages(out, values, table, sources, rows)
    sent = [(values[0, sources[m]], table[rows[m]]) for m in range(2, len(rows))]
    assert_is_sum_in_order(out[0], start[0], [(np.float32(1.0), row) for _, row in sent])
    assert_is_sum_in_order(out[1], start[1], sent)
    assert_is_sum_in_order(out[2], start[2], zip(values[:, 3], table, strict=False))


@pytest.mark.parametrize("width", WIDTHS)
def test_pooling_counts_weighted_and_chosen_rows(width):
    rows, none = _drawn(6, width), np.zeros(0, np.int64)
    out = np.full((3, width + 2), 9.0, np.float32)
    weights = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 3.0])
    pooled(rows, weights, none, out)
    counted = rows[weights > 0]
    np.testing.assert_allclose(out[0, 1:-1], weights @ rows, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(out[1:, 1:-1], [counted.max(axis=0), counted.min(axis=0)])
    chosen = np.array([4, 1])
    pooled(rows, np.zeros(0), chosen, out)
    np.testing.assert_array_equal(out[0, 1:-1], rows[4] + rows[1])
    np.testing.assert_array_equal(out[1, 1:-1], rows[chosen].max(axis=0))
    assert (out[:, [0, -1]] == 9.0).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_standardised_rows(width):
    table, mean, factor = _drawn(3, width), _drawn(width + 2), _drawn(width + 2) * 2
    out = np.zeros((3, width + 1), np.float32)
    standardised(out, table, mean, factor)
    np.testing.assert_array_equal(out[:, 1:], (table - mean[2:]) * factor[2:])
    assert not out[:, 0].any()
