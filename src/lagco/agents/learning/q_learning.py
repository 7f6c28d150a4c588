"""Q-learning over the valid actions of each state: network, loss and update of `iterative`.

The Q network maps an observation and an action vector, [o, u(a)], to a value. An update samples
n-step returns from the replay buffer. The target is the return plus the discounted value of the
state after it: the maximum of the target network over the valid actions of that state. Steps of
Adam minimise the smooth L1 loss. Override :meth:`IterativeDQN.targets` or
:meth:`IterativeDQN.loss` for other updates.

Rollouts and the target network's schedule are those of Stable-Baselines3's DQN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.inference.perceptron import stored_layers
from lagco.agents.inference.q_values import ActionValues
from lagco.agents.learning.networks import (
    clip_norm_,
    join_parameters,
    layer_arrays,
    linear_layers,
)
from lagco.agents.learning.replay import (
    GOES_ON,
    TERMINATED,
    TRUNCATED,
    ActionReplayBuffer,
    Returns,
)
from lagco.agents.method import Weights
from lagco.arrays import Array
from lagco.store.tensors import JoinedRows


class ActionSource(Protocol):
    """Environments whose actions are positions among the valid actions that were offered.

    Attributes:
        offered: valid actions per environment, of the states that were acted in last.
        cut_off: last state of each environment whose episode was truncated in the last step.
    """

    offered: list[ActionTables]
    cut_off: dict[int, tuple[Array, ActionTables]]

    def offer(self) -> list[ActionTables]:
        """The valid actions of the present states."""
        ...


class QNetwork(nn.Sequential):
    """Values (B,) of inputs [o, u] (B, w + d)."""

    def forward(self, inputs: Tensor) -> Tensor:
        values: Tensor = super().forward(inputs)
        return values[:, 0]

    def set_training_mode(self, mode: bool) -> None:
        """The same network in both modes."""

    def over_actions(self, observation_width: int) -> ActionValues:
        """A copy of the current network that evaluates whole sets of actions."""
        return ActionValues(stored_layers(layer_arrays("q", self), "q"), observation_width)


class QPolicy(DQNPolicy):
    """The Q network and its target network.

    Args:
        action_width: d.
    """

    def __init__(self, *arguments: Any, action_width: int, **options: Any) -> None:
        self._action_width = action_width
        super().__init__(*arguments, **options)

    def make_q_net(self) -> Any:
        """A network with the layers of the configuration."""
        inputs = int(np.prod(self.observation_space.shape or ())) + self._action_width
        layers = linear_layers(inputs, list(self.net_arch), self.activation_fn)
        return QNetwork(*layers).to(self.device)

    def begin_optimiser(self) -> None:
        """Make the optimiser anew, after the network was moved to its device or loaded."""
        rate = self.optimizer.param_groups[0]["lr"]
        joined = join_parameters(self.q_net)
        self.optimizer = self.optimizer_class([joined], rate, **self.optimizer_kwargs)


class IterativeDQN(DQN):
    """DQN whose actions are the valid actions of each state.

    Exploration and sampling have their own random generators, seeded by `seed`.
    """

    env: Any  # an ActionSource
    policy: QPolicy
    q_net: QNetwork  # type: ignore[assignment]
    q_net_target: QNetwork  # type: ignore[assignment]
    replay_buffer: ActionReplayBuffer  # type: ignore[assignment]

    def _setup_model(self) -> None:
        super()._setup_model()
        self.policy.begin_optimiser()
        self._rng = np.random.default_rng([self.seed or 0, 3])

    # -- rollouts

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[Array, Array]:
        epsilon = 1.0 if self.num_timesteps < learning_starts else self.exploration_rate
        positions = self._positions(epsilon)
        return positions, positions

    def predict(  # type: ignore[override]
        self,
        observation: Array,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Array, Any]:
        """Positions of the best actions in the present states of the training environment."""
        return self._positions(0.0 if deterministic else self.exploration_rate), state

    def _positions(self, epsilon: float) -> Array:
        """Positions (N,) of epsilon-greedy actions among those offered."""
        source: ActionSource = self.env
        offered = source.offer()
        assert isinstance(self._last_obs, np.ndarray)
        explore = self._rng.random(len(offered)) < epsilon
        drawn = self._rng.random(len(offered))
        positions = (drawn * [len(actions) for actions in offered]).astype(np.int64)
        greedy = [i for i in np.flatnonzero(~explore) if len(offered[i]) > 1]
        if greedy:
            q = self.q_net.over_actions(self._last_obs.shape[1])
            positions[greedy] = q.best(self._last_obs[greedy], [offered[i] for i in greedy])[1]
        return positions

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: Array,
        new_obs: Any,
        reward: Array,
        dones: Array,
        infos: list[dict[str, Any]],
    ) -> None:
        source: ActionSource = self.env
        ends = np.where(dones, TERMINATED, GOES_ON).astype(np.int8)
        ends[list(source.cut_off)] = TRUNCATED
        replay_buffer.add(
            self._last_obs, source.offered, buffer_action, reward, ends, source.cut_off
        )
        self._last_obs = new_obs

    # -- updates

    def train(self, gradient_steps: int, batch_size: int = 32) -> None:
        """Gradient steps on batches of returns against a fixed target network."""
        if not self.replay_buffer.ready:
            return
        optimizer = self.policy.optimizer
        gradient = optimizer.param_groups[0]["params"][0].grad  # of all, see join_parameters
        self._update_learning_rate(optimizer)
        returns = self.replay_buffer.sample(gradient_steps * batch_size)
        inputs = torch.from_numpy(returns.inputs).to(self.device)
        targets = self.targets(returns)
        losses: list[float] = []
        for start in range(0, len(targets), batch_size):
            batch = slice(start, start + batch_size)
            loss = self.loss(inputs[batch], targets[batch])
            gradient.zero_()
            loss.backward()
            clip_norm_(gradient, self.max_grad_norm)
            optimizer.step()
            losses.append(loss.item())
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        if losses:
            self.logger.record("train/loss", sum(losses) / len(losses))

    def targets(self, returns: Returns) -> Tensor:
        """Targets (B,): n-step returns plus the discounted value of the state after them."""
        updates = self._n_calls // max(self.target_update_interval // self.n_envs, 1)
        q = self.q_net_target.over_actions(self.replay_buffer.observations.shape[-1])
        values = self.replay_buffer.values(returns, updates, q.maxima)
        return torch.from_numpy(returns.rewards + returns.discounts * values).to(self.device)

    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Mean smooth L1 loss of the values of inputs (B, w + d) against targets (B,)."""
        return nn.functional.smooth_l1_loss(self.q_net(inputs), targets)

    def adopted(self, weights: Weights) -> None:
        """See :class:`~lagco.agents.method.AdoptingModel`; copies Q to the target network."""
        self.policy.begin_optimiser()
        self.q_net_target.load_state_dict(self.q_net.state_dict())

    # -- checkpoints

    def extra_state(self) -> dict[str, Any]:
        """See :class:`~lagco.agents.method.StatefulModel`."""
        return {
            "calls": self._n_calls,
            "updates": self._n_updates,
            "episodes": self._episode_num,
            "exploration_rate": float(self.exploration_rate),
            "rng": self._rng.bit_generator.state,
            "buffer": self.replay_buffer.state(),
        }

    def extra_arrays(self) -> dict[str, Array | JoinedRows]:
        """The replay buffer; see :class:`~lagco.agents.method.StatefulModel`."""
        return self.replay_buffer.arrays()

    def restore_extra(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore :meth:`extra_state` and :meth:`extra_arrays`."""
        self._n_calls = int(state["calls"])
        self._n_updates = int(state["updates"])
        self._episode_num = int(state["episodes"])
        self.exploration_rate = float(state["exploration_rate"])
        self._rng.bit_generator.state = state["rng"]
        self.replay_buffer.restore(state["buffer"], arrays)
