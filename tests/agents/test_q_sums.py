"""Sums over the components of actions, and numbers of half precision."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from lagco.agents.halves import narrow, widen
from lagco.agents.network import SLOPE
from lagco.agents.q_sums import range_of_sums, weigh_sums


@njit
def both(base, table, rows, count, components, slope, weights, low, high, out):
    range_of_sums(base, table, rows, count, components, low, high)
    weigh_sums(base, table, rows, count, components, slope, weights, out)


@pytest.mark.parametrize("width", [1, 7, 48, 128, 203])
@pytest.mark.parametrize("components", [1, 3])
def test_sums_of_actions_are_those_of_their_rows(width, components, rng):
    table = rng.normal(size=(12, width)).astype(np.float32)
    base, weights = rng.normal(size=(2, width)).astype(np.float32)
    rows = rng.integers(len(table), size=(30, components))
    low, high = np.empty((2, width), np.float32)
    out = np.full(30, 2.0, np.float32)
    both(base, table, rows.ravel(), 30, components, SLOPE, weights, low, high, out)
    sums = base + table[rows].sum(axis=1)
    np.testing.assert_allclose(low, sums.min(axis=0), atol=1e-5)
    np.testing.assert_allclose(high, sums.max(axis=0), atol=1e-5)
    activated = np.maximum(sums, SLOPE * sums)
    np.testing.assert_allclose(out, 2.0 + activated @ weights, atol=1e-3)


@njit
def widened(numbers, first, count):
    out = np.empty(count, np.float32)
    widen(numbers, first, count, out)
    return out


def test_every_number_of_half_precision_is_widened():
    halves = np.arange(2**16, dtype=np.uint16)
    expected = halves.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(widened(halves, 0, len(halves)), expected)
    np.testing.assert_array_equal(widened(halves, 15_001, 37), expected[15_001:][:37])


def test_numbers_of_single_precision_are_copied(rng):
    numbers = rng.normal(size=50).astype(np.float32)
    np.testing.assert_array_equal(widened(numbers, 3, 20), numbers[3:23])


def narrowed(numbers):
    out = np.empty(len(numbers), np.uint16)
    narrow(numbers, out)
    return out


def test_numbers_become_the_nearest_halves(rng):
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = np.sort(halves[np.isfinite(halves)].astype(np.float32))
    between = (finite[1:] + finite[:-1]) / 2  # as near to the one below as to the one above
    scaled = rng.normal(size=5000) * 10.0 ** rng.integers(-10, 6, size=5000)
    numbers = np.concatenate(
        [finite, between, np.nextafter(between, np.float32(9)), scaled, [np.inf, -np.inf, 65520]]
    ).astype(np.float32)
    with np.errstate(over="ignore"):
        expected = numbers.astype(np.float16)
    np.testing.assert_array_equal(narrowed(numbers), expected.view(np.uint16))
    assert np.isnan(narrowed(np.full(20, np.nan, np.float32)).view(np.float16)).all()
