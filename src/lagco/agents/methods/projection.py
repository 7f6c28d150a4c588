"""`projection`: PPO over the Box of the latent space; points decode to the nearest valid action."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.agents.config import PPOConfig, TrainConfig, setting, with_default
from lagco.agents.inference.perceptron import perceptron, take_network
from lagco.agents.method import Method, PlotStyle, Weights
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace
from lagco.search import Metric, NoValidAction
from lagco.store import Tensors

if TYPE_CHECKING:
    from lagco.agents.learning.ppo import PPO
    from lagco.agents.training.latent_env import LatentVecEnv
    from lagco.agents.training.vector_env import ProblemVecEnv

_LARGEST_EXPONENT = 50.0


@dataclass(frozen=True)
class PointConfig(PPOConfig):
    """Settings of the methods that predict proto-actions by PPO."""

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
        Decoder(self.decoder, self.k)  # raises UsageError for wrong values


@dataclass(frozen=True)
class ProjectionConfig(PointConfig):
    """Settings of `projection`."""

    method = "projection"
    paper = {**PointConfig.paper, "entropy": 0.01, "log_std": 0.0, "anneal": False}  # noqa: RUF012
    released = {  # noqa: RUF012
        **PointConfig.released,
        "learning_rate": 1e-4,
        "batch_size": 128,
        "gamma": 0.95,
        "max_grad_norm": 0.1,
    }

    # a bonus per dimension would keep the noise of a wide Gaussian from ever falling
    entropy: float = with_default(PointConfig, "entropy", 0.0)
    log_std: float = setting(-1.0, "logarithm of the deviation with which exploration begins")

    @classmethod
    def preset_values(cls, preset: str, features: str) -> dict[str, Any]:
        """See :class:`~lagco.agents.config.TrainConfig`.

        With `paper` features, which say less about a state, the learning rate is annealed:
        otherwise the mode does not converge.
        """
        if preset == "default" and features == "paper":
            return {"anneal": True}
        return super().preset_values(preset, features)


def take_policy(tensors: Tensors, space: LatentSpace) -> None:
    """Take the policy network from a file, and the scorer if there is one."""
    take_network(tensors, "policy", outputs=space.scale.width)
    if "scorer.0.weight" in tensors:
        take_network(tensors, "scorer", outputs=1)


def take_logarithms(tensors: Tensors, name: str, shape: tuple[int, ...]) -> None:
    """Take logarithms from a file; refuse those whose exponentials would be 0 or infinite."""
    if np.abs(tensors.take(name, shape)).max() > _LARGEST_EXPONENT:
        raise tensors.refused(f"tensor {name!r} exceeds {_LARGEST_EXPONENT:g}")


class ProjectionActor:
    """Predicts a proto-action in one pass and decodes it.

    Attributes:
        ended: see :class:`~lagco.agents.method.ClockedActor`.
    """

    ended: Callable[[str], None] | None = None

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
        ended = self.ended
        proto = self.network(self.observe())
        if ended is not None:
            ended("policy")
        action = self.decide(proto, rng, explore)
        if ended is not None:
            ended("search")
        return action

    @property
    def decoder(self) -> str:
        """Its decoder, as spelled in settings."""
        return self._decoder.spelling

    def observe(self) -> Array:
        """The observation (w,) of the present state: a buffer that the next call overwrites."""
        view, ended = self.view, self.ended
        view.refresh()
        if ended is not None:
            ended("encode")
            view.actions()  # the observation needs them; read here, their time is counted apart
            ended("actions")
        observation = view.observation(self._observation)
        if ended is not None:
            ended("observe")
        return observation

    def decide(self, proto: Array, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action for the state last observed, given its proto-action (d,).

        None where no action is valid.
        """
        try:
            row = self._row(proto, rng, explore)
        except NoValidAction:
            return None
        return plain_action(self.view.raw(row)[0])

    def _row(self, proto: Array, rng: np.random.Generator, explore: bool) -> Array:
        """Search row (1, m) of the chosen action."""
        if explore and self._decoder.draws:
            return self._decoder.draw(self.view, proto, rng, self._observation)
        if explore:
            proto = proto + self._deviation * rng.standard_normal(len(proto), dtype=np.float32)
        proto = np.minimum(np.maximum(proto, self.low), self.high)  # np.clip is slower
        return self._decoder.choose(self.view, proto, rng, self._observation)


class ProjectionMethod(Method):
    """Gaussian over proto-actions; decodes to the nearest valid action by cosine."""

    name = "projection"
    label = "projection"
    style = PlotStyle("#0072b2", "circle")
    config: type[TrainConfig] = ProjectionConfig
    metric: Metric | None = "cosine"
    actor_class = ProjectionActor

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: PointConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        from lagco.agents.training.latent_env import vec_env_options

        assert self.metric is not None
        decoder = Decoder(config.decoder, config.k, self.metric)
        options = vec_env_options(config)
        return self.vec_env_class()(problem, instances, self.needed(space), decoder, **options)

    def vec_env_class(self) -> type[LatentVecEnv]:
        """Class of the training environment."""
        from lagco.agents.training.latent_env import ProjectionVecEnv

        return ProjectionVecEnv

    def model(self, env: Any, config: Any) -> PPO:
        from lagco.agents.learning.heads import GaussianHead
        from lagco.agents.learning.ppo import PPO

        space = env.action_space
        return PPO(env, lambda: GaussianHead(space.low, space.high, config.log_std), config)

    def weights(self, model: PPO) -> dict[str, Array]:
        return model.arrays()

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        space = self.needed(space)
        take_policy(tensors, space)
        take_logarithms(tensors, "log_std", (space.scale.width,))

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> ProjectionActor:
        assert self.metric is not None
        decoder = decoder or Decoder("nearest", 1, self.metric)
        return self.actor_class(env, weights, self.needed(space), decoder)


METHOD = ProjectionMethod()
