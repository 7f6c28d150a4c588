"""Trials: a problem as a search uses it, move by move and back again.

A search plays thousands of episodes and needs only moves and objectives. A trial omits what agents
need in addition (observations, rewards, step counts), so a move costs no more than the problem's
rules.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import Previews, draw_valid_action
from lagco.core.problem import Problem

#: raw actions that are listed at most in one state; beyond it so many are drawn
MOST_LISTED, DRAWN = 20_000, 64
#: actions that are tried out one by one where a problem has no `preview`
TRIED = 12


class Trial:
    """A copy of a problem in which a search moves.

    Args:
        env: the problem.
        seed: of the start.
        here: whether to begin in the state that `env` is in, instead of at the start.

    Attributes:
        env: the copy.
        builds: whether solutions are built up, else they are improved step by step.
        preview: of the copy, None for a problem without one.
        actions: raw actions since :meth:`begin`.
    """

    def __init__(self, env: Problem, *, seed: int = 42, here: bool = False) -> None:
        self.env = copy.deepcopy(env)
        self._seed = seed
        self._here = self.env.snapshot() if here else None
        self.actions: list[Any] = []
        self.begin()
        self.builds = not self.env.is_feasible()
        self.preview = self.env.preview if isinstance(self.env, Previews) else None
        self._sign = 1.0 if env.maximise else -1.0
        self._lists = self._can_list()

    def begin(self, solution: Array | None = None) -> bool:
        """Go to the start, or to a solution; False if the problem cannot start there."""
        self.actions = []
        if solution is not None:
            self.env.reset(seed=self._seed, options={"start": solution})
            return self.env.is_feasible() and np.array_equal(self.env.solution(), solution)
        if self._here is None:
            self.env.reset(seed=self._seed)
        else:
            self.env.restore(self._here)
        return True

    def follow(self, actions: Any) -> None:
        """Take those of some actions, in this order, that are valid when their turn comes."""
        for action in actions:
            if self.over():
                return
            if self.env.is_valid_action(action):
                self.take(action)

    def take(self, action: Any) -> None:
        """Take a valid action."""
        self.env.carry_out(action)
        self.actions.append(action)

    def over(self) -> bool:
        """Whether nothing may be decided any more."""
        return self.env.is_complete() or (
            self.builds and len(self.actions) >= self.env.episode_length
        )

    def choices(self, rng: np.random.Generator) -> Array:
        """Valid actions: all of them, or where there are very many some that are drawn."""
        if self._lists:
            return self.env.valid_actions()
        drawn = [draw_valid_action(self.env, rng) for _ in range(DRAWN)]
        found = [action for action in drawn if action is not None]
        return np.unique(np.asarray(found), axis=0) if found else np.zeros(0, np.int64)

    def draw(self, rng: np.random.Generator) -> Any:
        """A random valid action; None where there is none."""
        return draw_valid_action(self.env, rng)

    def ranked(self, actions: Array, rng: np.random.Generator) -> Array:
        """Some valid actions, the most promising one first; equal ones in random order.

        By `preview`; without it by the objective after each of a few that are drawn.
        """
        order = rng.permutation(len(actions))
        if self.preview is not None:
            actions = actions[order]
            values = np.asarray(self.preview(actions), dtype=float)
        else:
            actions = actions[order[:TRIED]]
            values = np.array(self.values_after(actions))
        return actions[np.argsort(-values, kind="stable")]

    def values_after(self, actions: Array) -> list[float]:
        """Value after each of some actions; the problem stays in the state that it is in."""
        kept = self.env.snapshot()
        values = []
        for action in actions:
            self.env.carry_out(action)
            values.append(self.value())
            self.env.restore(kept)
        return values

    def value(self) -> float:
        """Objective of the state, larger ones better."""
        return self._sign * self.env.objective()

    def found(self) -> tuple[float, Array] | None:
        """Value and configuration of the state, None where it is no solution."""
        if self.builds:
            self.env.conclude()
        if not self.env.is_feasible():
            return None
        return self.value(), self.env.solution()

    def objective_of(self, value: float) -> float:
        """The objective that a value stands for."""
        return self._sign * value

    def _can_list(self) -> bool:
        try:
            return self.env.num_actions <= MOST_LISTED
        except Exception:
            return False
