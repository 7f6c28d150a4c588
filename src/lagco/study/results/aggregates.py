"""Figures over several problems at once: aggregate scores, profiles, ranks, pairwise comparisons.

All of them are over samples by problem: the values of a method's runs on unseen instances. The
bootstrap draws runs and instances within each problem.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from lagco.results.resampling import Duel, Estimated, Scores, middles, resampled_difference
from lagco.results.statistics import interquartile_mean, mean

#: values of a method by problem
Sample: TypeAlias = Mapping[str, Scores]


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
    values = np.concatenate([group.values for group in groups])
    weights = [group.weights(2 + 7 * place) for place, group in enumerate(groups)]
    return Estimated.of(
        interquartile_mean(values), middles(values, np.concatenate(weights, axis=1))
    )


def mean_middle(sample: Sample, parts: Sequence[str]) -> Estimated:
    """Interquartile mean on each problem, or of other parts, mean over these.

    Gaps of different problems differ by orders of magnitude, so that an interquartile mean over all
    of them together would be about a few problems alone. Infinite where a problem is not solved.
    """
    found = [sample[part] for part in parts]
    drawn = [
        middles(scores.values, scores.weights(2 + 7 * place)) for place, scores in enumerate(found)
    ]
    return Estimated.of(mean([scores.middle for scores in found]), np.mean(drawn, axis=0))


def mean_difference(first: Sample, second: Sample, parts: Sequence[str]) -> Estimated:
    """Interquartile mean of the first minus that of the second on each part, mean over these."""
    drawn, values = [], []
    for place, part in enumerate(parts):
        a, b = first[part].middle, second[part].middle
        values.append(0.0 if np.isinf(a) and a == b else a - b)
        drawn.append(resampled_difference(first[part], second[part], 1 + 7 * place))
    return Estimated.of(mean(values), np.mean(drawn, axis=0))


def clearly_best(
    samples: Mapping[str, Sample], parts: Sequence[str], *, smallest: bool = False
) -> str | None:
    """The method that is better than every other one on some parts together, by intervals.

    None where the interval of the difference to any other method holds 0, or rests on a single run
    of either.
    """
    sign = -1.0 if smallest else 1.0
    levels = {m: sign * mean([sample[p].middle for p in parts]) for m, sample in samples.items()}
    if len(levels) < 2 or any(samples[m][p].count < 2 for m in samples for p in parts):
        return None
    best, *others = sorted(levels, key=lambda m: -levels[m])
    for other in others:  # the closest first
        found = mean_difference(samples[best], samples[other], parts)
        if min(sign * found.low, sign * found.high) <= 0:
            return None
    return best


def profile(sample: Sample, problems: Sequence[str], levels: Sequence[float]) -> list[float]:
    """Share of instances with a score of at least each level, mean over problems."""
    shares = [
        [float((sample[problem].values >= level).mean()) for level in levels]
        for problem in problems
    ]
    return [float(share) for share in np.mean(shares, axis=0)]


def mean_ranks(samples: Mapping[str, Sample], problems: Sequence[str]) -> dict[str, float]:
    """Rank of every method by its interquartile mean, mean over problems; 1 is best, ties share."""
    from scipy.stats import rankdata  # slow to import

    ranks = [
        rankdata([-sample[problem].middle for sample in samples.values()]) for problem in problems
    ]
    return dict(zip(samples, np.mean(ranks, axis=0).tolist(), strict=True))


def better(first: Sample, second: Sample, problems: Sequence[str]) -> Estimated:
    """Probability that the first does better than the second, mean over problems.

    On a random instance that both were tested on, with a random run of each; ties count half. A
    paired comparison: instances differ more from each other than methods do on one of them.
    """
    found = [
        Duel.between(first[problem], second[problem], seed=1 + 7 * place)
        for place, problem in enumerate(problems)
    ]
    duels = [duel for duel in found if duel is not None]
    if not duels:
        return Estimated(0.5, 0.0, 1.0)
    resampled = np.mean([duel.resampled for duel in duels], axis=0)
    return Estimated.of(mean([duel.won for duel in duels]), resampled)
