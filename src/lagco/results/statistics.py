"""Statistics for few runs: interquartile means, bootstrap intervals, power laws."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.errors import UsageError

Array: TypeAlias = npt.NDArray[np.float64]
Values = Sequence[float] | Array
Statistic: TypeAlias = Callable[[Array], float]


def interquartile_mean(values: Values) -> float:
    """Mean of the middle half: a quarter (rounded down) is cut off at each end."""
    array = np.asarray(values, dtype=np.float64)
    count, cut = len(array), len(array) // 4
    if not count:
        return float("nan")
    if cut:  # the middle has to be in its place, not in order
        array = np.partition(array, (cut, count - cut - 1))
    return float(array[cut : count - cut].mean())


def mean(values: Values) -> float:
    """Arithmetic mean."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.sum() / len(array)) if len(array) else float("nan")


def bootstrap_interval(
    values: Values,
    statistic: Statistic = interquartile_mean,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of a statistic.

    Args:
        values: the sample.
        statistic: from a sample to a number.
        level: of confidence.
        resamples: how many.
        seed: of the resampling.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if not len(ordered):
        return float("nan"), float("nan")
    n = len(ordered)
    drawn = np.random.default_rng(seed).integers(n, size=(resamples, n), dtype=np.int32)
    if statistic is interquartile_mean:  # sorting places in the sorted sample is quicker
        middle = np.sort(drawn, axis=1)[:, n // 4 : n - n // 4]
        found = ordered[middle].mean(axis=1)
    elif statistic is mean:
        found = ordered[drawn].mean(axis=1)
    else:
        found = np.array([statistic(row) for row in ordered[drawn]])
    return _percentiles(found, level)


def _percentiles(found: Array, level: float) -> tuple[float, float]:
    return quantiles(found, (1 - level) / 2, (1 + level) / 2)


def quantiles(values: Values, low: float, high: float) -> tuple[float, float]:
    """Two quantiles of a sample that may hold infinite values."""
    with np.errstate(invalid="ignore"):
        found = np.quantile(values, [low, high])
    # between two infinite values, or next to one
    found[np.isnan(found)] = -np.inf if np.isneginf(values).any() else np.inf
    return float(found[0]), float(found[1])


def train_test_gap(unseen: Values, seen: Values) -> float | None:
    """Interquartile mean over unseen instances minus that over seen ones; None without either."""
    if not (len(unseen) and len(seen)):
        return None
    return interquartile_mean(unseen) - interquartile_mean(seen)


def shapiro_wilk(values: Values) -> float | None:
    """The p value of the Shapiro–Wilk test for normality; None where there is nothing to test.

    That is below 3 values, where all are equal, and with infinite ones. Above 5000 values scipy's p
    is an approximation, and so is this one.
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 3 or not np.isfinite(array).all() or np.ptp(array) == 0.0:
        return None
    from scipy import stats  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(stats.shapiro(array).pvalue)


@dataclass(frozen=True)
class Summary:
    """Summary statistics of a sample of scores, as shown in tables.

    Attributes:
        count: number of values.
        iqm: interquartile mean.
        mean: mean.
        p16: 16th percentile.
        p84: 84th percentile.
        iqm_interval: 95 % bootstrap interval of the interquartile mean.
        mean_interval: 95 % bootstrap interval of the mean (the one that the paper shows).
        shapiro_p: p value of the Shapiro–Wilk test; None where there is nothing to test, or it was
            not asked for.
    """

    count: int
    iqm: float
    mean: float
    p16: float
    p84: float
    iqm_interval: tuple[float, float]
    mean_interval: tuple[float, float]
    shapiro_p: float | None


def summarise(values: Values, *, resamples: int = 2000, normality: bool = True) -> Summary | None:
    """All statistics of a sample; None if it is empty.

    Args:
        values: the sample; infinite ones are sorted to the end and may leave no finite mean.
        resamples: of the bootstrap.
        normality: whether to test for it, which takes a slow import.
    """
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return None
    p16, p84 = quantiles(array, 0.16, 0.84)
    return Summary(
        count=len(array),
        iqm=interquartile_mean(array),
        mean=mean(array),
        p16=p16,
        p84=p84,
        iqm_interval=bootstrap_interval(array, interquartile_mean, resamples=resamples),
        mean_interval=bootstrap_interval(array, mean, resamples=resamples),
        shapiro_p=shapiro_wilk(array) if normality else None,
    )


@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x ** alpha, fitted by least squares between logarithms.

    Attributes:
        alpha: the exponent.
        low: lower end of its confidence interval.
        high: upper end.
        factor: y at x = 1.
        r2: share of the variance of log y that the law explains.
        points: how many were fitted.
    """

    alpha: float
    low: float
    high: float
    factor: float
    r2: float
    points: int


def power_law(x: Values, y: Values, *, level: float = 0.95) -> PowerLaw:
    """Fit a power law through at least three points; the interval is Student's."""
    from scipy import stats  # slow to import

    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(a) != len(b) or len(np.unique(a)) < 3:
        raise UsageError(
            f"a power law needs at least three sizes, here are {len(np.unique(a))} "
            f"({len(a)} x and {len(b)} y values)"
        )
    if not ((a > 0).all() and (b > 0).all()):
        raise UsageError("a power law is fitted to positive values only")
    fit = stats.linregress(np.log(a), np.log(b))
    half = float(stats.t.ppf((1 + level) / 2, len(a) - 2)) * float(fit.stderr)
    return PowerLaw(
        alpha=float(fit.slope),
        low=float(fit.slope - half),
        high=float(fit.slope + half),
        factor=math.exp(float(fit.intercept)),
        r2=float(fit.rvalue) ** 2,
        points=len(a),
    )
