"""`soft-projection`: PPO whose policy is a softmax over the valid actions.

The network predicts a proto-action in one pass. The policy is the categorical distribution
softmax(<proto, u(a)> / temperature) over the valid actions; where there are more than 256, over the
256 nearest ones at the time of the rollout. The head is in :mod:`lagco.agents.learning.candidates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.agents.config import TrainConfig, with_default
from lagco.agents.inference.action_tables import CANDIDATES, nearest_products
from lagco.agents.inference.perceptron import AgentWeights
from lagco.agents.method import PlotStyle, Weights
from lagco.agents.methods.projection import (
    PointConfig,
    ProjectionActor,
    ProjectionMethod,
    take_logarithms,
    take_policy,
)
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace
from lagco.search import Metric, Neighbours, NoValidAction
from lagco.store import Tensors

if TYPE_CHECKING:
    from lagco.agents.learning.ppo import PPO
    from lagco.agents.training.latent_env import LatentVecEnv


@dataclass(frozen=True)
class SoftProjectionConfig(PointConfig):
    """Settings of `soft-projection`.

    The decoder is the one of the trained agent; in training the policy draws from its softmax.
    """

    method = "soft-projection"
    paper = {  # noqa: RUF012
        **PointConfig.paper,
        "entropy": 0.01,
        "gamma": 0.9,
        "gae_lambda": 0.95,
        "batch_size": 64,
        "anneal": False,
    }

    entropy: float = with_default(PointConfig, "entropy", 0.001)
    gamma: float = with_default(PointConfig, "gamma", 0.95)
    gae_lambda: float = with_default(PointConfig, "gae_lambda", 0.9)
    batch_size: int = with_default(PointConfig, "batch_size", 256)
    anneal: bool = with_default(PointConfig, "anneal", True)


class SoftProjectionActor(ProjectionActor):
    """Predicts a proto-action in one pass; takes the nearest action, or samples by softmax."""

    def __init__(
        self,
        env: ContinuousEnv,
        weights: Weights,
        space: LatentSpace,
        decoder: Decoder,
    ) -> None:
        # proto-actions are neither clipped nor perturbed
        unbounded = AgentWeights(weights)
        unbounded["log_std"] = np.zeros(1, np.float32)
        super().__init__(env, unbounded, space, decoder)
        self.low, self.high = np.full(1, -np.inf, np.float32), np.full(1, np.inf, np.float32)
        self._temperature = float(np.exp(weights["log_temperature"][0]))

    def _row(self, proto: Array, rng: np.random.Generator, explore: bool) -> Array:
        decoder = self._decoder
        # the decoders `ranked` and `sampled` explore by themselves
        if not explore or decoder.draws or decoder.spelling == "sampled":
            return super()._row(proto, rng, explore and decoder.draws)
        rows, products = nearest_products(self.view, proto, CANDIDATES)
        logits = products / self._temperature
        # Gumbel top-k: draws from the softmax without replacement
        perturbed = logits + rng.gumbel(size=len(logits))
        k = 1 if decoder.spelling == "nearest" else decoder.k
        best = np.argsort(-perturbed, kind="stable")[:k]
        drawn = Neighbours(rows[best], perturbed[best])
        return decoder.pick(self.view, drawn, rng, self._observation)

    def likelihoods(self, proto: Array) -> tuple[Array, Array]:
        """Raw actions (k, …) of the policy's support, and their log-probabilities (k,).

        Both are empty where no action is valid.
        """
        decoder, view = self._decoder, self.view
        try:
            if decoder.draws:
                found = decoder.candidates(view, proto)
                rows, logits = found.indices, decoder.logits(view, found, self._observation)
            else:
                rows, products = nearest_products(view, proto, CANDIDATES)
                logits = products / self._temperature
        except NoValidAction:
            return np.zeros(0, np.int64), np.zeros(0)
        shifted = logits.astype(np.float64) - logits.max()
        return view.raw(rows), shifted - np.log(np.exp(shifted).sum())


class SoftProjectionMethod(ProjectionMethod):
    """Categorical over the valid actions; the mode is the nearest one by inner product."""

    name = "soft-projection"
    label = "soft-projection"
    style = PlotStyle("#d55e00", "star")
    config: type[TrainConfig] = SoftProjectionConfig
    metric: Metric | None = "inner"
    actor_class = SoftProjectionActor

    def vec_env_class(self) -> type[LatentVecEnv]:
        from lagco.agents.training.latent_env import CandidateVecEnv

        return CandidateVecEnv

    def model(self, env: Any, config: Any) -> PPO:
        from lagco.agents.learning.candidates import CandidateHead
        from lagco.agents.learning.ppo import PPO

        return PPO(env, lambda: CandidateHead(env.space.scale.width, env.offer), config)

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        take_policy(tensors, self.needed(space))
        take_logarithms(tensors, "log_temperature", (1,))


METHOD = SoftProjectionMethod()
