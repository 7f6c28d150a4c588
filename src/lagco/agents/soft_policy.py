"""The softmax policy of `soft-projection` in training: its environment and network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from lagco.agents.action_tables import CANDIDATES, ActionTables, nearest_actions
from lagco.agents.latent_env import LatentVecEnv
from lagco.arrays import Array
from lagco.latent.decoder import plain_action


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
