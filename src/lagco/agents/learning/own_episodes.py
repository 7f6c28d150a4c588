"""Reinforcement learning of the ranker from the agent's own episodes, without a teacher.

The first rounds imitate the best preview, so that the agent starts as good as `greedy`. After that
all environments play the same start side by side with the current weights. The return of an action
is the improvement over the best state of the episode so far; its advantage is relative to a critic
and normalised over the environments on that start. The ranker learns by the clipped policy gradient
of PPO; the policy learns to propose the actions of positive advantage.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.config import PPOConfig
from lagco.agents.inference.action_tables import CANDIDATES, ActionTables, nearest_actions
from lagco.agents.inference.ranker import FAR, make_ranker
from lagco.agents.learning.imitation import Imitation, ImitationSettings
from lagco.agents.learning.networks import mlp
from lagco.agents.teaching.labelled_states import LabelledStates, padded_features
from lagco.agents.teaching.ranker_network import RankerNetwork
from lagco.agents.teaching.teachers import NoTeacher, Teacher
from lagco.agents.training.checkpoint import module_arrays, restore_module
from lagco.agents.training.latent_env import CandidateVecEnv
from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.latent.decoder import plain_action
from lagco.search import NoValidAction

#: rounds that imitate the best preview: one for the policy, one for the ranker among its proposals
IMITATION_ROUNDS = 2
#: labelled states in each of these rounds, at most
MOST_IMITATED = 2048
#: mean KL divergence from the ranker that played at which an update stops early
TARGET_KL = 0.03
#: widths of the critic
_CRITIC = (64, 64)
_TINY = 1e-8


@dataclass
class Decision:
    """One decision of an own episode.

    Attributes:
        observation: of the state.
        actions: the actions among which the policy proposes.
        place: index of the action taken among them; -1 for one that the problem suggested.
        features: of the candidates.
        chosen: index of the action taken among the candidates.
        log_prob: log-probability of the action taken.
        reward: of the action taken.
    """

    observation: Array
    actions: ActionTables
    place: int
    features: CandidateFeatures
    chosen: int
    log_prob: float
    reward: float = 0.0


@dataclass
class OwnEpisode:
    """An episode of the agent: decisions, sum of rewards so far, and the largest such sum."""

    decisions: list[Decision] = field(default_factory=list)
    total: float = 0.0
    highest: float = 0.0
    ended: bool = False

    def rewards(self) -> Array:
        """Reward of each decision: (T,)."""
        return np.array([decision.reward for decision in self.decisions])


class RankerBatch(NamedTuple):
    """Decisions of a round as tensors (T, …)."""

    candidates: Tensor
    pairs: Tensor | None
    mask: Tensor
    chosen: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor


class OwnEpisodes(Imitation):
    """Learns from its own episodes.

    Args:
        env: training environment.
        config: settings of `taught-projection`; those of PPO count, too.
        teacher: of the first rounds.
        settings: see :class:`ImitationSettings`.
    """

    def __init__(
        self, env: CandidateVecEnv, config: PPOConfig, teacher: Teacher, settings: ImitationSettings
    ) -> None:
        self._temperature = float(getattr(config, "temperature", 1.0))
        self._taught = 0 if isinstance(teacher, NoTeacher) else IMITATION_ROUNDS
        self._critic: nn.Module | None = None
        self._critic_optimiser: torch.optim.Optimizer | None = None
        self._unit = 0.0  # of returns, as the critic expects them; from the first own round on
        super().__init__(env, config, teacher, settings)

    # -- collecting

    def collect_rollouts(
        self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        """Collect labelled states in the first rounds, whole episodes of the agent later."""
        if self._round < self._taught:
            shown = min(n_rollout_steps, max(1, MOST_IMITATED // env.num_envs))
            return super().collect_rollouts(env, callback, rollout_buffer, shown)
        source = self._source
        self.policy.set_training_mode(False)
        callback.on_rollout_start()
        source.reset()
        self._groups: list[list[OwnEpisode]] = []
        steps, wanted = 0, n_rollout_steps * source.num_envs
        while steps < wanted:
            source.join(0)
            episodes = [OwnEpisode() for _ in source.problems]
            while not all(episode.ended for episode in episodes):
                steps += self._step_together(episodes)
                if not callback.on_step():
                    return False
            self._groups.append(episodes)
        callback.on_rollout_end()
        self._round += 1
        return True

    def _step_together(self, episodes: list[OwnEpisode]) -> int:
        """Take one step of every episode that is not over; returns their number."""
        observations = self._source.observations()
        protos = self._protos(observations)
        going = [index for index, episode in enumerate(episodes) if not episode.ended]
        for index in going:
            self._decide(index, episodes[index], protos[index], observations[index])
        self._last_obs = self._source.observations()
        self.num_timesteps += len(going)
        return len(going)

    def _decide(self, index: int, episode: OwnEpisode, proto: Array, observation: Array) -> None:
        source = self._source
        view = source.views[index]
        decision = None
        try:
            rows, actions = nearest_actions(view, proto, CANDIDATES)
            nearest = self._nearest(view, rows, actions, proto)
            position = 0
            if len(nearest.scores) > 1:
                features = self._features(view, nearest, observation)
                logits = self._logits(features)
                position = int((logits + self._rng.gumbel(size=len(logits))).argmax())
                row = tuple(nearest.indices[position].tolist())
                places = {given: place for place, given in enumerate(map(tuple, rows.tolist()))}
                decision = Decision(
                    observation.copy(),
                    actions.trimmed().compact(),
                    places.get(row, -1),
                    features,
                    position,
                    float(logits[position] - np.logaddexp.reduce(logits)),
                )
            raw = plain_action(view.raw(nearest.indices[position : position + 1])[0])
        except NoValidAction:
            raw = None
        builds = not source.problems[index].is_feasible()
        reward, episode.ended, _ = source.step_problem(index, raw)
        episode.total += reward
        if not builds:  # any state may be the solution: only improving on the best one is a gain
            reward = max(0.0, episode.total - episode.highest)
            episode.highest = max(episode.highest, episode.total)
        if decision is not None:
            decision.reward = reward
            episode.decisions.append(decision)
        elif episode.decisions:
            episode.decisions[-1].reward += reward

    def _logits(self, features: CandidateFeatures) -> Array:
        """Logits of candidates; all equal before there is a ranker."""
        if self._compiled is None:
            return np.zeros(len(features.each))
        found: Array = self._compiled(features.each, features.pairs).astype(np.float64)
        return found / self._temperature

    # -- fitting

    def train(self) -> None:
        """Fit policy, ranker and critic to the round."""
        if self._round <= self._taught:
            super().train()
            return
        self.policy.set_training_mode(True)
        decisions = [d for group in self._groups for episode in group for d in episode.decisions]
        if not decisions:
            return
        update, rate = self._update(decisions), self._rate()
        ranked = self._improve(update, rate)
        better = LabelledStates()
        for decision, advantage in zip(decisions, update.advantages.tolist(), strict=True):
            if advantage > 0.0 and decision.place >= 0:
                right = np.zeros(len(decision.actions), dtype=bool)
                right[decision.place] = True
                better.observations.append(decision.observation)
                better.actions.append(decision.actions)
                better.right.append(right)
        losses = self._fit_policy(better, rate, epochs=1)
        self._groups = []
        self._n_updates += 1
        self.logger.record("train/states", len(decisions))
        for name, value in (ranked | {"policy_loss": float(np.mean(losses))}).items():
            self.logger.record(f"train/{name}", value)

    def _update(self, decisions: list[Decision]) -> RankerBatch:
        """Decisions as tensors; advantages are normalised per start."""
        given = [(d.features, np.arange(len(d.features.each)) == d.chosen) for d in decisions]
        candidates, pairs, mask, right = padded_features(given)
        if self._ranker is None:
            self._make_ranker(candidates.shape[2], 0 if pairs is None else pairs.shape[3])
            assert self._ranker is not None
            self._ranker.to("cpu").standardise_by(candidates, pairs, mask)
            self._ranker.to(self.device)
        if self._critic is None:
            self._make_critic()
        values = self._values_of(candidates, mask)
        self._unit = self._unit or self._spread()
        advantages, returns, begin = [], [], 0
        for group in self._groups:
            found = []
            for episode in group:
                count = len(episode.decisions)
                rewards = episode.rewards() / self._unit
                own = values[begin : begin + count]
                found.append(advantages_of(rewards, own, self.gamma, self.gae_lambda))
                returns.append(found[-1] + own)
                begin += count
            joined = np.concatenate(found)
            advantages.append((joined - joined.mean()) / (joined.std() + _TINY))
        numbers = [
            np.array([d.log_prob for d in decisions]),
            *map(np.concatenate, (advantages, returns)),
        ]
        return RankerBatch(
            candidates,
            pairs,
            mask,
            right.to(torch.float32).argmax(dim=1),
            *(torch.from_numpy(array.astype(np.float32)) for array in numbers),
        )

    def _spread(self) -> float:
        """Standard deviation of the round's returns; 1 where they are all equal."""
        episodes = [episode.rewards() for group in self._groups for episode in group]
        returns = [advantages_of(own, np.zeros(len(own)), self.gamma, 1.0) for own in episodes]
        return float(np.concatenate(returns).std()) or 1.0

    def _improve(self, update: RankerBatch, rate: float) -> dict[str, float]:
        """Fit ranker and critic; returns means to log."""
        ranker, critic, device = self._ranker, self._critic, self.device
        optimiser, critic_optimiser = self._ranker_optimiser, self._critic_optimiser
        assert ranker is not None
        assert critic is not None
        assert optimiser is not None
        assert critic_optimiser is not None
        for group in (*optimiser.param_groups, *critic_optimiser.param_groups):
            group["lr"] = self.settings.policy_rate * rate
        clip: float = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        logged: dict[str, list[float]] = {"ranker_loss": [], "entropy": [], "kl": [], "critic": []}
        for _ in range(self.n_epochs):
            moved: list[float] = []
            for chosen in self._batches(len(update.mask), 1):
                at = torch.from_numpy(chosen)
                candidates, mask = update.candidates[at].to(device), update.mask[at].to(device)
                pairs = None if update.pairs is None else update.pairs[at].float().to(device)
                logits = ranker(candidates, pairs, mask) / self._temperature
                log_probs = logits.log_softmax(dim=1)
                taken = log_probs.gather(1, update.chosen[at, None].to(device))[:, 0]
                change = taken - update.log_probs[at].to(device)
                ratio, advantages = change.exp(), update.advantages[at].to(device)
                clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
                loss = -torch.min(ratio * advantages, clipped * advantages).mean()
                entropy = -(log_probs.exp() * log_probs).masked_fill(~mask, 0.0).sum(dim=1).mean()
                logged["ranker_loss"].append(
                    self._descend(optimiser, loss - self.ent_coef * entropy)
                )
                expected = critic(self._pooled(candidates, mask))[:, 0]
                error = nn.functional.mse_loss(expected, update.returns[at].to(device))
                logged["critic"].append(self._descend(critic_optimiser, error))
                logged["entropy"].append(float(entropy.detach()))
                moved.append(float((ratio - 1.0 - change).mean().detach()))
            logged["kl"] += moved
            if np.mean(moved) > TARGET_KL:
                break
        self._average = copy.deepcopy(ranker)
        self._compiled = make_ranker(self._average.arrays())
        return {name: float(np.mean(values)) for name, values in logged.items()}

    def _make_critic(self) -> None:
        assert self._ranker is not None
        state = torch.get_rng_state()
        torch.manual_seed((self.seed or 0) + 6)
        inputs = 3 * len(self._ranker.mean)
        self._critic = mlp(inputs, _CRITIC, 1, nn.LeakyReLU, 1.0).to(self.device)
        torch.set_rng_state(state)
        self._critic_optimiser = torch.optim.Adam(self._critic.parameters())

    def _pooled(self, candidates: Tensor, mask: Tensor) -> Tensor:
        """Inputs (B, 3 f) of the critic: mean, maximum and minimum of the candidates' columns."""
        ranker = self._ranker
        assert isinstance(ranker, RankerNetwork)
        seen = ((candidates - ranker.mean) * ranker.factor).clamp(-FAR, FAR)
        there = mask[:, :, None]
        mean = seen.masked_fill(~there, 0.0).sum(dim=1) / there.sum(dim=1)
        largest = seen.masked_fill(~there, -FAR).amax(dim=1)
        least = seen.masked_fill(~there, FAR).amin(dim=1)
        return torch.cat([mean, largest, least], dim=1)

    def _values_of(self, candidates: Tensor, mask: Tensor) -> Array:
        assert self._critic is not None
        with torch.no_grad():
            parts = [
                self._critic(self._pooled(some.to(self.device), there.to(self.device)))[:, 0].cpu()
                for some, there in zip(candidates.split(4096), mask.split(4096), strict=True)
            ]
        found: Array = torch.cat(parts).numpy().astype(np.float64)
        return found

    # -- checkpoints

    def extra_state(self) -> dict[str, Any]:
        """See :class:`Imitation`; with the unit of returns."""
        return super().extra_state() | {"unit": self._unit}

    def extra_arrays(self) -> dict[str, Array]:
        """See :class:`Imitation`; with the critic."""
        found = super().extra_arrays()
        if self._critic is not None:
            found |= module_arrays("critic", self._critic, self._critic_optimiser)
        return found

    def restore_extra(self, state: Mapping[str, Any], arrays: dict[str, Array]) -> None:
        """See :class:`Imitation`."""
        super().restore_extra(state, arrays)
        self._unit = float(state["unit"])
        if any(name.startswith("critic/") for name in arrays):
            self._make_critic()
            assert self._critic is not None
            restore_module("critic", self._critic, self._critic_optimiser, arrays)


def advantages_of(rewards: Array, values: Array, gamma: float, decay: float) -> Array:
    """Generalised advantage estimates (T,) of a terminated episode."""
    found, later = np.empty(len(rewards)), 0.0
    following = np.append(values[1:], 0.0)
    for step in range(len(rewards) - 1, -1, -1):
        error = rewards[step] + gamma * following[step] - values[step]
        later = found[step] = error + gamma * decay * later
    return found
