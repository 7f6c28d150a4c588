"""`iterative`: Q-learning; every decision evaluates Q(o, u(a)) for all valid actions.

Learning is in :mod:`lagco.agents.learning.q_learning`, evaluation over all actions of a state in
:mod:`lagco.agents.inference.q_values`. Action vectors are those of the latent space, standardised
as for `projection`, or not (`standardised = false`, in the preset `paper`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from torch import nn

from lagco.agents.config import TrainConfig, setting, with_default
from lagco.agents.inference.action_tables import MOST_ACTIONS, ActionTables, read_actions
from lagco.agents.inference.perceptron import check_width, stored_layers, take_network
from lagco.agents.inference.q_values import ActionValues
from lagco.agents.learning.networks import layer_arrays
from lagco.agents.learning.q_learning import IterativeDQN, QPolicy
from lagco.agents.learning.replay import ActionReplayBuffer
from lagco.agents.method import Method, PlotStyle, Weights
from lagco.agents.methods.discrete import without_summary
from lagco.agents.padding.actions import PaddedActions
from lagco.agents.training.latent_env import LatentVecEnv, vec_env_options
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.embedding.devices import torch_device
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.scale import ActionScale
from lagco.latent.space import LatentSpace, LatentView
from lagco.store import Schema, Tensors, object_of

#: epsilon at the end of exploration, and of an actor that explores
EPSILON = 0.05
#: JSON schema of the facts of a trained agent
FACTS: Schema = object_of(standardised={"type": "boolean"})


def observed_space(space: LatentSpace, standardised: bool) -> LatentSpace:
    """The space without the summary of actions and, unless `standardised`, without scaling."""
    space = without_summary(space)
    if standardised:
        return space
    scale = space.scale
    plain = ActionScale(
        np.zeros_like(scale.mean),
        np.ones_like(scale.deviation),
        scale.low,
        scale.high,
        scale.projection,
    )
    return replace(space, scale=plain)


class IterativeVecEnv(LatentVecEnv):
    """Actions are positions among the valid actions of the present states; see `ActionSource`."""

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace,
        *,
        standardised: bool = True,
        **options: Any,
    ) -> None:
        self.standardised = standardised
        self._fallbacks: list[PaddedActions] = []
        self.offered: list[ActionTables] = []
        self.cut_off: dict[int, tuple[Array, ActionTables]] = {}
        self._rows: list[Array] = []
        space = observed_space(space, standardised)
        super().__init__(problem, instances, space, Decoder(), **options)

    def _slots(self, problem: Problem) -> dict[str, Any]:
        return super()._slots(problem) | {"_fallbacks": PaddedActions(problem, 0)}

    def _action_space(self) -> gym.Space[Any]:
        return gym.spaces.Discrete(MOST_ACTIONS)

    def offer(self) -> list[ActionTables]:
        """The valid actions of the present states."""
        found = [read_actions(view, rng) for view, rng in zip(self.views, self._rngs, strict=True)]
        self._rows = [rows for rows, _ in found]
        self.offered = [actions for _, actions in found]
        return self.offered

    def step_wait(self) -> Any:
        self.cut_off = {}
        return super().step_wait()

    def _raw_action(self, index: int, action: Any) -> Any:
        rows, offered = self._rows[index], self.offered[index]
        if not len(offered):  # no valid action: an invalid one ends the episode
            return self._fallbacks[index].outside
        row = rows[offered.place(int(action))]
        return plain_action(self.views[index].raw(row[None])[0])

    def _end(self, index: int, info: dict[str, Any], cut: bool) -> dict[str, Any]:
        if cut:
            _, actions = read_actions(self.views[index], self._rngs[index])
            self.cut_off[index] = self._observations[index].copy(), actions
        return super()._end(index, info, cut)


@dataclass(frozen=True)
class IterativeConfig(TrainConfig):
    """Settings of `iterative`."""

    method = "iterative"
    paper = {  # noqa: RUF012
        **TrainConfig.paper,
        "tau": 0.05,
        "target_every": 10_000,
        "buffer": 1_000_000,
        "standardised": False,
    }
    released = {"learning_rate": 1e-5, "warm_up": 1000, "max_grad_norm": 5.0}  # noqa: RUF012

    learning_rate: float = with_default(TrainConfig, "learning_rate", 1e-4)
    batch_size: int = with_default(TrainConfig, "batch_size", 32)
    gamma: float = with_default(TrainConfig, "gamma", 0.95)
    max_grad_norm: float = with_default(TrainConfig, "max_grad_norm", 10.0)
    n_step: int = setting(5, "length of the returns that Q is fitted to", least=1)
    buffer: int = setting(50_000, "transitions that are remembered", least=1)
    warm_up: int = setting(100, "environment steps before the first gradient step", least=0)
    train_every: int = setting(4, "environment steps per gradient step", least=1)
    target_every: int = setting(1000, "environment steps between target updates", least=1)
    tau: float = setting(1.0, "share of the new weights in a target update", least=0.0, most=1.0)
    exploration: float = setting(
        0.5, "share of the steps over which epsilon falls from 1 to 0.05", least=0.0, most=1.0
    )
    standardised: bool = setting(True, "standardise action vectors, as for projection")
    reduce: int = setting(
        0,
        "dimensions that action vectors are reduced to by principal components; 0 keeps all",
        least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hidden:
            raise UsageError("hidden=[]: a Q network needs a hidden layer")


class IterativeMethod(Method):
    """Epsilon-greedy over the valid actions by Q."""

    name = "iterative"
    label = "iterative"
    style = PlotStyle("#009e73", "triangle-up")
    config = IterativeConfig
    facts_schema: Schema = FACTS

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: IterativeConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        options = {**vec_env_options(config), "standardised": config.standardised}
        return IterativeVecEnv(problem, instances, self.needed(space), **options)

    def model(self, env: ProblemVecEnv, config: IterativeConfig) -> BaseAlgorithm:
        assert isinstance(env, IterativeVecEnv)
        width = env.space.scale.width
        every = max(1, round(config.train_every / config.envs))
        keywords = {
            "net_arch": list(config.hidden),
            "activation_fn": nn.LeakyReLU,
            "optimizer_kwargs": {
                "eps": 1e-7,
                "weight_decay": config.weight_decay,
                "fused": True,
            },
            "action_width": width,
        }
        return IterativeDQN(
            QPolicy,
            env,
            learning_rate=config.learning_rate,
            buffer_size=config.buffer,
            learning_starts=config.warm_up,
            batch_size=config.batch_size,
            tau=config.tau,
            gamma=config.gamma,
            train_freq=every,
            gradient_steps=max(1, round(every * config.envs / config.train_every)),
            replay_buffer_class=ActionReplayBuffer,  # type: ignore[arg-type]
            replay_buffer_kwargs={
                "action_width": width,
                "n_steps": config.n_step,
                "gamma": config.gamma,
                "seed": config.seed,
            },
            target_update_interval=config.target_every,
            exploration_fraction=config.exploration,
            exploration_final_eps=EPSILON,
            max_grad_norm=config.max_grad_norm,
            policy_kwargs=keywords,
            seed=config.seed,
            device=torch_device(config.device),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        assert isinstance(model, IterativeDQN)
        return layer_arrays("q", model.q_net)

    def facts(self, env: ProblemVecEnv) -> dict[str, Any]:
        assert isinstance(env, IterativeVecEnv)
        return {"standardised": env.standardised}

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        take_network(tensors, "q", outputs=1)
        if tensors["q.0.weight"].shape[1] <= self.needed(space).scale.width:
            raise tensors.refused("Q takes no observation beside the action")

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> IterativeActor:
        """See :class:`~lagco.agents.method.Method`; `decoder` is not used."""
        view = observed_space(self.needed(space), bool(facts["standardised"])).view(env)
        return IterativeActor(view, weights)


class IterativeActor:
    """Epsilon-greedy over the valid actions by Q.

    Attributes:
        ended: see :class:`~lagco.agents.method.ClockedActor`.
    """

    ended: Callable[[str], None] | None = None

    def __init__(self, view: LatentView, weights: Weights) -> None:
        self.view = view
        layers = stored_layers(weights, "q")
        expected = view.observation_width + view.space.scale.width
        check_width("the network 'q' takes", layers[0][0].shape[1], expected)
        self._q = ActionValues(layers, view.observation_width)
        self._observation = np.empty((1, view.observation_width), np.float32)
        self._fallback = PaddedActions(view.env, 0)

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        view, ended = self.view, self.ended
        view.refresh()
        if ended is not None:
            ended("encode")
            view.actions()  # read here, so that their time is counted apart
            ended("actions")
        rows, actions = read_actions(view, rng)
        if ended is not None:
            ended("list")
        if not len(actions):
            return self._fallback.outside
        if explore and rng.random() < EPSILON:
            position = int(rng.integers(len(actions)))
        else:
            view.observation(self._observation[0])
            if ended is not None:
                ended("observe")
            position = int(self._q.best(self._observation, [actions])[1][0])
        action = plain_action(view.raw(rows[actions.place(position)][None])[0])
        if ended is not None:
            ended("values")
        return action


METHOD = IterativeMethod()
