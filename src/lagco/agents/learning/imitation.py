"""Imitation of a teacher: the policy proposes actions, a ranker chooses among them.

A round collects labelled states in all environments, then fits the policy (over all valid actions
of a state) and the ranker (over the candidates nearest to its proto-action) by cross-entropy. A
round is a rollout and an update of Stable-Baselines3, so curves, callbacks and checkpoints work as
for every method.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.config import PPOConfig
from lagco.agents.inference.action_tables import CANDIDATES, ActionTables, labelled_actions
from lagco.agents.inference.ranker import PREFIX, LinearRanker, Ranker, make_ranker
from lagco.agents.learning.candidates import CandidateHead, pad_candidates
from lagco.agents.learning.networks import policy_arrays
from lagco.agents.learning.ppo import PPO
from lagco.agents.method import Weights
from lagco.agents.teaching.fine_tuning import EncoderTuner
from lagco.agents.teaching.labelled_states import LabelledStates, padded_features, right_loss
from lagco.agents.teaching.ranker_network import LinearRankerNetwork, RankerNetwork
from lagco.agents.teaching.teachers import Teacher
from lagco.agents.training.checkpoint import load_module, module_arrays, restore_module
from lagco.agents.training.latent_env import CandidateVecEnv
from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.errors import LagcoError, UsageError
from lagco.latent.candidates import (
    SeenColumns,
    candidate_features,
    feature_set_of,
    ranker_on,
    with_suggestions,
)
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentView
from lagco.results.numbers import of_things
from lagco.search import Neighbours, NoValidAction

#: decay of the exponential moving averages that decide
_AVERAGE = 0.998
#: share of the run over which learning rates warm up, and their final factor
_WARM_UP, _LOWEST = 0.05, 0.02
_WEIGHT_DECAY = 1e-2
#: factor of the ranker's learning rate where it is linear: a single layer, few updates
_LINEAR_RATE = 10.0


@dataclass(frozen=True)
class ImitationSettings:
    """Settings of :class:`Imitation`.

    Attributes:
        k: candidates that the ranker chooses among; 0 for no ranker.
        width: of the ranker's layers.
        layers: of the ranker; 0 for a linear one.
        own_share: share of the episodes whose first steps are the learner's.
        policy_rate: learning rate of the policy.
        ranker_rate: learning rate of the ranker.
        tunes: whether the encoder is fine-tuned with the policy.
        columns: inputs of the ranker; None for all of a problem that does not name them.
    """

    k: int = 16
    width: int = 48
    layers: int = 3
    own_share: float = 0.5
    policy_rate: float = 1e-3
    ranker_rate: float = 2e-3
    tunes: bool = False
    columns: SeenColumns | None = None


class Imitation(PPO):
    """Imitates a teacher.

    Args:
        env: training environment.
        config: settings of `taught-projection`.
        teacher: gives the right actions of a state.
        settings: see :class:`ImitationSettings`.
    """

    env: CandidateVecEnv

    def __init__(
        self, env: CandidateVecEnv, config: PPOConfig, teacher: Teacher, settings: ImitationSettings
    ) -> None:
        self.teacher = teacher
        self.settings = settings
        super().__init__(env, lambda: CandidateHead(env.space.scale.width, env.offer), config)

    def _setup_model(self) -> None:
        super()._setup_model()
        self._rng = np.random.default_rng([self.seed or 0, 4])
        self._found = LabelledStates()
        self._round = 0
        self._ranker: RankerNetwork | None = None
        self._average: RankerNetwork | None = None
        self._compiled: Ranker | LinearRanker | None = None
        self._ranker_optimiser: torch.optim.Optimizer | None = None
        #: average of the policy over the last updates: network and head
        self._acting = nn.ModuleList([copy.deepcopy(self.policy.policy_net), self._make_head()])
        self._descents = 0
        source = self._source
        self._tuner = EncoderTuner(source.space, source.views) if self.settings.tunes else None

    # -- collecting

    def collect_rollouts(
        self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        """Collect labelled states: `n_rollout_steps` in every environment."""
        source = self._source
        self.policy.set_training_mode(False)
        self._found = LabelledStates()
        callback.on_rollout_start()
        # every round begins with new episodes, so that a checkpoint between two is complete
        source.reset()
        self._turns = [_Turn() for _ in source.problems]
        for index in range(len(self._turns)):
            self._begin(index)
        self._last_obs = source.observations()
        for _ in range(n_rollout_steps):
            assert isinstance(self._last_obs, np.ndarray)
            protos = self._protos(self._last_obs)
            for index, proto in enumerate(protos):
                self._step(index, proto, self._last_obs[index])
            self._last_obs = source.observations()
            self.num_timesteps += len(protos)
            if not callback.on_step():
                return False
        callback.on_rollout_end()
        self._round += 1
        return True

    @property
    def _source(self) -> CandidateVecEnv:
        env: Any = self.env
        assert isinstance(env, CandidateVecEnv)
        return env

    def _protos(self, observations: Array) -> Array:
        with torch.no_grad():
            given = torch.from_numpy(observations).to(self.device)
            found: Array = self._acting[0](given).cpu().numpy()
        return found

    def _begin(self, index: int) -> None:
        """Prepare the teacher for an episode; draw how many first steps are the learner's."""
        source, turn = self._source, self._turns[index]
        problem = source.problems[index]
        teacher, seed = self.teacher, int(self._rng.integers(2**31))
        drawn = source.episode_seed(index)
        wanted = teacher.episode_seed(problem, drawn)
        if wanted != drawn:
            source.reseed(index, wanted)
        teacher.timed(teacher.begin, problem, wanted)
        learns = teacher.continues and self._round > 1
        learns = learns and self._rng.random() < self.settings.own_share
        turn.own_steps = int(self._rng.integers(problem.episode_length)) if learns else 0
        turn.seed = seed
        turn.labels = self.teacher.anywhere or not turn.own_steps

    def _step(self, index: int, proto: Array, observation: Array) -> None:
        source, turn = self._source, self._turns[index]
        problem, view = source.problems[index], source.views[index]
        teacher = self.teacher
        if turn.own_steps == 0 and not turn.labels:
            turn.labels = bool(teacher.timed(teacher.take_over, problem, turn.seed))
        known = teacher.timed(teacher.actions, problem) if turn.labels else np.zeros(0)
        try:
            rows, actions, right = labelled_actions(view, proto, CANDIDATES, known)
            nearest = self._nearest(view, rows, actions, proto)
            if len(known) and right.any():
                self._add_labelled(view, observation, rows, actions, right, nearest)
                if self._tuner is not None:
                    self._found.graphs.append(self._tuner.see(index, rows))
            if turn.own_steps > 0 or not right.any():
                row = self._learner_choice(view, nearest, observation)
            elif teacher.ordered:
                row = view.actions().rows(problem.parts_from_actions(known[:1]))
            else:
                row = rows[self._rng.choice(np.flatnonzero(right))][None]
            raw = plain_action(view.raw(row)[0])
        except NoValidAction:
            raw = None
        turn.own_steps = max(0, turn.own_steps - 1)
        _, ended, _ = source.step_problem(index, raw)
        if not ended and turn.labels and turn.own_steps == 0 and not len(known):
            source.restart(index)  # the teacher's episode is over
            ended = True
        if ended:
            self._begin(index)

    def _nearest(
        self, view: LatentView, rows: Array, actions: ActionTables, proto: Array
    ) -> Neighbours:
        """Candidates that the ranker chooses among; without a ranker, the policy's action."""
        scores = actions.products(proto)
        best = np.argsort(-scores, kind="stable")[: max(1, self.settings.k)]
        found = Neighbours(rows[best], scores[best])
        return with_suggestions(view, proto, found) if self.settings.k else found

    def _add_labelled(
        self,
        view: LatentView,
        observation: Array,
        rows: Array,
        actions: ActionTables,
        right: Array,
        nearest: Neighbours,
    ) -> None:
        """Add a labelled state."""
        found = self._found
        found.observations.append(observation.copy())
        found.actions.append(actions.compact())
        found.right.append(right)
        features = None
        if self.settings.k and self._round > 0 and len(nearest.scores) > 1:
            positions = {tuple(row): i for i, row in enumerate(rows.tolist())}
            places = [positions.get(tuple(row), -1) for row in nearest.indices.tolist()]
            among = np.append(right, False)[places]  # suggestions may lie further away
            if among.any() and not among.all():
                features = self._features(view, nearest, observation), among
        found.features.append(features)

    def _features(
        self, view: LatentView, nearest: Neighbours, observation: Array
    ) -> CandidateFeatures:
        """Features of the candidates, restricted to the ranker's columns."""
        found, wanted = candidate_features(view, nearest, observation), self.settings.columns
        offered = SeenColumns.of(type(view.env), feature_set_of(view.env))
        return found if offered is None or wanted is None else offered.picked(found, wanted)

    def _learner_choice(self, view: Any, nearest: Neighbours, observation: Array) -> Array:
        """Search row (1, m) of the learner's action: by the ranker, else nearest."""
        if self._compiled is None or len(nearest.scores) == 1:
            return nearest.indices[:1]
        ranker = ranker_on(
            self._compiled, type(view.env), self.settings.columns, feature_set_of(view.env)
        )
        decoder = Decoder("ranked", self.settings.k, "inner", ranker=ranker)
        if self._rng.random() < 0.5:
            return decoder.pick(view, nearest, self._rng, observation)
        return decoder.draw_among(view, nearest, self._rng, observation)

    # -- fitting

    def train(self) -> None:
        """Fit policy and ranker to the states of the round."""
        self.policy.set_training_mode(True)
        found = self._found
        rate = self._rate()
        losses = self._fit_policy(found, rate)
        ranked = self._fit_ranker(found, rate) if self.settings.k else []
        if self._tuner is not None:
            self._tuner.adopt()
            self._last_obs = self._source.observe_again()
        self._found = LabelledStates()
        self._n_updates += 1
        self.logger.record("train/states", len(found))
        for name, values in (("policy_loss", losses), ("ranker_loss", ranked)):
            if values:
                self.logger.record(f"train/{name}", float(np.mean(values)))

    def _rate(self) -> float:
        """Factor of the learning rates: a short warm-up, then cosine decay to almost 0."""
        done = 1.0 - self._current_progress_remaining
        rise = min(1.0, max(done, 0.01) / _WARM_UP)
        fall = 0.5 * (1.0 + math.cos(math.pi * min(1.0, max(0.0, done - _WARM_UP))))
        return rise * (_LOWEST + (1.0 - _LOWEST) * fall)

    def _batches(self, count: int, epochs: int) -> Any:
        for _ in range(epochs):
            order = self._rng.permutation(count)
            for start in range(0, count, self.batch_size):
                yield order[start : start + self.batch_size]

    def _fit_policy(
        self, found: LabelledStates, rate: float, epochs: int | None = None
    ) -> list[float]:
        policy, head, optimiser = self.policy, self.policy.head, self.policy.optimizer
        assert isinstance(head, CandidateHead)
        for group in optimiser.param_groups:
            group["lr"] = self.settings.policy_rate * rate
        losses = []
        epochs = epochs or self.n_epochs * (4 if self._round == 1 else 1)
        for chosen in self._batches(len(found), epochs):
            observations = torch.from_numpy(np.stack([found.observations[i] for i in chosen]))
            batch = pad_candidates([found.actions[i] for i in chosen]).to(self.device)
            right = torch.zeros(batch.valid.shape, dtype=torch.bool)
            for row, i in enumerate(chosen):
                right[row, : len(found.right[i])] = torch.from_numpy(found.right[i])
            protos = policy.policy_net(observations.to(self.device))
            logits = head.scaled(protos, batch)
            if self._tuner is not None:
                self._tuner.begin(self.settings.policy_rate * rate)
                seen = [found.graphs[i] for i in chosen]
                changes = self._tuner.changes(seen, protos, right.shape[1])
                logits = logits + changes * torch.exp(-head.log_temperature)
            loss = right_loss(logits.log_softmax(dim=1), right.to(self.device))
            losses.append(self._descend(optimiser, loss))
            if self._tuner is not None:
                self._tuner.descend()
            self._blend(self._acting, self._acting_parameters())
        return losses

    def _acting_parameters(self) -> list[Tensor]:
        """Parameters of policy network and head, in the order of their average."""
        policy = self.policy
        return [*policy.policy_net.parameters(), *policy.head.parameters()]

    def _fit_ranker(self, found: LabelledStates, rate: float) -> list[float]:
        usable = [entry for entry in found.features if entry is not None]
        if not usable:
            return []
        candidates, pairs, mask, right = padded_features(usable)
        if self._ranker is None:
            self._make_ranker(candidates.shape[2], 0 if pairs is None else pairs.shape[3])
            assert self._ranker is not None
            self._ranker.to("cpu").standardise_by(candidates, pairs, mask)
            self._average = copy.deepcopy(self._ranker.to(self.device))
        assert self._ranker_optimiser is not None
        layers = self.settings.layers
        for group in self._ranker_optimiser.param_groups:
            group["lr"] = self.settings.ranker_rate * rate * (1.0 if layers else _LINEAR_RATE)
        losses = []
        for chosen in self._batches(len(usable), self.n_epochs):
            at = torch.from_numpy(chosen)
            near = None if pairs is None else pairs[at].float().to(self.device)
            chosen_mask = mask[at].to(self.device)
            logits = self._ranker(candidates[at].to(self.device), near, chosen_mask).log_softmax(-1)
            loss = right_loss(logits, right[at].to(self.device))
            losses.append(self._descend(self._ranker_optimiser, loss))
            self._blend(self._average, list(self._ranker.parameters()))
        assert self._average is not None
        self._compiled = make_ranker(self._average.arrays())
        return losses

    def _make_ranker(self, features: int, pairs: int) -> None:
        state = torch.get_rng_state()
        torch.manual_seed((self.seed or 0) + 5)
        width, layers = self.settings.width, self.settings.layers
        if layers:
            self._ranker = RankerNetwork(features, pairs, width, layers)
        else:
            self._ranker = LinearRankerNetwork(features)
        self._ranker.to(self.device)
        torch.set_rng_state(state)
        self._ranker_optimiser = torch.optim.AdamW(
            self._ranker.parameters(), betas=(0.9, 0.98), weight_decay=_WEIGHT_DECAY, fused=True
        )

    def _descend(self, optimiser: torch.optim.Optimizer, loss: Tensor) -> float:
        optimiser.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], 1.0)
        optimiser.step()
        return float(loss.detach())

    def _blend(self, average: Any, parameters: list[Tensor]) -> None:
        """Update an exponential moving average of weights."""
        self._descents += 1
        keep = min(_AVERAGE, (1 + self._descents) / (10 + self._descents))
        with torch.no_grad():
            for old, new in zip(average.parameters(), parameters, strict=True):
                old.lerp_(new, 1.0 - keep)

    # -- checkpoints

    def extra_state(self) -> dict[str, Any]:
        """See :class:`~lagco.agents.method.StatefulModel`."""
        return {
            "round": self._round,
            "descents": self._descents,
            "rng": self._rng.bit_generator.state,
            "teacher": self.teacher.checksum,
            "teacher_seconds": self.teacher.seconds,
        }

    def extra_arrays(self) -> dict[str, Array]:
        """Averages, the ranker and its optimiser; see `StatefulModel`."""
        policy = self._acting.state_dict()
        found = {} if self._tuner is None else self._tuner.arrays()
        found |= {f"policy_average/{name}": t.cpu().numpy() for name, t in policy.items()}
        if self._ranker is not None and self._average is not None:
            found |= module_arrays("ranker", self._ranker, self._ranker_optimiser)
            found |= {
                f"average/{n}": t.cpu().numpy() for n, t in self._average.state_dict().items()
            }
        return found

    def restore_extra(self, state: Mapping[str, Any], arrays: dict[str, Array]) -> None:
        """Restore :meth:`extra_state` and :meth:`extra_arrays`."""
        if state["teacher"] != self.teacher.checksum:
            raise LagcoError(
                "the run learnt from other demonstrations than those that the folder holds now; "
                "train in another folder"
            )
        self._round, self._descents = int(state["round"]), int(state["descents"])
        self._rng.bit_generator.state = state["rng"]
        self.teacher.seconds = float(state["teacher_seconds"])
        load_module("policy_average", self._acting, arrays)
        if self._tuner is not None:
            self._tuner.restore(arrays)
            self._last_obs = self._source.observe_again()
        if "ranker/mean" in arrays:
            self._make_ranker(len(arrays["ranker/mean"]), len(arrays["ranker/pair_mean"]))
            assert self._ranker is not None
            restore_module("ranker", self._ranker, self._ranker_optimiser, arrays)
            self._average = copy.deepcopy(self._ranker)
            load_module("average", self._average, arrays)
            self._compiled = make_ranker(self._average.arrays())

    # -- weights

    def adopted(self, weights: Weights) -> None:
        """See :class:`PPO`; training starts from the averages, and from the agent's ranker."""
        super().adopted(weights)
        with torch.no_grad():
            average = self._acting.parameters()
            for new, old in zip(self._acting_parameters(), average, strict=True):
                new.copy_(old)
        if not self.settings.k or PREFIX + "mean" not in weights:
            return
        seen, columns = len(weights[PREFIX + "mean"]), self.settings.columns
        if columns is not None and len(columns.each) != seen:
            raise UsageError(
                f"init=: the ranker of that agent sees {of_things(seen, 'columns')} of "
                f"candidates, this run {len(columns.each)}; give its drop_columns"
            )
        self._make_ranker(seen, len(weights[PREFIX + "pair_mean"]))
        assert self._ranker is not None
        own = self._ranker.arrays()
        wrong = next((n for n, a in own.items() if a.shape != weights[n].shape), None)
        if wrong is not None:
            raise UsageError(
                f"init=: {wrong} has shape {weights[wrong].shape}, this run needs "
                f"{own[wrong].shape}; give the ranker_width and ranker_layers of that agent"
            )
        found = {name: weights[PREFIX + name].copy() for name in self._ranker.state_dict()}
        self._ranker.load_state_dict({n: torch.from_numpy(array) for n, array in found.items()})
        self._average = copy.deepcopy(self._ranker)
        self._compiled = make_ranker(self._average.arrays())
        self._round = 1  # the ranker is trained from the first round on

    def arrays(self) -> dict[str, Array]:
        """See :class:`PPO`; the averages of policy and ranker over the last updates."""
        network, head = self._acting
        assert isinstance(head, CandidateHead)
        ranker = {} if self._average is None else self._average.arrays()
        return policy_arrays(network, head) | ranker


class _Turn:
    """State of collecting in one environment: steps left to the learner, and who labels."""

    own_steps = 0
    labels = True
    seed = 0
