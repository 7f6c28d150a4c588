"""`projection`: PPO over the Box of the latent space; points decode to the nearest valid action."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.agents.config import PPOConfig, TrainConfig, setting, with_default
from lagco.agents.method import Look, Method, Weights
from lagco.agents.network import (
    layer_arrays,
    perceptron,
    policy_arguments,
    ppo_arguments,
    take_network,
)
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace
from lagco.search import Metric, NoValidAction
from lagco.store import Tensors

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

    from lagco.agents.vector_env import ProblemVecEnv

_LARGEST_EXPONENT = 50.0


@dataclass(frozen=True)
class PointConfig(PPOConfig):
    """Settings of the methods that predict points of the latent space by PPO."""

    decoder: str = setting(
        "nearest", "decoder: nearest, sampled, rule:module:function, scored or preview"
    )
    k: int = setting(10, "nearest actions that a decoder chooses among", least=1)
    n_step: int = setting(5, "length of the returns that the scorer is fitted to", least=1)
    reduce: int = setting(
        0,
        "dimensions that action vectors are reduced to by principal components; 0 keeps all",
        least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        Decoder(self.decoder, self.k)  # says what is wrong with them


@dataclass(frozen=True)
class ProjectionConfig(PointConfig):
    """Settings of `projection`."""

    method = "projection"
    paper = {**PointConfig.paper, "entropy": 0.01, "log_std": 0.0, "anneal": False}  # noqa: RUF012

    # a bonus per dimension would keep the noise of a wide Gaussian from ever falling
    entropy: float = with_default(PointConfig, "entropy", 0.0)
    log_std: float = setting(-1.0, "logarithm of the deviation with which exploration begins")

    @classmethod
    def preset_values(cls, preset: str, features: str) -> dict[str, Any]:
        """See :class:`~lagco.agents.config.TrainConfig`.

        With `paper` features, from which less can be told, the learning rate falls: else the mode
        turns in circles.
        """
        if preset != "paper" and features == "paper":
            return {"anneal": True}
        return super().preset_values(preset, features)


class ProjectionMethod(Method):
    """Gaussian over the Box; the nearest valid action by cosine."""

    name = "projection"
    label = "projection"
    look = Look("#0072b2", "circle")
    config: type[TrainConfig] = ProjectionConfig
    metric: Metric | None = "cosine"

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: PointConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        from lagco.agents.latent_env import ProjectionVecEnv, vec_env_options

        assert space is not None
        assert self.metric is not None
        decoder = Decoder(config.decoder, config.k, self.metric)
        return ProjectionVecEnv(problem, instances, space, decoder, **vec_env_options(config))

    def model(self, env: ProblemVecEnv, config: Any) -> BaseAlgorithm:
        from lagco.agents.heads import GaussianHead
        from lagco.agents.ppo import BatchedPPO

        keywords = policy_arguments(config) | {"log_std_init": config.log_std}
        space: Any = env.action_space
        return BatchedPPO(
            "MlpPolicy",
            env,
            head=lambda policy: GaussianHead(policy.log_std, space.low, space.high),
            policy_kwargs=keywords,
            **ppo_arguments(config),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        policy: Any = model.policy
        found = layer_arrays("policy", policy.mlp_extractor.policy_net, policy.action_net)
        return found | {"log_std": policy.log_std.detach().cpu().numpy()}

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        assert space is not None
        take_policy(tensors, space)
        exponent(tensors, "log_std", (space.scale.width,))

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> ProjectionActor:
        assert space is not None
        assert self.metric is not None
        return ProjectionActor(env, weights, space, decoder or Decoder("nearest", 1, self.metric))


def take_policy(tensors: Tensors, space: LatentSpace) -> None:
    """Take a network from observations to points of the space, and a scorer if there is one."""
    take_network(tensors, "policy", outputs=space.scale.width)
    if "scorer.0.weight" in tensors:
        take_network(tensors, "scorer", outputs=1)


def exponent(tensors: Tensors, name: str, shape: tuple[int, ...]) -> None:
    """Take logarithms of numbers that are neither 0 nor infinite."""
    if np.abs(tensors.take(name, shape)).max() > _LARGEST_EXPONENT:
        raise tensors.refused(f"tensor {name!r} exceeds {_LARGEST_EXPONENT:g}")


class ProjectionActor:
    """Predicts a point in one pass and decodes it."""

    def __init__(
        self, env: ContinuousEnv, weights: Weights, space: LatentSpace, decoder: Decoder
    ) -> None:
        self.view = space.view(env)
        seen, width = self.view.observation_width, space.scale.width
        self.network = perceptron(weights, "policy", seen, width)
        if "scorer.0.weight" in weights:
            perceptron(weights, "scorer", seen + width, 1)
        self._deviation = np.exp(weights["log_std"])
        self.low, self.high = space.scale.low, space.scale.high
        self._decoder = decoder
        self._observation = np.empty(self.view.observation_width, np.float32)

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        return self.decide(self.network(self.look()), rng, explore)

    @property
    def decoder(self) -> str:
        """Spelling of its decoder."""
        return self._decoder.spelling

    def look(self) -> Array:
        """The observation of the present state; a buffer that the next look overwrites."""
        self.view.refresh()
        return self.view.observation(self._observation)

    def decide(self, proto: Array, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action from the network's output for the observation looked at last.

        None where no action is valid.
        """
        try:
            row = self._row(proto, rng, explore)
        except NoValidAction:
            return None
        return plain_action(self.view.raw(row)[0])

    def _row(self, proto: Array, rng: np.random.Generator, explore: bool) -> Array:
        """Search row (1, m) of the action that is taken."""
        if explore and self._decoder.draws:
            return self._decoder.draw(self.view, proto, rng, self._observation)
        if explore:
            proto = proto + self._deviation * rng.standard_normal(len(proto), dtype=np.float32)
        proto = np.minimum(np.maximum(proto, self.low), self.high)  # np.clip is slower
        return self._decoder.choose(self.view, proto, rng, self._observation)

    def timed(self, rng: np.random.Generator) -> dict[str, float]:
        """One decision without exploring, and the seconds that its parts took."""
        began = time.perf_counter()
        self.view.refresh()
        encoded = time.perf_counter()
        self.view.actions()  # read once: the observation pools them, the decoder searches them
        read = time.perf_counter()
        observation = self.view.observation(self._observation)
        observed = time.perf_counter()
        proto = self.network(observation)
        proto = np.minimum(np.maximum(proto, self.low), self.high)
        predicted = time.perf_counter()
        row = self._decoder.choose(self.view, proto, rng, observation)
        plain_action(self.view.raw(row)[0])
        return {
            "encode": encoded - began,
            "actions": read - encoded,
            "observe": observed - read,
            "policy": predicted - observed,
            "search": time.perf_counter() - predicted,
        }


METHOD = ProjectionMethod()
