"""Scores of runs: selection among episodes, samples over instances, and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.results.evaluation import Evaluation
from lagco.results.measures import MEASURES, RETURN, SELECTIONS, counted
from lagco.results.resampling import Scores
from lagco.results.statistics import (
    bootstrap_interval,
    interquartile_mean,
    mean,
    quantiles,
    train_test_gap,
)
from lagco.study.records.ledger import Record, significant


def summary(evaluation: Evaluation) -> dict[str, Any]:
    """Interquartile means over unseen and seen instances, and the difference of the best."""
    found: dict[str, Any] = {"delta": {}}
    for part, seen in (("unseen", False), ("seen", True)):
        results = [result for result in evaluation.results if result.seen == seen]
        found[part] = {}
        for measure in (*MEASURES, RETURN):
            rows = [
                [getattr(episode, measure) for episode in result.episodes]
                for result in results
                if measure in result.measures
            ]
            found[part][measure] = {
                selection: significant(middle(_counted(rows, measure, selection))[0])
                for selection in SELECTIONS
            }
    for measure in (*MEASURES, RETURN):
        unseen, seen_value = (found[part][measure]["best"] for part in ("unseen", "seen"))
        known = unseen is not None and seen_value is not None
        found["delta"][measure] = significant(unseen - seen_value) if known else None
    return found


def values_of(
    records: Iterable[Record], measure: str, selection: str = "best", *, seen: bool = False
) -> list[float]:
    """Values of a measure over the unseen (or seen) instances of runs, all together.

    An instance that was refused or not solved counts as worst: score 0, an infinite gap.
    """
    rows = (instance[measure] for instance in _instances(records, measure, seen))
    return _counted(rows, measure, selection)


def scores_of(
    records: Iterable[Record], measure: str, selection: str = "best", *, seen: bool = False
) -> Scores:
    """The same values with the numbers of their runs and instances."""
    return Scores.of(
        (value, run, int(instance["index"]))
        for run, record in enumerate(records)
        for instance in _instances([record], measure, seen)
        for value in counted(instance[measure], measure, selection)
    )


def _instances(
    records: Iterable[Record], measure: str, seen: bool = False
) -> Iterator[Mapping[str, Any]]:
    """Entries of records about the unseen (or seen) instances that have a measure."""
    for record in records:
        for instance in record.result["instances"]:
            if instance["seen"] == seen and measure in instance["measures"]:
                yield instance


def _counted(rows: Iterable[Sequence[float | None]], measure: str, selection: str) -> list[float]:
    return [value for row in rows for value in counted(row, measure, selection)]


def solved(records: Iterable[Record]) -> tuple[int, int]:
    """Number of unseen instances with a solution in any of their episodes, and of all of them."""
    entries = (entry for record in records for entry in record.result["instances"])
    found = [any(v is not None for v in e["objective_best"]) for e in entries if not e["seen"]]
    return sum(found), len(found)


def middle(
    values: Sequence[float],
) -> tuple[float | None, float | None, float | None]:
    """Interquartile mean, 16th and 84th percentile; None each where it is not finite."""
    if not values:
        return None, None, None
    found = interquartile_mean(values), *quantiles(values, 0.16, 0.84)
    iqm, p16, p84 = (value if np.isfinite(value) else None for value in found)
    return iqm, p16, p84


def transfer(records: Sequence[Record], measure: str) -> float | None:
    """Train-test gap: interquartile mean over unseen minus that over seen instances.

    Of the best episodes; None where either is missing.
    """
    unseen, seen = (values_of(records, measure, seen=which) for which in (False, True))
    difference = train_test_gap(unseen, seen)
    return difference if difference is not None and np.isfinite(difference) else None


def instance_scores(records: Iterable[Record], measure: str = "score") -> dict[int, float]:
    """Mean over runs of the best episode's value on every instance that was unseen to them."""
    found: dict[int, list[float]] = {}
    for instance in _instances(records, measure):
        values = counted(instance[measure], measure, "best")
        found.setdefault(int(instance["index"]), []).extend(values)
    return {index: mean(values) for index, values in sorted(found.items())}


@dataclass(frozen=True)
class Comparison:
    """Scores of one method minus those of another on the same instances.

    Attributes:
        instances: number of instances that both were tested on.
        difference: mean of the differences.
        low: lower end of its 95 % bootstrap interval.
        high: upper end.
        p: p value of the Wilcoxon signed-rank test.
    """

    instances: int
    difference: float
    low: float
    high: float
    p: float


def compare(first: Mapping[int, float], second: Mapping[int, float]) -> Comparison | None:
    """Paired comparison of scores by instance; None below three instances in common."""
    from scipy import stats  # slow to import

    shared = sorted(first.keys() & second.keys())
    if len(shared) < 3:
        return None
    differences = np.array([first[index] - second[index] for index in shared])
    p = 1.0 if not differences.any() else float(stats.wilcoxon(differences).pvalue)
    low, high = bootstrap_interval(differences, mean)
    return Comparison(len(shared), mean(differences), low, high, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction of p values for their number."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
