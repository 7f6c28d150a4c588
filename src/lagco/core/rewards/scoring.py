"""Scores of objectives on the scale of references, and rewards as changes of the score."""

from __future__ import annotations

import math
from typing import ClassVar, SupportsFloat

import numpy as np

from lagco.core.hooks import Hooks
from lagco.core.rewards.references import reference_value
from lagco.errors import SpecError
from lagco.results.measures import gap, improvement


class Scored(Hooks):
    """A problem whose objectives have scores, with the scale of the present episode."""

    #: whether a larger objective is better
    maximise: ClassVar[bool] = False
    #: whether score 0 is the start of the episode rather than the sweeps' worst
    score_from_start: ClassVar[bool] = False

    _value: float  # objective of the present state
    _start_objective: float  # objective of the start
    _best_objective: float | None  # objective of the best feasible state so far
    _scale: float  # reward per unit of the objective
    _pending: float  # score of the start, carried by the first reward
    _zero: float | None  # objective that scores 0

    def score(self, objective: float, reference: str = "sweeps") -> float | None:
        """Score of an objective on the scale of a reference; None where that is missing.

        0 is the sweeps' worst value (or the start, where `score_from_start`), 1 the reference's
        best. Where both are the same, that value scores 1 and changes count relative to the start.
        """
        best = reference_value(self.instance.references, reference)
        zero = self._zero
        if best is None or zero is None:
            return None
        if _same(best, zero):
            return 1.0 + float(self._improvement(objective, zero) / self._unit())
        # a start that beats the reference still scores 0, and improving on it more than 0
        return float(self._improvement(objective, zero) / abs(best - zero))

    def gap(self, objective: float, reference: str = "solver") -> float | None:
        """Distance to the reference's best in percent of it; None without a reference."""
        best = reference_value(self.instance.references, reference)
        if best is None:
            return None
        return gap(objective, best, maximise=self.maximise)

    def scores(self, reference: str = "sweeps") -> tuple[float | None, float | None]:
        """Scores of the present and of the best state of the episode; no solution scores 0."""
        value, best = self.score(self._value, reference), self._best_objective
        if value is None:
            return None, None
        return (
            value if self.is_feasible() else 0.0,
            0.0 if best is None else self.score(best, reference),
        )

    def _improvement(self, objective: float, over: float) -> float:
        return improvement(objective, over, maximise=self.maximise)

    @property
    def usual_change(self) -> float:
        """Size of a usual change of the objective by one action, the unit of hints."""
        return abs(self._start_objective or self._value) / max(1, self.instance.size) or 1.0

    def _unit(self) -> float:
        """Divisor of rewards without a reference: the start value, unless it is 0."""
        return abs(self._start_objective) or 1.0

    def _objective(self) -> float:
        """The objective, if it is a number."""
        value = self.objective()
        # the question about a protocol is slow, and seldom asked
        number = isinstance(value, float) or (
            isinstance(value, SupportsFloat) and np.ndim(value) == 0  # no array of several
        )
        if not number or not math.isfinite(value):
            raise SpecError(
                f"{type(self).__name__}.objective() returned {value!r} on instance "
                f"{self.instance.name!r}; return a finite number"
            )
        return value

    def _set_scale(self) -> None:
        self._start_objective = self._value = self._objective()
        sweeps = self.instance.references.sweeps
        self._zero = None
        if sweeps is not None:
            self._zero = self._value if self.score_from_start else sweeps.worst
        best = reference_value(self.instance.references, "sweeps")
        sign = 1.0 if self.maximise else -1.0
        self._scale, self._pending = sign / self._unit(), 0.0
        if self._zero is None or best is None:
            return
        flat = _same(best, self._zero)
        if not flat:
            self._scale = sign / abs(best - self._zero)
        self._pending = (1.0 if flat else 0.0) + (self._value - self._zero) * self._scale

    def _at_best(self) -> bool:
        best = reference_value(self.instance.references, "sweeps")
        return best is not None and self.is_feasible() and self._improvement(self._value, best) >= 0


def _same(best: float, zero: float) -> bool:
    """Whether there is nothing between the two ends of a scale but rounding."""
    return abs(best - zero) <= 1e-12 * max(abs(best), abs(zero))
