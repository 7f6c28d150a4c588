"""Figures over several problems at once: aggregate scores, profiles, ranks, pairwise comparisons.

All of them are over samples by problem: the values of a method on the unseen instances of its
runs, of which the bootstrap draws within each problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lagco.results.statistics import (
    interquartile_mean,
    mean,
    quantiles,
    stratified_interval,
)

_RESAMPLES = 400
#: values of a method by problem
Sample: TypeAlias = Mapping[str, Sequence[float]]
#: values of a method by problem and instance
Paired: TypeAlias = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Estimated:
    """A figure and its 95 % bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def shared_problems(samples: Mapping[str, Sample]) -> list[str]:
    """Problems over which methods are compared, in the order of the first method.

    Those on which at least half of the methods were tested, where at least two methods were tested
    on all of these; else those on which every method was. So a method whose runs are not all there
    yet is left out of the comparison, instead of taking its problems out.
    """
    counts = Counter(
        p for sample in samples.values() for p, values in sample.items() if len(values)
    )
    ordered = [p for p in next(iter(samples.values()), {}) if counts[p]]
    usual = [p for p in ordered if 2 * counts[p] >= len(samples)]
    whole = [m for m, sample in samples.items() if all(len(sample.get(p, ())) for p in usual)]
    if len(whole) >= 2:
        return usual
    return [p for p in ordered if counts[p] == len(samples)]


def aggregate(sample: Sample, problems: Sequence[str]) -> Estimated:
    """Interquartile mean over all problems together."""
    groups = [sample[problem] for problem in problems]
    low, high = stratified_interval(groups, resamples=_RESAMPLES)
    return Estimated(interquartile_mean(np.concatenate(groups)), low, high)


def profile(sample: Sample, problems: Sequence[str], levels: Sequence[float]) -> list[float]:
    """Share of instances with a score of at least each level, mean over problems."""
    shares = [
        [float((np.asarray(sample[problem]) >= level).mean()) for level in levels]
        for problem in problems
    ]
    return [float(share) for share in np.mean(shares, axis=0)]


def mean_ranks(samples: Mapping[str, Sample], problems: Sequence[str]) -> dict[str, float]:
    """Rank of every method by its interquartile mean, mean over problems; 1 is best, ties share."""
    from scipy.stats import rankdata  # slow to import

    ranks = [
        rankdata([-interquartile_mean(sample[problem]) for sample in samples.values()])
        for problem in problems
    ]
    return dict(zip(samples, np.mean(ranks, axis=0).tolist(), strict=True))


def better(first: Paired, second: Paired, problems: Sequence[str], seed: int = 0) -> Estimated:
    """Share of instances on which the first does better than the second, mean over problems.

    Only instances that both were tested on count, ties half. A paired comparison: instances differ
    more from each other than methods do on one of them.
    """
    rng = np.random.default_rng(seed)
    wins = []
    for problem in problems:
        shared = sorted(first[problem].keys() & second[problem].keys())
        pairs = np.array([(first[problem][i], second[problem][i]) for i in shared]).reshape(-1, 2)
        if len(pairs):
            wins.append(np.where(pairs[:, 0] == pairs[:, 1], 0.5, pairs[:, 0] > pairs[:, 1]))
    if not wins:
        return Estimated(0.5, 0.0, 1.0)
    drawn = [
        mean([float(won[rng.integers(len(won), size=len(won))].mean()) for won in wins])
        for _ in range(_RESAMPLES)
    ]
    return Estimated(mean([float(w.mean()) for w in wins]), *quantiles(drawn, 0.025, 0.975))
