"""`soft-projection`: the same proto-action, but the policy is a softmax over the valid actions.

The network predicts a proto-action in one pass. The policy is the categorical distribution
softmax(<proto, u(a)> / temperature) over the valid actions; where there are more than 256, over the
256 nearest at the time of the rollout, which then stay fixed. It is PPO with a head of its own
(:mod:`lagco.agents.candidate_head`), which keeps component vectors and indices, not action rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from lagco.agents.action_tables import ActionTables, nearest_actions
from lagco.agents.candidate_head import CandidateHead
from lagco.agents.config import TrainConfig, with_default
from lagco.agents.method import Look, Weights
from lagco.agents.network import layer_arrays, policy_arguments, ppo_arguments
from lagco.agents.own_network import AgentWeights
from lagco.agents.ppo import BatchedPPO
from lagco.agents.projection import (
    LatentVecEnv,
    PointConfig,
    ProjectionActor,
    ProjectionMethod,
    exponent,
    take_policy,
    vec_env_options,
)
from lagco.agents.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace
from lagco.search import Metric, Neighbours
from lagco.store import Tensors

#: so many candidates at most
CANDIDATES = 256


class CandidateVecEnv(LatentVecEnv):
    """Actions are positions among the candidates that were offered for the present states.

    Attributes:
        offered: candidates per environment, of the states that were acted in last.
    """

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


class CandidateBatch(NamedTuple):
    """Observations with their candidates, padded: what the policy is evaluated on.

    observations (B, w); tables (B, n_c, d_c) per component, added into an action's vector from
    `starts` on; members (B, k, components) or None; valid (B, k).
    """

    observations: Tensor
    tables: tuple[Tensor, ...]
    starts: tuple[int, ...]
    members: Tensor | None
    valid: Tensor


def pad_candidates(observations: Tensor, candidates: Sequence[ActionTables]) -> CandidateBatch:
    """Pad the candidates of several states to one size; components that one lacks are zeros."""
    states, count = len(candidates), max(c.count for c in candidates)
    widest = max(candidates, key=lambda c: len(c.tables))
    valid = torch.zeros((states, count), dtype=torch.bool)
    for i, c in enumerate(candidates):
        valid[i, : c.count] = True
    tables = []
    for column, table in enumerate(widest.tables):
        found = [(i, c.tables[column]) for i, c in enumerate(candidates) if column < len(c.tables)]
        longest = max(len(rows) for _, rows in found)
        padded = np.zeros((states, longest, table.shape[1]), dtype=np.float32)
        for i, rows in found:
            padded[i, : len(rows)] = rows
        tables.append(torch.from_numpy(padded))
    members = None
    if widest.index is not None:
        flat = np.zeros((states, count, len(tables)), dtype=np.int64)
        for i, c in enumerate(candidates):
            assert c.index is not None
            flat[i, : c.count, : c.index.shape[1]] = c.index
        members = torch.from_numpy(flat)
    device = observations.device
    return CandidateBatch(
        observations,
        tuple([table.to(device) for table in tables]),
        widest.starts,
        None if members is None else members.to(device),
        valid.to(device),
    )


class SoftProjectionPolicy(ActorCriticPolicy):
    """Predicts a proto-action, and how evenly a softmax over candidates shall draw.

    Args:
        proto_width: d.
    """

    def __init__(self, *arguments: Any, proto_width: int, **options: Any) -> None:
        self._proto_width = proto_width
        super().__init__(*arguments, **options)

    def _build(self, lr_schedule: Any) -> None:
        self._build_mlp_extractor()
        self.action_net = nn.Linear(self.mlp_extractor.latent_dim_pi, self._proto_width)
        self.value_net = nn.Linear(self.mlp_extractor.latent_dim_vf, 1)
        self.log_temperature = nn.Parameter(torch.zeros(1))
        gains = {self.mlp_extractor: np.sqrt(2), self.action_net: 0.01, self.value_net: 1.0}
        for module, gain in gains.items():
            module.apply(lambda m, gain=gain: self.init_weights(m, gain))  # type: ignore[misc]
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def evaluate_actions(  # type: ignore[override]
        self, obs: CandidateBatch, actions: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Values, log-probabilities and entropies over the candidates of the rollout."""
        latent_pi, latent_vf = self.mlp_extractor(obs.observations)
        log_probabilities = self._log_probabilities(self.action_net(latent_pi), obs)
        log_prob = log_probabilities.gather(1, actions[:, None])[:, 0]
        entropy = -(log_probabilities.exp() * log_probabilities.clamp(min=-1e9)).sum(dim=1)
        return self.value_net(latent_vf), log_prob, entropy

    def _log_probabilities(self, protos: Tensor, batch: CandidateBatch) -> Tensor:
        logits = None
        for column, (table, start) in enumerate(zip(batch.tables, batch.starts, strict=True)):
            asked = protos[:, start : start + table.shape[2], None]
            part = torch.bmm(table, asked)[:, :, 0]
            if batch.members is not None:
                part = part.gather(1, batch.members[:, :, column])
            logits = part if logits is None else logits + part
        assert logits is not None
        scaled = logits * torch.exp(-self.log_temperature)
        return torch.log_softmax(scaled.masked_fill(~batch.valid, -1e9), dim=1)


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


class SoftProjectionMethod(ProjectionMethod):
    """Categorical over the valid actions; the mode is the nearest one by inner product."""

    name = "soft-projection"
    label = "soft-projection"
    look = Look("#d55e00", "star")
    config: type[TrainConfig] = SoftProjectionConfig
    metric: Metric | None = "inner"

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: PointConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        """See :class:`~lagco.agents.method.Method`."""
        assert space is not None
        decoder = Decoder("nearest", config.k, "inner")
        return CandidateVecEnv(problem, instances, space, decoder, **vec_env_options(config))

    def model(self, env: ProblemVecEnv, config: Any) -> BaseAlgorithm:
        """See :class:`~lagco.agents.method.Method`."""
        assert isinstance(env, CandidateVecEnv)
        keywords = policy_arguments(config)
        return BatchedPPO(
            SoftProjectionPolicy,
            env,
            head=lambda policy: CandidateHead(policy.log_temperature, env.offer),
            policy_kwargs=keywords | {"proto_width": env.space.scale.width},
            **ppo_arguments(config),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        """See :class:`~lagco.agents.method.Method`."""
        policy: Any = model.policy
        found = layer_arrays("policy", policy.mlp_extractor.policy_net, policy.action_net)
        return found | {"log_temperature": policy.log_temperature.detach().cpu().numpy()}

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        """See :class:`~lagco.agents.method.Method`."""
        assert space is not None
        take_policy(tensors, space)
        exponent(tensors, "log_temperature", (1,))

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> SoftProjectionActor:
        """See :class:`~lagco.agents.method.Method`."""
        assert space is not None
        return SoftProjectionActor(env, weights, space, decoder)


class SoftProjectionActor(ProjectionActor):
    """Predicts a proto-action in one pass; takes the nearest action, or samples by softmax."""

    def __init__(
        self,
        env: ContinuousEnv,
        weights: Weights,
        space: LatentSpace,
        decoder: Decoder | None,
    ) -> None:
        # the proto-action is not bounded, and nothing is added to it
        unbounded = AgentWeights(weights)
        unbounded["log_std"] = np.zeros(1, np.float32)
        super().__init__(env, unbounded, space, decoder or Decoder("nearest", 1, "inner"))
        self.low, self.high = np.full(1, -np.inf, np.float32), np.full(1, np.inf, np.float32)
        self._temperature = float(np.exp(weights["log_temperature"][0]))

    def _row(self, proto: Array, rng: np.random.Generator, explore: bool) -> Array:
        decoder = self._decoder
        if not explore or decoder.draws or decoder.spelling == "sampled":  # explore on their own
            return super()._row(proto, rng, explore and decoder.draws)
        rows, candidates = nearest_actions(self.view, proto, CANDIDATES)
        logits = candidates.products(proto) / self._temperature
        # the largest of these are draws from the softmax, without replacement
        perturbed = logits + rng.gumbel(size=len(logits))
        k = 1 if decoder.spelling == "nearest" else decoder.k
        best = np.argsort(-perturbed, kind="stable")[:k]
        drawn = Neighbours(rows[best], perturbed[best])
        return decoder.pick(self.view, drawn, rng, self._observation)


METHOD = SoftProjectionMethod()
