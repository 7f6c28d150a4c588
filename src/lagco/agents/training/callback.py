"""Callback of a training run: curve, metrics, validation, checkpoints, scorer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback

from lagco.agents.agent import Agent
from lagco.agents.config import TrainConfig
from lagco.agents.learning.scorer import Scorer, n_step_returns
from lagco.agents.method import StatefulModel
from lagco.agents.methods.projection import PointConfig
from lagco.agents.training.curve import Curve
from lagco.agents.training.latent_env import LatentVecEnv
from lagco.agents.training.validation import Validation
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.errors import UsageError

#: rollouts between two checkpoints of a model with a replay buffer, which is large
_SAVE_EVERY = 8


class PatienceLost(Exception):
    """Raised between two rollouts to stop a run whose validation does not improve."""


class RunCallback(BaseCallback):
    """The callback of every run; it works between two rollouts.

    Args:
        curve: the learning curve.
        save: writes a checkpoint.
        agent: makes an agent of the current weights.
        env: the training environment.
        config: configuration of the run.
        scorer: scorer of the decoder ``scored``, if that is trained.
        validation: None for a run without validation instances.
    """

    def __init__(
        self,
        curve: Curve,
        save: Callable[[], None],
        agent: Callable[[], Agent],
        env: ProblemVecEnv,
        config: TrainConfig,
        scorer: Scorer | None,
        validation: Validation | None,
    ) -> None:
        super().__init__()
        self._curve = curve
        self._save = save
        self._agent = agent
        self._env = env
        self._config = config
        self._scorer = scorer
        self._validation = validation
        self._shown = self._saved = self._first = 0
        self._began = 0.0

    def _on_step(self) -> bool:
        return True

    def _on_training_start(self) -> None:
        self._shown = self._saved = self._first = self.num_timesteps
        self._began = time.perf_counter()

    def _on_rollout_start(self) -> None:
        # called after the update that followed the previous rollout
        steps = self.num_timesteps
        if steps - self._shown < self._config.rollout:
            return
        validation = self._validation
        self._log(validation is not None and validation.due(steps))
        if validation is not None and validation.exhausted:
            raise PatienceLost
        pause = _SAVE_EVERY if isinstance(self.model, StatefulModel) else 1
        if steps - self._saved >= pause * self._config.rollout:
            self._save()
            self._saved = steps

    def _log(self, evaluate: bool) -> None:
        """Add a row to curve and logger, after a validation if asked for."""
        steps, value = self.num_timesteps, None
        if evaluate and self._validation is not None:
            value = self._validation.evaluate(self._agent(), steps)
            self.logger.record("validation/score", value)
        row = self._curve.add(steps, value)
        for name in ("score", "score_best", "return", "length"):
            if row[name] != "":
                self.logger.record(f"episodes/{name}", row[name])
        seconds = max(time.perf_counter() - self._began, 1e-9)
        self.logger.record("time/fps", (steps - self._first) / seconds)
        self.logger.record("time/seconds", row["seconds"])
        self.logger.dump(steps)
        self._shown = steps

    def _on_rollout_end(self) -> None:
        if self._scorer is None:
            return
        assert isinstance(self._env, LatentVecEnv)
        assert isinstance(self._config, PointConfig)
        buffer: Any = self.model.rollout_buffer  # type: ignore[attr-defined]
        dones = np.asarray(self.locals["dones"], dtype=np.float32)
        last = self.locals["values"].detach().cpu().numpy().ravel() * (1.0 - dones)
        targets = n_step_returns(
            buffer.rewards,
            buffer.episode_starts,
            buffer.values,
            last,
            self._config.gamma,
            self._config.n_step,
        )
        vectors = self._env.take_executed()
        width = buffer.observations.shape[-1]
        self._scorer.learn(
            buffer.observations.reshape(-1, width),
            vectors.reshape(-1, vectors.shape[-1]),
            targets.ravel(),
        )

    def _on_training_end(self) -> None:
        # where a callback stopped the run, the algorithm has not stored its last step
        if "new_obs" in self.locals and "dones" in self.locals:
            self.model._last_obs = self.locals["new_obs"]
            self.model._last_episode_starts = self.locals["dones"]
        if self.num_timesteps > self._shown or self._curve.empty:
            validation = self._validation
            done = validation is None or validation.evaluated(self.num_timesteps)
            self._log(not done)


def given_callbacks(callbacks: Any) -> list[BaseCallback]:
    """Callbacks of the user as a list; functions (locals, globals) -> bool are converted.

    Raises:
        UsageError: an entry is neither a callback nor a function.
    """
    given = [callbacks] if isinstance(callbacks, BaseCallback) or callable(callbacks) else callbacks
    if given is None:
        return []
    if not isinstance(given, Iterable):
        given = [given]
    found: list[BaseCallback] = []
    for entry in given:
        if isinstance(entry, BaseCallback):
            found.append(entry)
        elif callable(entry) and not isinstance(entry, type):
            found.append(ConvertCallback(entry))
        else:
            raise UsageError(
                f"callbacks={entry!r}: give callbacks of Stable-Baselines3 (objects, not classes), "
                "or functions of (locals, globals)"
            )
    return found
