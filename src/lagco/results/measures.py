"""Measures of a result: their names, their direction, and their worst values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

#: measures of an episode: scores of the final and of the best state on both scales, and the gap of
#: the best state to the solver's value in percent
MEASURES = ("score", "score_best", "solver_score", "solver_score_best", "gap")
#: sum of an episode's rewards, which instances without a reference are measured by
RETURN = "episode_return"
#: solver score of the best state of an episode from the problem's `compared_start`
START_SCORE = "start_score"
#: which of the episodes on an instance count
SELECTIONS = ("best", "first", "all")


def improvement(value: float, over: float, *, maximise: bool) -> float:
    """By how much an objective is better than another; negative where it is worse."""
    return value - over if maximise else over - value


def gap(objective: float, reference: float, *, maximise: bool) -> float | None:
    """Distance of an objective to a reference, in percent of the reference.

    None where the reference is 0 and the objective is not.
    """
    worse = improvement(reference, objective, maximise=maximise)
    if reference == 0:
        return 0.0 if worse == 0 else None
    return float(100.0 * worse / abs(reference))


def maximised(measure: str) -> bool:
    """Whether a larger value of the measure is better."""
    return measure != "gap"


def worst(measure: str) -> float:
    """Value that an instance without a solution counts with: score 0, otherwise infinitely bad."""
    if measure == RETURN:
        return -math.inf
    return 0.0 if maximised(measure) else math.inf


def counted(values: Sequence[float | None], measure: str, selection: str) -> list[float]:
    """Values with which one instance counts: the worst one wherever it was not solved.

    Args:
        values: of its episodes; none where it was refused.
        measure: which the instance has a reference for.
        selection: of the episodes: ``best``, ``first``, ``all``, or the ``mean`` over all.
    """
    if selection in ("all", "mean"):
        every = [worst(measure) if value is None else value for value in values or [None]]
        return every if selection == "all" else [float(np.mean(every))]
    found = selected(values, selection, maximise=maximised(measure))
    return found or [worst(measure)]


def selected(values: Sequence[float | None], selection: str, *, maximise: bool) -> list[float]:
    """Known values of one instance's episodes: of the ``first``, the ``best`` one, or ``all``."""
    if selection == "first":
        values = values[:1]
    known = [value for value in values if value is not None]
    if selection == "best" and known:
        return [max(known) if maximise else min(known)]
    return known
