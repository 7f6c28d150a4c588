"""The smallest of many costs, beside a stable sort."""

import numpy as np
import pytest

from lagco.search.smallest_costs import smallest


def _costs(kind, rng, n):
    costs = rng.normal(size=n)
    if kind == "ties":
        costs = np.round(costs, 1)
    elif kind == "alike":
        costs[:] = 0.25
    elif kind == "outlier":  # all others share a bucket
        costs[n // 2] = 1e9
    elif kind == "far apart":
        costs = np.clip(costs, -1.0, 1.0) * 1.7e308
    elif kind == "whole":
        costs = rng.integers(-3, 3, n).astype(float)
    costs[rng.random(n) < 0.2] = np.inf
    return costs


@pytest.mark.parametrize("kind", ["spread", "ties", "alike", "outlier", "far apart", "whole"])
@pytest.mark.parametrize("count", [1, 16, 31, 32, 100, 256, 2000])
def test_the_smallest_come_by_cost_and_then_by_position(kind, count):
    rng = np.random.default_rng(0)
    for n in (1, 40, 300, 1500):
        costs = _costs(kind, rng, n)
        wanted = np.argsort(costs, kind="stable")[: min(count, int((costs < np.inf).sum()))]
        assert smallest(costs, count).tolist() == wanted.tolist()


def test_costs_that_are_no_numbers_are_left_out():
    costs = np.tile([np.nan, 2.0, np.inf, 1.0], 50)
    wanted = [*range(3, 200, 4), *range(1, 200, 4)]
    assert smallest(costs, 150).tolist() == wanted
    assert smallest(np.full(80, np.inf), 64).tolist() == []
