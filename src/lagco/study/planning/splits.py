"""Training instances of a run: the paper's four strategies and five folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lagco.agents.config import STRATEGIES
from lagco.errors import UsageError, suggest
from lagco.results.numbers import of_things
from lagco.study.settings import TRAINING_SEEDS

#: runs per strategy, and shares of the data in `varied`
FOLDS = 5


def numbered(seeds: Sequence[int]) -> list[tuple[int, int]]:
    """Number and seed of the runs of a strategy.

    Some of the paper's seeds keep their numbers, so that a subset of a study is a part of it.
    """
    if set(seeds) <= set(TRAINING_SEEDS):
        return [(TRAINING_SEEDS.index(seed), seed) for seed in seeds]
    return list(enumerate(seeds))


def training_indices(sizes: Sequence[int], strategy: str, fold: int, seed: int = 42) -> list[int]:
    """Indices of the training instances of run `fold` of a strategy.

    ``small``, ``medium`` and ``large`` train on one instance: the smallest, the middle one or the
    largest of those that the runs before it have not taken. ``varied`` trains on a fifth; the
    fifths of five runs do not overlap.

    Args:
        sizes: of all instances of the data set.
        strategy: one of the four.
        fold: number of the run.
        seed: of the shuffle into fifths.
    """
    if strategy not in STRATEGIES:
        raise UsageError(suggest("strategy", strategy, STRATEGIES))
    if strategy == "varied":
        share = len(sizes) // FOLDS
        if not share:
            raise UsageError(
                f"{of_things(len(sizes), 'instances')} cannot be divided into {FOLDS} shares; "
                f"take at least {FOLDS} instances or leave out the strategy 'varied'"
            )
        order = np.random.default_rng(seed).permutation(len(sizes))
        first = (fold % FOLDS) * share
        return sorted(int(index) for index in order[first : first + share])
    pool = sorted(range(len(sizes)), key=lambda index: (sizes[index], index))
    if fold >= len(pool):
        raise UsageError(
            f"run {fold + 1} of {strategy!r} finds no instance left among {len(pool)}; "
            "take more instances or fewer seeds"
        )
    for _ in range(fold):
        pool.pop(_place(strategy, len(pool)))
    return [pool[_place(strategy, len(pool))]]


def _place(strategy: str, count: int) -> int:
    return {"small": 0, "medium": count // 2, "large": count - 1}[strategy]
