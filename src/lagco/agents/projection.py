"""`projection`: PPO over the Box of the latent space; points decode to the nearest valid action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
import numpy.typing as npt

from lagco.agents.vector_env import ProblemVecEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace

Array: TypeAlias = npt.NDArray[Any]


class LatentVecEnv(ProblemVecEnv):
    """Problems seen through a latent space: the observation is that of its views.

    Args:
        space: the latent space.
        decoder: how points become actions.
        options: see :class:`ProblemVecEnv`.
    """

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace,
        decoder: Decoder,
        **options: Any,
    ) -> None:
        self.space = space
        self.decoder = decoder
        super().__init__(problem, instances, **options)

    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        for problem in self.problems:
            problem.reset(seed=0)
        self.views = [self.space.view(problem) for problem in self.problems]
        width = self.views[0].observation_width
        observation_space = gym.spaces.Box(-np.inf, np.inf, (width,), np.float32)
        return observation_space, self._action_space()

    def _action_space(self) -> gym.Space[Any]:
        scale = self.space.scale
        return gym.spaces.Box(scale.low, scale.high, dtype=np.float32)

    def _observe(self, index: int, out: Array) -> None:
        view = self.views[index]
        view.refresh()
        view.observation(out)


class ProjectionVecEnv(LatentVecEnv):
    """Actions are points of the Box.

    Attributes:
        executed: vectors (N, d) of the actions taken last, for the scorer; None unless the decoder
            is ``scored``.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.executed: Array | None = None
        if self.decoder.spelling == "scored":
            self.executed = np.zeros((self.num_envs, self.space.scale.width), np.float32)

    def _raw_action(self, index: int, action: Any) -> Any:
        view = self.views[index]
        row = self.decoder.choose(view, action, self._rngs[index], self._observations[index])
        if self.executed is not None:
            self.executed[index] = view.actions().vectors(row)[0]
        return plain_action(view.raw(row)[0])
