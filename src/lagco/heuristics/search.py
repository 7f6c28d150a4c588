"""Search over any problem: the mechanism behind `solve`, references and the teacher `search`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.core.trial import Trial
from lagco.errors import UsageError
from lagco.heuristics.construction import SHARPNESS, VARIATIONS, Beam, Construction
from lagco.heuristics.improvement import Walk

#: greedy episodes before the best one is varied
_EPISODES = 8
#: states that a beam keeps
_WIDTH = 4
#: variations without progress after which the search goes on from a worse solution, and after which
#: it begins again
_WANDERS, _RESTARTS = 60, 600
#: and after which a beam is searched, one step in so many turns
_BEAMS, _EVERY = 200, 20
#: how much worse a solution may be to go on from, in parts of the spread of the first episodes
_SLACK = 0.1
#: moves of a walk per element before it is begun again from the best solution
_WALK = 30
#: elements that a kick changes
_KICK = 4
#: what successes count after each variation, so that ways that no longer help lose their share
_FORGETS = 0.99


@dataclass(frozen=True)
class Best:
    """The best solution so far.

    Attributes:
        objective: of the solution.
        solution: in the problem's own form.
        actions: raw actions that lead to it from the start; None where they are not known.
    """

    objective: float
    solution: Array
    actions: tuple[Any, ...] | None


class Search:
    """Search for a good solution of one instance, in turns.

    Solutions that are built up are built greedily, by a beam, and varied; those that are improved
    step by step are changed by tabu search or annealing. What it does follows from the seed and
    from the number of moves alone.

    Args:
        env: the problem, on the instance to solve; it is left as it is.
        seed: of the search, and of the start.
        here: whether solutions have to be reached from the state that `env` is in, instead of
            from the start.
        within: number of actions from there in which solutions have to be reached; None for any.

    Attributes:
        best: None before any solution was found.
        moves: so many were made: actions taken, or ranked.
    """

    def __init__(
        self, env: Problem, *, seed: int = 42, here: bool = False, within: int | None = None
    ) -> None:
        if env.stochastic:
            raise UsageError(
                f"{env.name} is stochastic: a search would see what happens before it does; "
                "compare policies by evaluate, choose another teacher, or leave the solver out"
            )
        self._trial = Trial(env, seed=seed, here=here)
        self._within = within
        self._rng = np.random.default_rng([seed, 7])
        self._turn: Callable[[], None] = self._build if self._trial.builds else self._walk
        self._best_value = -np.inf
        self._present: tuple[float, list[Any]] = (-np.inf, [])
        self._values: list[float] = []
        self._idle = 0
        self._successes = np.ones(len(VARIATIONS))
        self._construction = Construction(self._trial)
        self._beam: Beam | None = None
        self._beams = True  # one is still to be searched
        self._turns = 0
        self._walking, self._walked = Walk(self._trial), 0
        self.best: Best | None = None
        self.moves = 0
        if not self._trial.builds:
            self._note(exact=True)

    def offer(self, solution: Array, actions: Any = None) -> None:
        """Go on from a solution that somebody else found, where that is possible."""
        trial = self._trial
        if trial.builds and actions is not None:
            trial.begin()
            trial.follow(actions)
            self._present = self._note()
        elif not trial.builds and trial.begin(solution):
            self._note(exact=False)

    def run(self, moves: int, stop: Callable[[], bool] = lambda: False) -> Best | None:
        """Go on for about so many moves, or until `stop`; the best solution so far.

        However little time there is, one turn is made: whoever asks again comes to a solution.
        """
        until = self.moves + moves
        while True:
            before = self.moves
            self._turn()
            self.moves = max(self.moves, before + 1)  # whatever a turn has led to
            if self.moves >= until or stop():
                return self.best

    # -- solutions that are built up

    def _build(self) -> None:
        number = len(self._values)
        if number < _EPISODES or self._idle >= _RESTARTS:
            self._episode(SHARPNESS[number % len(SHARPNESS)])
        elif self._beams and self._idle >= _BEAMS and self._turns % _EVERY == 0:
            self._search_beam()
        else:
            self._vary()
        self._turns += 1

    def _episode(self, sharpness: float) -> None:
        """A greedy episode, the first one without chance but among equals."""
        self._trial.begin()
        self._construct(lambda: self._construction.complete(self._rng, sharpness))
        value, actions = self._note()
        self._values.append(value)
        if value >= self._present[0] or self._idle >= _RESTARTS:
            self._present = value, actions
        self._idle = 0

    def _search_beam(self) -> None:
        """A step of a beam, which is searched once, where variations find nothing better."""
        if self._beam is None:
            self._beam = Beam(self._trial, _WIDTH)
        moves = self._beam.step(self._rng)
        self.moves += moves
        if moves:
            return
        self._beams, best = False, self._beam.best
        if best is not None and best[0] > self._present[0]:
            self._trial.begin()
            self._construct(lambda: self._construction.follow(best[1]))
            self._present = self._note()

    def _vary(self) -> None:
        value, actions = self._present
        if not actions:  # there is no solution to vary
            self._idle = _RESTARTS
            return
        rng = self._rng
        way = int(rng.choice(len(VARIATIONS), p=self._successes / self._successes.sum()))
        sharpness = SHARPNESS[int(rng.integers(len(SHARPNESS)))]
        self._trial.begin()

        def play() -> None:
            VARIATIONS[way](self._construction, actions, rng)
            self._construction.complete(rng, sharpness)

        self._construct(play)
        before = self._best_value
        found, taken = self._note()
        better = found > value
        self._successes = np.maximum(0.05, self._successes * _FORGETS)
        self._successes[way] += 0.1 * better
        self._idle = 0 if self._best_value > before else self._idle + 1
        slack = _SLACK * self._spread() if self._idle >= _WANDERS else 0.0
        if found >= value - slack * rng.random():
            self._present = found, taken
        if self._idle and self._idle % _RESTARTS == _RESTARTS // 2 and self.best is not None:
            assert self.best.actions is not None
            self._present = self._best_value, list(self.best.actions)

    def _construct(self, play: Callable[[], None]) -> None:
        self._construction.moves = 0
        play()
        self.moves += self._construction.moves

    def _spread(self) -> float:
        """Spread of the first episodes' values, the scale of differences that matter."""
        finite = [value for value in self._values if np.isfinite(value)]
        return float(np.ptp(finite)) if len(finite) > 1 else 0.0

    # -- solutions that are improved

    def _walk(self) -> None:
        """A step of a walk; a walk begins at the best solution, kicked away from it."""
        length = self._within or _WALK * max(4, self._trial.env.instance.size)
        if self._walked == length:
            self._begin_walk()
        self._walked += 1
        if self._walking.step(self._rng, self._walked / length):
            self._note(exact=self._within is not None)
        else:  # nothing can be done here
            self._walked = length
        self.moves += 1

    def _begin_walk(self) -> None:
        trial = self._trial
        best = None if self._within is not None else self.best
        if best is None or not trial.begin(best.solution):
            trial.begin()
        self._walking, self._walked = Walk(trial), 0
        if best is None:
            return
        self._walking.kick(int(self._rng.integers(1, _KICK + 1)), self._rng)

    # -- what was found

    def _note(self, *, exact: bool = True) -> tuple[float, list[Any]]:
        """Keep the present state if it is the best; its value and the actions that led to it.

        Args:
            exact: whether these actions lead to it from the start.
        """
        trial = self._trial
        found = trial.found()
        if found is None:
            return -np.inf, []
        value, solution = found
        if value > self._best_value:
            self._best_value = value
            actions = tuple(trial.actions) if exact else None
            self.best = Best(trial.objective_of(value), solution, actions)
        return value, list(trial.actions)
