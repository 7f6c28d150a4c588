"""`soft-projection`: the same proto-action, but the policy is a softmax over the valid actions.

The network predicts a proto-action in one pass. The policy is the categorical distribution
softmax(<proto, u(a)> / temperature) over the valid actions; where there are more than 256, over the
256 nearest at the time of the rollout, which then stay fixed. It is an ordinary PPO of
Stable-Baselines3 with a policy and a rollout buffer of its own; the buffer keeps component vectors
and indices, not action rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import RolloutBufferSamples
from torch import Tensor, nn

from lagco.agents.config import TrainConfig, with_default
from lagco.agents.method import Look, Weights
from lagco.agents.network import layer_arrays, policy_arguments, ppo_arguments
from lagco.agents.projection import (
    LatentVecEnv,
    PointConfig,
    ProjectionActor,
    ProjectionMethod,
    vec_env_options,
)
from lagco.agents.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace, LatentView
from lagco.search import Metric, Neighbours, NoValidAction, ProductSpace

#: so many candidates at most
CANDIDATES = 256


@dataclass
class Candidates:
    """The actions that a policy chose among in one state.

    Attributes:
        rows: search rows (k, m) of the state's action set.
        tables: component vectors, each (n_c, d_c); an action's vector is their concatenation.
        index: (k, components) row of each table; None where action i is row i of the only table.
    """

    rows: Array
    tables: tuple[Array, ...]
    index: Array | None

    def logits(self, proto: Array) -> Array:
        """Inner products (k,) of all candidates with a proto-action (d,)."""
        start, total = 0, None
        for column, table in enumerate(self.tables):
            part = table @ proto[start : start + table.shape[1]]
            start += table.shape[1]
            if self.index is None:
                return part
            part = part[self.index[:, column]]
            total = part if total is None else total + part
        assert total is not None
        return total

    def vector(self, position: int) -> Array:
        """Vector (d,) of one candidate."""
        if self.index is None:
            return self.tables[0][position]
        picked = self.index[position]
        return np.concatenate([t[i] for t, i in zip(self.tables, picked, strict=True)])


def find_candidates(view: LatentView, proto: Array, most: int = CANDIDATES) -> Candidates:
    """The valid actions of a state, or the `most` nearest of them by inner product."""
    actions = view.actions()
    space = actions.space
    small = not isinstance(space, ProductSpace) or space.size <= most
    if isinstance(space, ProductSpace) and small:
        rows = actions.list()
        valid = np.asarray(view.env.are_valid_actions(view.raw(rows)), dtype=bool)
        rows = rows[valid] if not valid.all() else rows
    else:
        rows = actions.nearest(proto, most, "inner", view.env).indices
    if not len(rows):
        raise NoValidAction("no action is valid")
    if not isinstance(space, ProductSpace) or space.pooling != "concat":
        return Candidates(rows, (actions.vectors(rows).astype(np.float32),), None)
    if len(space.tables) == 1:
        return Candidates(rows, (space.tables[0][rows[:, 0]],), None)
    tables, index = [], np.empty(rows.shape, dtype=np.int64)
    for column, table in enumerate(space.tables):
        used, index[:, column] = np.unique(rows[:, column], return_inverse=True)
        tables.append(table[used])
    return Candidates(rows, tuple(tables), index)


class CandidateVecEnv(LatentVecEnv):
    """Actions are positions among the candidates that were offered for the present states.

    Attributes:
        offered: candidates per environment, of the states that were acted in last.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.offered: list[Candidates] = []
        super().__init__(*arguments, **options)

    def _action_space(self) -> gym.Space[Any]:
        return gym.spaces.Discrete(CANDIDATES)

    def offer(self, protos: Array) -> list[Candidates]:
        """Candidates of the present states for the policy's proto-actions (N, d)."""
        self.offered = [
            find_candidates(view, proto) for view, proto in zip(self.views, protos, strict=True)
        ]
        return self.offered

    def _raw_action(self, index: int, action: Any) -> Any:
        candidates = self.offered[index]
        if self.executed is not None:
            self.executed[index].append(candidates.vector(int(action)))
        row = candidates.rows[int(action)][None]
        return plain_action(self.views[index].raw(row)[0])


class CandidateBatch(NamedTuple):
    """Observations with their candidates, padded: what the policy is evaluated on.

    observations (B, w); tables (B, n_c, d_c) per component; members (B, k, components) or None;
    valid (B, k).
    """

    observations: Tensor
    tables: tuple[Tensor, ...]
    members: Tensor | None
    valid: Tensor


def pad_candidates(observations: Tensor, candidates: Sequence[Candidates]) -> CandidateBatch:
    """Pad the candidates of several states to one size."""
    first = candidates[0]
    count = max(len(c.rows) for c in candidates)
    valid = torch.zeros((len(candidates), count), dtype=torch.bool)
    for i, c in enumerate(candidates):
        valid[i, : len(c.rows)] = True
    tables = []
    for column, table in enumerate(first.tables):
        longest = max(len(c.tables[column]) for c in candidates)
        padded = np.zeros((len(candidates), longest, table.shape[1]), dtype=np.float32)
        for i, c in enumerate(candidates):
            padded[i, : len(c.tables[column])] = c.tables[column]
        tables.append(torch.from_numpy(padded))
    index = None
    if first.index is not None:
        flat = np.zeros((len(candidates), count, len(first.tables)), dtype=np.int64)
        for i, c in enumerate(candidates):
            assert c.index is not None
            flat[i, : len(c.index)] = c.index
        index = torch.from_numpy(flat)
    return CandidateBatch(observations, tuple(tables), index, valid)


class CandidateRolloutBuffer(RolloutBuffer):
    """A rollout buffer that also keeps the candidates of every state.

    Args:
        source: the environment that offers them.
    """

    def __init__(self, *arguments: Any, source: CandidateVecEnv, **options: Any) -> None:
        self._source = source
        self._candidates: list[list[Candidates]] = []
        super().__init__(*arguments, **options)

    def reset(self) -> None:
        """Forget everything."""
        self._candidates = []
        super().reset()

    def add(self, *arguments: Any, **options: Any) -> None:
        """Add a step of all environments; the candidates are those offered last."""
        self._candidates.append(list(self._source.offered))
        super().add(*arguments, **options)

    def _get_samples(self, batch_inds: Array, env: Any = None) -> RolloutBufferSamples:
        samples = super()._get_samples(batch_inds, env)
        steps = len(self._candidates)
        # the base class lays out transitions environment by environment
        chosen = [self._candidates[i % steps][i // steps] for i in batch_inds]
        return samples._replace(observations=pad_candidates(samples.observations, chosen))  # type: ignore[arg-type]


class SoftProjectionPolicy(ActorCriticPolicy):
    """Predicts a proto-action; acts by softmax over candidates.

    Args:
        proto_width: d.
        source: the environment that offers candidates.
    """

    def __init__(
        self, *arguments: Any, proto_width: int, source: CandidateVecEnv, **options: Any
    ) -> None:
        self._proto_width = proto_width
        self._source = source
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

    def forward(self, obs: Tensor, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """Positions among the candidates, values and log-probabilities."""
        latent_pi, latent_vf = self.mlp_extractor(obs)
        protos = self.action_net(latent_pi)
        candidates = self._source.offer(protos.detach().numpy())
        log_probabilities = self._log_probabilities(protos, pad_candidates(obs, candidates))
        if deterministic:
            actions = log_probabilities.argmax(dim=1)
        else:
            actions = torch.multinomial(log_probabilities.exp(), 1)[:, 0]
        log_prob = log_probabilities.gather(1, actions[:, None])[:, 0]
        return actions, self.value_net(latent_vf), log_prob

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
        start, logits = 0, None
        for column, table in enumerate(batch.tables):
            width = table.shape[2]
            part = torch.bmm(table, protos[:, start : start + width, None])[:, :, 0]
            if batch.members is not None:
                part = part.gather(1, batch.members[:, :, column])
            logits = part if logits is None else logits + part
            start += width
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
        return PPO(
            SoftProjectionPolicy,
            env,
            policy_kwargs=keywords | {"proto_width": env.space.scale.width, "source": env},
            rollout_buffer_class=CandidateRolloutBuffer,
            rollout_buffer_kwargs={"source": env},
            **ppo_arguments(config),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        """See :class:`~lagco.agents.method.Method`."""
        policy: Any = model.policy
        found = layer_arrays("policy", policy.mlp_extractor.policy_net, policy.action_net)
        return found | {"log_temperature": policy.log_temperature.detach().numpy()}

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
        unbounded = {**weights, "log_std": np.zeros(1, np.float32)}
        super().__init__(env, unbounded, space, decoder or Decoder("nearest", 1, "inner"))
        self._low, self._high = np.full(1, -np.inf, np.float32), np.full(1, np.inf, np.float32)
        self._temperature = float(np.exp(weights["log_temperature"][0]))

    def _row(self, proto: Array, rng: np.random.Generator, explore: bool) -> Array:
        decoder = self._decoder
        if not explore or decoder.spelling == "sampled":  # which explores on its own
            return super()._row(proto, rng, False)
        candidates = find_candidates(self.view, proto)
        logits = candidates.logits(proto) / self._temperature
        # the largest of these are draws from the softmax, without replacement
        perturbed = logits + rng.gumbel(size=len(logits))
        k = 1 if decoder.spelling == "nearest" else decoder.k
        best = np.argsort(-perturbed, kind="stable")[:k]
        drawn = Neighbours(candidates.rows[best], perturbed[best])
        return decoder.pick(self.view, drawn, rng, self._observation)


METHOD = SoftProjectionMethod()
