"""Solutions that are improved step by step: a walk that leaves local optima.

By previews: tabu search, which takes the most promising action that does not touch what was changed
lately. Without previews: annealing, which tries random actions and goes back from bad ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.trial import Trial

#: moves for which an element that was changed is left alone, at least, and per root of the elements
LEAST_TENURE, TENURE = 2, 0.7
#: share of the usual change of the objective that annealing begins and ends with as temperature
HOTTEST, COLDEST = 1.0, 0.01
#: moves by which the usual change is estimated
_SAMPLE = 16


class Walk:
    """A walk from solution to solution.

    Args:
        trial: the problem, in a state that is a solution.

    Attributes:
        moves: how many were made.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.moves = 0
        self._blocked_until: dict[Any, int] = {}
        self._scale = 0.0

    def kick(self, count: int, rng: np.random.Generator) -> None:
        """Take some random actions."""
        for _ in range(count):
            action = self.trial.draw(rng)
            if action is None:
                return
            self.trial.take(action)
            self.moves += 1

    def step(self, rng: np.random.Generator, cooled: float) -> bool:
        """One move; False where nothing can be done.

        Args:
            rng: of the search.
            cooled: how much of the walk is over, from 0 to 1; annealing gets colder with it.
        """
        self.moves += 1
        if self.trial.preview is not None:
            return self._tabu_step(rng)
        return self._annealing_step(rng, cooled)

    def _tabu_step(self, rng: np.random.Generator) -> bool:
        choices = self.trial.choices(rng)
        if not len(choices):
            return False
        elements = _elements(choices)
        free = [self._blocked_until.get(e, 0) <= self.moves for e in elements.tolist()]
        allowed = choices[np.array(free)]
        ranked = self.trial.ranked(allowed if len(allowed) else choices, rng)
        count = len(np.unique(elements))
        tenure = LEAST_TENURE + int(rng.random() * TENURE * math.sqrt(count) * 2.0)
        self._blocked_until[int(_elements(ranked[:1])[0])] = self.moves + 1 + tenure
        self.trial.take(ranked[0])
        return True

    def _annealing_step(self, rng: np.random.Generator, cooled: float) -> bool:
        action = self.trial.draw(rng)
        if action is None:
            return False
        env = self.trial.env
        before = self.trial.value()
        kept = env.snapshot()
        env.carry_out(action)
        change = self.trial.value() - before
        if change:
            share = 1.0 / min(self.moves, _SAMPLE)
            self._scale += share * (abs(change) - self._scale)
        temperature = self._scale * HOTTEST * (COLDEST / HOTTEST) ** cooled
        if change >= 0.0 or rng.random() < math.exp(change / max(temperature, 1e-300)):
            self.trial.actions.append(action)
        else:
            env.restore(kept)
        return True


def _elements(actions: Array) -> Array:
    """What actions change: their first component."""
    return actions if actions.ndim == 1 else actions[:, 0]
