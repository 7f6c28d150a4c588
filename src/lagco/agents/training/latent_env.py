"""Training environments that see problems through a latent space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.agents.config import TrainConfig
from lagco.agents.inference.action_tables import CANDIDATES, ActionTables, nearest_actions
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.candidates import SeenColumns
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace, LatentView


class LatentVecEnv(ProblemVecEnv):
    """Problems seen through a latent space: the observation is that of its views.

    Args:
        space: the latent space.
        decoder: how points become actions.
        options: see :class:`ProblemVecEnv`.
    """

    views: list[LatentView]
    _parts = ("_encode", "_observe")

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
        self.executed: list[list[Array]] | None = None
        super().__init__(problem, instances, **options)

    def log_executed(self) -> None:
        """Start recording the vectors of executed actions."""
        self.executed = [[] for _ in range(self.num_envs)]

    def take_executed(self) -> Array:
        """Vectors (T, N, d) of the actions executed since the last call."""
        assert self.executed is not None
        taken = np.array(self.executed, dtype=np.float32).swapaxes(0, 1)
        self.log_executed()
        return taken

    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        for problem in self.problems:
            problem.reset(seed=0)
        self._fill_slots()
        width = self.views[0].observation_width
        observation_space = gym.spaces.Box(-np.inf, np.inf, (width,), np.float32)
        return observation_space, self._action_space()

    def _slots(self, problem: Problem) -> dict[str, Any]:
        return super()._slots(problem) | {"views": self.space.view(problem)}

    def _action_space(self) -> gym.Space[Any]:
        scale = self.space.scale
        return gym.spaces.Box(scale.low, scale.high, dtype=np.float32)

    def _encode(self, index: int, out: Array) -> None:
        self.views[index].refresh()

    def _observe(self, index: int, out: Array) -> None:
        self.views[index].observation(out)


class ProjectionVecEnv(LatentVecEnv):
    """Actions are points of the Box."""

    def _raw_action(self, index: int, action: Any) -> Any:
        view = self.views[index]
        row = self.decoder.choose(view, action, self._rngs[index], self._observations[index])
        if self.executed is not None:
            self.executed[index].append(view.actions().vectors(row)[0])
        return plain_action(view.raw(row)[0])


class CandidateVecEnv(LatentVecEnv):
    """Actions are positions among the candidates that were offered for the present states.

    Attributes:
        offered: candidates per environment, of the states that were acted in last.
        ranked_columns: the ranker's columns of candidates, if the problem names them.
        started_from: folder of the agent given as `init`.
        teacher_choice: the teacher and the reason for it.
    """

    ranked_columns: SeenColumns | None = None
    started_from: str | None = None
    teacher_choice: tuple[str, str] = ("", "")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.offered: list[ActionTables] = []
        self._rows: list[Array] = []
        super().__init__(*arguments, **options)

    def _action_space(self) -> gym.Space[Any]:
        return gym.spaces.Discrete(CANDIDATES)

    def offer(self, protos: Array) -> list[ActionTables]:
        """Candidates of the present states for the policy's proto-actions (N, d)."""
        found = [
            nearest_actions(view, proto, CANDIDATES)
            for view, proto in zip(self.views, protos, strict=True)
        ]
        self._rows = [rows for rows, _ in found]
        self.offered = [actions for _, actions in found]
        return self.offered

    def _raw_action(self, index: int, action: Any) -> Any:
        if self.executed is not None:
            vector = self.offered[index].vector(int(action), self.space.scale.width)
            self.executed[index].append(vector)
        row = self._rows[index][int(action)][None]
        return plain_action(self.views[index].raw(row)[0])


def vec_env_options(config: TrainConfig) -> dict[str, Any]:
    """Options of a :class:`ProblemVecEnv` that follow from the configuration."""
    return {
        "envs": config.envs,
        "seed": config.seed,
        "features": config.features,
        "rotate_every": config.rotate_every,
        "stop_at_best": config.stop_at_best,
        "scale_rewards": config.scale_rewards,
        "shaped_rewards": config.shaped_rewards,
        "normalised_rewards": config.normalised_rewards,
    }
