"""The controller that takes the best single action as long as it helps."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.live.contract import Situation
from lagco.live.controllers.following import Following
from lagco.solving.portfolio import Limit

#: actions that are previewed between two looks at the time
_CHUNK = 64


class Greedy:
    """Takes the action with the best preview, again and again, until none is better or in time."""

    name = "greedy"

    def __init__(self) -> None:
        self._following = Following("paper")

    def decide(self, situation: Situation) -> Array | None:
        """The state that greedy actions lead to."""
        return self.climb(situation, situation.limit)[0]

    def climb(
        self, situation: Situation, limit: Limit, most: int | None = None
    ) -> tuple[Array | None, int]:
        """The state that greedy actions lead to, None without any, and how many they are.

        Args:
            situation: that is decided.
            limit: whose time counts.
            most: actions at most; by default the length of an episode.
        """
        env = self._following.env(situation)
        if not isinstance(env, Previews):
            raise UsageError(f"{env.name} has no preview, which the controller greedy needs")
        sign = 1.0 if env.maximise else -1.0
        most, steps, ended = env.episode_length if most is None else most, 0, False
        while not (ended or limit.expired()) and steps < most:
            action = self._best(env, limit)
            if action is None:
                break
            level = sign * env.objective()
            _, terminated, truncated, _ = env.advance(action)
            ended = terminated or truncated
            if not env.builds_up and sign * env.objective() <= level + 1e-12 * abs(level):
                break  # the state before is the best, and stays so
            steps += 1
        return env.best_solution if steps else None, steps

    def _best(self, env: Problem, limit: Limit) -> Any:
        """The action with the best preview, which ranks actions and need not be an objective."""
        level, best = -np.inf, None
        for chunk in env.valid_chunks():
            for first in range(0, len(chunk), _CHUNK):
                if limit.expired():
                    return None
                part = chunk[first : first + _CHUNK]
                values = env.preview(part)  # type: ignore[attr-defined]
                place = int(np.argmax(values))
                if values[place] > level:
                    level, best = float(values[place]), part[place]
        return best
