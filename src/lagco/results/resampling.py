"""Bootstrap intervals over runs and instances together.

What sets a run apart from another (seed, training instances) shows on all instances that it is
tested on, so a resample draws whole runs with replacement, and instances, and a value counts as
often as its run and its instance were drawn. With one instance, or with instances of their own for
every run, this is the stratified bootstrap of runs; with one run, the plain one of instances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.results.statistics import interquartile_mean, mean, quantiles

RESAMPLES = 1000
#: how often each of n things was drawn in each resample: (B, n)
Draws = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Estimated:
    """A figure and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"

    @classmethod
    def of(cls, value: float, resampled: Array) -> Estimated:
        """A figure with the interval of what it was in the resamples that have one."""
        known = resampled[~np.isnan(resampled)]
        if not len(known):
            return cls(value, float("nan"), float("nan"))
        return cls(value, *quantiles(known, 0.025, 0.975))


@dataclass(frozen=True)
class Scores:
    """Values of runs on instances, (N,) each.

    Attributes:
        values: one per run and instance, or more; may be infinite.
        runs: number of the run, from 0.
        instances: index of the instance.
    """

    values: npt.NDArray[np.float64]
    runs: npt.NDArray[np.int64]
    instances: npt.NDArray[np.int64]

    @classmethod
    def of(cls, rows: Iterable[tuple[float, int, int]]) -> Scores:
        """Scores from values with their run and instance."""
        values, runs, instances = zip(*rows, strict=True) if (rows := list(rows)) else ((),) * 3
        return cls(np.array(values, np.float64), np.array(runs, int), np.array(instances, int))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def count(self) -> int:
        """Number of runs."""
        return int(self.runs.max()) + 1 if len(self) else 0

    @property
    def middle(self) -> float:
        """Interquartile mean of all values."""
        return interquartile_mean(self.values)

    def weights(self, seed: int, instances: Draws | None = None) -> Draws:
        """How often each value was drawn in each resample (B, N).

        Args:
            seed: of the draws of runs, and of instances where these are not given.
            instances: how often every index was drawn (B, largest index + 1); to share them with
                other scores.
        """
        if instances is None:
            instances = drawn_instances([self], seed + 1)
        found: Draws = drawn(self.count, seed)[:, self.runs] * instances[:, self.instances]
        return found


@lru_cache(maxsize=64)
def drawn(count: int, seed: int) -> Draws:
    """How often each of `count` things was drawn, in each resample: (B, count)."""
    rng = np.random.default_rng([seed, count])
    found: Draws = rng.multinomial(count, [1 / count] * count, size=RESAMPLES).astype(np.int32)
    found.flags.writeable = False  # it is shared
    return found


def drawn_instances(scores: Sequence[Scores], seed: int = 1) -> Draws:
    """Draws among all instances that any of these has: (B, largest index + 1)."""
    known = np.unique(np.concatenate([one.instances for one in scores]))
    found = np.zeros((RESAMPLES, int(known[-1]) + 1), np.int32)
    found[:, known] = drawn(len(known), seed)
    return found


# -- statistics of resamples


def middles(values: Array, weights: Draws) -> Array:
    """Interquartile means (B,) of values (N,) that count so often (B, N); NaN of none."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[:, order]
    upto = weights.cumsum(axis=1, dtype=np.int64)
    count = upto[:, -1:]
    cut = count // 4
    kept = upto.clip(cut, count - cut) - (upto - weights).clip(cut, count - cut)
    return _weighted_means(values, kept)


def means(values: Array, weights: Draws) -> Array:
    """Means (B,) of values (N,) that count so often (B, N); NaN of none."""
    return _weighted_means(values, weights)


def _weighted_means(values: Array, weights: Array) -> Array:
    finite = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = weights[:, finite] @ values[finite] / weights.sum(axis=1)
    for value in np.unique(values[~finite]):
        found[weights[:, values == value].any(axis=1)] = value
    return found


# -- figures with intervals


def estimated_middle(scores: Scores) -> Estimated:
    """Interquartile mean."""
    return Estimated.of(scores.middle, middles(scores.values, scores.weights(2)))


def estimated_mean(scores: Scores) -> Estimated:
    """Arithmetic mean."""
    return Estimated.of(mean(scores.values), means(scores.values, scores.weights(2)))


def resampled_difference(first: Scores, second: Scores, seed: int = 1) -> Array:
    """Interquartile mean of the first minus that of the second in every resample (B,).

    Both on the same draws of instances; 0 where both are infinite, so that neither is better.
    """
    shared = drawn_instances([first, second], seed)
    a, b = (
        middles(scores.values, scores.weights(seed + 1 + place, shared))
        for place, scores in enumerate((first, second))
    )
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(a) & (a == b), 0.0, a - b)


@dataclass(frozen=True)
class Duel:
    """Two methods on the instances that both were tested on.

    Attributes:
        instances: number of these.
        won: share of pairs of runs on which the first is ahead, mean over instances; ties count
            half.
        resampled: the same in every resample (B,).
    """

    instances: int
    won: float
    resampled: Array

    @classmethod
    def between(cls, first: Scores, second: Scores, seed: int = 1) -> Duel | None:
        """The comparison of two methods; None without an instance in common."""
        shared = np.intersect1d(first.instances, second.instances)
        if not len(shared):
            return None
        a, b = (_matrix(scores, shared) for scores in (first, second))
        ahead = np.where(a[:, None] == b[None], 0.5, a[:, None] > b[None])
        known = ~(np.isnan(a)[:, None] | np.isnan(b)[None])
        ahead = np.where(known, ahead, 0.0)
        counts = len(shared), first.count, second.count
        draws = [drawn(count, seed + place) for place, count in enumerate(counts)]
        won, of = (
            np.einsum("bi,br,bs,rsi->b", *draws, part, optimize=True)
            for part in (ahead, known.astype(float))
        )
        with np.errstate(invalid="ignore"):
            return cls(len(shared), float(ahead.sum() / known.sum()), won / of)


def _matrix(scores: Scores, instances: Array) -> Array:
    """Values by run and instance (R, I); NaN where there is none."""
    found = np.full((scores.count, len(instances)), np.nan)
    kept = np.isin(scores.instances, instances)
    places = np.searchsorted(instances, scores.instances[kept])
    found[scores.runs[kept], places] = scores.values[kept]
    return found
