"""Compiled functions whose arguments are read once."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, types

from lagco.arrays import Array
from lagco.runtime.bound_arguments import bind, opened


class Sums(NamedTuple):
    total: Array
    rows: Array


@njit
def add(arguments, times):
    sums, factor, scaled, (first, second) = opened(arguments)
    for r in range(sums.rows.shape[0]):
        sums.total[0] += times * (factor if scaled else 1) * sums.rows[r, 0]
    second[:] = first
    return sums.total[0]


def arguments(rows):
    return Sums(np.zeros(1), rows), 3, True, (np.arange(2), np.zeros(2, np.float32))


def test_arrays_are_read_and_written_where_they_are():
    rows = np.ones((4, 2))
    given = arguments(rows)
    call = bind(add, given, types.int64)
    assert call(2) == 24.0
    rows[:, 0] = 2.0
    assert call(1) == 24.0 + 24.0
    assert given[0].total[0] == 48.0
    np.testing.assert_array_equal(given[3][1], [0.0, 1.0])


def test_arguments_live_as_long_as_the_call():
    call = bind(add, arguments(np.ones((1000, 2))), types.int64)
    others = [np.full((1000, 2), 7.0) for _ in range(100)]
    assert call(1) == 3000.0
    assert len(others) == 100


@pytest.mark.parametrize("cut", [np.s_[:, ::2], np.s_[::2, ::-1]])
def test_arrays_of_other_types_and_layouts_are_told_apart(cut):
    rows = np.arange(24, dtype=np.float32).reshape(4, 6)[cut]
    assert bind(add, arguments(rows), types.int64)(1) == 3 * rows[:, 0].sum()
    assert bind(add, arguments(rows.astype(np.int8)), types.int64)(1) == 3 * rows[:, 0].sum()


def test_a_copy_has_arguments_of_its_own():
    given = arguments(np.ones((4, 2)))
    holder = {"call": bind(add, given, types.int64), "total": given[0].total}
    other = copy.deepcopy(holder)
    assert other["call"](1) == 12.0
    assert other["total"][0] == 12.0
    assert given[0].total[0] == 0.0


@njit
def count(arguments, given):
    (before,) = opened(arguments)
    return before[0] + len(given)


def test_other_arguments_may_have_other_types():
    bound = (np.ones(1),)
    for number in (1, 2, 3):
        call = bind(count, bound, types.UniTuple(types.int64, number))
        assert call((5,) * number) == 1 + number


PROGRAM = """
import numpy as np
from lagco.latent import kernels
from lagco.runtime.bound_arguments import bind

floats = np.ones(3, np.float32)
bind(kernels.standardise, (floats, floats, floats, np.float32(5.0), floats))()
stats = kernels.standardise.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_functions_of_bound_arguments_are_compiled_once_for_all_processes(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for expected in ("0 1", "1 0"):
        found = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
        )
        assert found.stdout.strip() == expected, found.stderr
