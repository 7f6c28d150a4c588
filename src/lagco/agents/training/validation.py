"""Validation during training: the best weights so far, and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lagco.agents.agent import Agent
from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.rollout import Episode

#: of the one episode per instance
_SEED = 42


class Validation:
    """The best weights of a run so far, by one deterministic episode per validation instance.

    The value of an agent is the mean score of the best states, or the mean return for instances
    without reference. Random states of the training are not used.

    Args:
        problem: the problem class.
        instances: validation instances.
        features: feature set.
        every: steps between evaluations.
        patience: evaluations without improvement after which training stops; 0 for never.

    Attributes:
        value: value of the best weights, None before the first evaluation.
        steps: training steps of the best weights.
        weights: the best weights, as stored in a bundle.
    """

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        features: str,
        every: int,
        patience: int,
    ) -> None:
        self._env = problem(instances[0], features=features)
        self._instances = instances
        self._every = every
        self._patience = patience
        self._last = self._without_gain = 0
        self.value: float | None = None
        self.steps = 0
        self.weights: dict[str, Array] = {}

    def due(self, steps: int) -> bool:
        """Whether an evaluation is due after `steps` steps."""
        return steps - self._last >= self._every

    def evaluated(self, steps: int) -> bool:
        """Whether the weights after `steps` steps were evaluated."""
        return self._last == steps > 0

    @property
    def exhausted(self) -> bool:
        """Whether `patience` evaluations brought no improvement."""
        return bool(self._patience) and self._without_gain >= self._patience

    def evaluate(self, agent: Agent, steps: int) -> float:
        """Value of an agent; its weights are copied if they are the best so far."""
        value = float(np.mean([self._episode(agent, instance) for instance in self._instances]))
        self._last = steps
        self._without_gain += 1
        if self.value is None or value > self.value:
            self.value, self.steps, self._without_gain = value, steps, 0
            self.weights = {name: np.array(array) for name, array in agent.weights.items()}
        return value

    def _episode(self, agent: Agent, instance: Instance) -> float:
        episode = Episode(self._env, _SEED, instance=instance, explore=False).run(agent)
        score = episode.info.get("score_best")
        return episode.total_reward if score is None else float(score)

    def summary(self) -> dict[str, Any]:
        """Value and training steps of the best weights."""
        return {"value": self.value, "steps": self.steps}

    # -- checkpoints

    def state(self) -> dict[str, Any]:
        """JSON values for :meth:`restore`, in addition to the weights."""
        return {
            "value": self.value,
            "steps": self.steps,
            "last": self._last,
            "without_gain": self._without_gain,
        }

    def restore(self, state: Mapping[str, Any], weights: Mapping[str, Array]) -> None:
        """Restore a :meth:`state` and the best weights."""
        self.value = None if state["value"] is None else float(state["value"])
        self.steps, self._last = int(state["steps"]), int(state["last"])
        self._without_gain = int(state["without_gain"])
        self.weights = dict(weights)
