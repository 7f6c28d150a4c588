"""Environments that follow an instance through its changes."""

from __future__ import annotations

from lagco.core.problem import Problem
from lagco.live.contract import Situation


class Following:
    """An environment that is kept from decision to decision.

    Args:
        features: of the environment.
    """

    def __init__(self, features: str) -> None:
        self._features = features
        self._env: Problem | None = None

    def env(self, situation: Situation) -> Problem:
        """The environment, in the state that is in force."""
        env = self._env
        if env is None or type(env) is not situation.cls:
            env = self._env = situation.cls(
                situation.instance, features=self._features, start="current"
            )
            env.reset(seed=situation.seed)
        else:
            env.go_on_with(situation.instance, seed=situation.seed)
        return env
