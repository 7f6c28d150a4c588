"""Intervals over runs and instances: hand-made cases, and those that rliable covers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from lagco.results.resampling import (
    RESAMPLES,
    Duel,
    Scores,
    drawn,
    estimated_mean,
    estimated_middle,
    means,
    middles,
)
from lagco.results.statistics import bootstrap_interval, interquartile_mean
from lagco.study.results.aggregates import aggregate


def scores_of(matrix):
    """Scores of runs (rows) on instances (columns); NaN where a run was trained on it."""
    return Scores.of(
        (value, run, instance)
        for run, row in enumerate(matrix)
        for instance, value in enumerate(row)
        if not np.isnan(value)
    )


@pytest.fixture
def matrix():
    """Five runs on 30 instances, which agree on what is hard, and differ as runs do."""
    rng = np.random.default_rng(1)
    return rng.normal(size=(5, 1)) + rng.normal(size=30) + 0.1 * rng.normal(size=(5, 30))


def test_a_resample_repeats_whole_runs_and_instances(matrix):
    """Statistics by counts are those of the repeated rows and columns."""
    matrix[0, :7] = np.nan
    scores = scores_of(matrix)
    weights = scores.weights(3)
    runs, instances = drawn(5, 3), drawn(30, 4)
    for b in range(0, RESAMPLES, 100):
        repeated = np.repeat(np.repeat(matrix, runs[b], axis=0), instances[b], axis=1)
        values = repeated[~np.isnan(repeated)]
        assert middles(scores.values, weights)[b] == pytest.approx(interquartile_mean(values))
        assert means(scores.values, weights)[b] == pytest.approx(values.mean())


def test_the_interval_is_that_of_all_equally_likely_resamples():
    """Two runs and two instances: 16 of them, listed by hand."""
    matrix = np.array([[0.0, 1.0], [4.0, 9.0]])
    every = [
        matrix[np.ix_(rows, columns)].mean()
        for rows in product((0, 1), repeat=2)
        for columns in product((0, 1), repeat=2)
    ]
    scores = scores_of(matrix)
    found = means(scores.values, scores.weights(2))
    assert set(np.round(found, 9)) == set(np.round(every, 9))
    shares = [np.isclose(found, value).mean() for value in np.unique(every)]
    expected = [np.isclose(every, value).mean() for value in np.unique(every)]
    assert shares == pytest.approx(expected, abs=0.05)
    interval = estimated_mean(scores)
    assert (interval.value, interval.low, interval.high) == (3.5, 0.0, 9.0)


def test_one_instance_each_is_the_stratified_bootstrap_of_rliable():
    """There runs alone are drawn; rliable draws runs for every task by itself."""
    runs = np.random.default_rng(2).normal(size=(9, 1))
    ours = estimated_middle(scores_of(runs))
    assert ours.value == pytest.approx(stats.trim_mean(runs, 0.25, axis=None))
    # rliable.library.StratifiedBootstrap with rliable.metrics.aggregate_iqm
    rng, found = np.random.default_rng(7), []
    for _ in range(2000):
        rows = rng.integers(len(runs), size=runs.shape)
        found.append(stats.trim_mean(np.take_along_axis(runs, rows, axis=0), 0.25, axis=None))
    low, high = np.percentile(found, [2.5, 97.5])
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_problems_are_strata_as_rliables_tasks_are():
    """Three problems with one instance each: runs are drawn within each of them."""
    runs = np.random.default_rng(4).normal(size=(5, 3)) + np.array([0.0, 3.0, 9.0])
    ours = aggregate({str(p): scores_of(runs[:, p : p + 1]) for p in range(3)}, ["0", "1", "2"])
    rng, found = np.random.default_rng(7), []
    for _ in range(2000):
        rows = rng.integers(len(runs), size=runs.shape)
        found.append(stats.trim_mean(np.take_along_axis(runs, rows, axis=0), 0.25, axis=None))
    low, high = np.percentile(found, [2.5, 97.5])
    assert ours.value == pytest.approx(stats.trim_mean(runs, 0.25, axis=None))
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.12 * (high - low))


def test_one_run_is_the_plain_bootstrap_of_instances():
    values = np.random.default_rng(3).normal(size=60)
    ours = estimated_middle(scores_of(values[None]))
    low, high = bootstrap_interval(values)
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_runs_that_differ_widen_the_interval(matrix):
    """Drawing instances alone, as if runs were one, hides what another seed would change."""
    found = estimated_middle(scores_of(matrix))
    low, high = bootstrap_interval(matrix.ravel())
    assert found.high - found.low > 1.5 * (high - low)
    # with runs that are alike, instances decide
    alike = np.repeat(matrix[:1], 5, axis=0)
    both, one = estimated_middle(scores_of(alike)), estimated_middle(scores_of(alike[:1]))
    assert both.high - both.low == pytest.approx(one.high - one.low, rel=0.15)


def test_infinite_gaps_count():
    scores = scores_of(np.array([[1.0, 2.0, 3.0, np.inf, np.inf, np.inf, np.inf, np.inf]]))
    found = estimated_middle(scores)
    assert (found.value, found.high) == (np.inf, np.inf)
    assert estimated_middle(scores_of(np.full((2, 3), np.inf))).low == np.inf


def test_a_duel_is_over_all_pairs_of_runs_on_each_instance():
    first = np.array([[3.0, 1.0, 5.0], [2.0, 2.0, np.nan]])
    second = np.array([[2.0, 1.0, 9.0], [2.5, 0.0, 9.0]])
    found = Duel.between(scores_of(first), scores_of(second))
    # wins of the first over both runs of the second, run by run: ties count half
    by_hand = [1.0, 1.0, 0.5, 0.0, 0.5, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert found.instances == 3 and found.won == pytest.approx(np.mean(by_hand))
    other = Duel.between(scores_of(second), scores_of(first))
    assert found.won + other.won == pytest.approx(1.0)
    assert Duel.between(scores_of(first[:, :1]), Scores.of([(1.0, 0, 7)])) is None


def test_a_duel_without_draws_of_instances_is_mann_whitneys():
    # rliable.metrics.probability_of_improvement, for one task
    rng = np.random.default_rng(5)
    first, second = rng.integers(10, size=(20, 1)) / 10, rng.integers(8, size=(15, 1)) / 10
    statistic = stats.mannwhitneyu(first[:, 0], second[:, 0], alternative="greater").statistic
    found = Duel.between(scores_of(first), scores_of(second))
    assert found.won == pytest.approx(statistic / (20 * 15))
