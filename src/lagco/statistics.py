"""Summaries of scores that stay honest with few runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Values = Sequence[float] | npt.NDArray[np.float64]


def interquartile_mean(values: Values) -> float:
    """Mean of the middle half: a quarter (rounded down) is cut off at each end."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean()) if len(ordered) else float("nan")


def bootstrap_interval(
    values: Values,
    statistic: Callable[[npt.NDArray[np.float64]], float] = interquartile_mean,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of a statistic."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    draws = array[rng.integers(len(array), size=(resamples, len(array)))]
    found = [statistic(draw) for draw in draws]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
