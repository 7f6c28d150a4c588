"""Statistics agree with scipy, and with the formulas of rliable, on the same data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lagco.errors import UsageError
from lagco.results.statistics import (
    bootstrap_interval,
    interquartile_mean,
    mean,
    power_law,
    shapiro_wilk,
    summarise,
)


@pytest.fixture
def scores():
    """Five runs on 101 instances: (5, 101)."""
    return np.random.default_rng(1).beta(5, 2, size=(5, 101))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 17, 100, 505])
def test_interquartile_mean_is_the_trimmed_mean(count):
    values = np.random.default_rng(count).normal(size=count)
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_interquartile_mean_over_runs_and_tasks_is_rliables(scores):
    # rliable.metrics.aggregate_iqm
    assert interquartile_mean(scores.ravel()) == pytest.approx(
        stats.trim_mean(scores, proportiontocut=0.25, axis=None)
    )


@pytest.mark.parametrize("statistic", [interquartile_mean, mean])
def test_bootstrap_agrees_with_scipy(scores, statistic):
    values = scores[0]
    ours = bootstrap_interval(values, statistic, resamples=4000)
    theirs = stats.bootstrap(
        (values,),
        lambda x: statistic(x),
        vectorized=False,
        n_resamples=4000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    width = theirs.high - theirs.low
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.06 * width)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 50])
def test_the_quick_bootstrap_is_the_plain_one(count):
    values = np.random.default_rng(count).normal(size=count)
    quick = bootstrap_interval(values)
    plain = bootstrap_interval(values, lambda sample: interquartile_mean(sample))
    assert quick == pytest.approx(plain)


def test_shapiro_wilk_is_scipys():
    rng = np.random.default_rng(4)
    for values in (rng.normal(size=80), rng.exponential(size=80)):
        assert shapiro_wilk(values) == pytest.approx(stats.shapiro(values).pvalue)
    assert shapiro_wilk([0.0] * 30) is None  # nothing to test; the paper shows p = 1.00 there
    assert shapiro_wilk([1.0, 2.0]) is None


def test_summary(scores):
    found = summarise(scores.ravel())
    assert (found.p16, found.p84) == pytest.approx(tuple(np.percentile(scores, [16, 84])))
    assert found.mean == pytest.approx(scores.mean())
    assert found.mean_interval[0] < found.mean < found.mean_interval[1]
    assert found.count == scores.size
    assert summarise([]) is None


@pytest.mark.parametrize("alpha", [-0.5, 0.0, 0.17, 1.81, 4.68])
def test_power_law_recovers_the_exponent(alpha):
    rng = np.random.default_rng(5)
    sizes = np.array([10, 20, 50, 100, 200, 500, 1000])
    exact = power_law(sizes, 3.0 * sizes**alpha)
    assert exact.alpha == pytest.approx(alpha, abs=1e-9)
    assert exact.factor == pytest.approx(3.0)
    covered = 0
    for _ in range(200):
        fit = power_law(sizes, 3.0 * sizes**alpha * np.exp(rng.normal(0, 0.1, len(sizes))))
        covered += fit.low <= alpha <= fit.high
    assert 0.9 <= covered / 200 <= 0.99
    assert fit.points == 7


def test_power_law_of_medians_of_noisy_times():
    """As in the study: many skewed samples per size, fitted by their medians."""
    rng = np.random.default_rng(6)
    sizes = [10, 30, 100, 300]
    medians = [np.median(5.0 * n**1.44 * rng.lognormal(0, 0.4, 400)) for n in sizes]
    fit = power_law(sizes, medians)
    assert fit.alpha == pytest.approx(1.44, abs=0.05)
    assert fit.r2 > 0.99


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([10, 20], [1, 2], "at least three sizes"),
        ([10, 10, 20], [1, 2, 3], "at least three sizes"),
        ([10, 20, 30], [1, 0, 3], "positive"),
    ],
)
def test_power_law_refuses(x, y, message):
    with pytest.raises(UsageError, match=message):
        power_law(x, y)
