"""PPO of Stable-Baselines3 with batched rollouts and a fused update.

Algorithm, buffer layout, callbacks and logged values are those of Stable-Baselines3; loss and
gradients equal its own. Outputs are drawn from, and the loss is differentiated, by a head
(:mod:`lagco.agents.heads`); both networks are passed by :mod:`lagco.agents.joint_network`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.utils import explained_variance

from lagco.agents.heads import Head, Rollout, Weighting, host
from lagco.agents.joint_network import TwinNetwork
from lagco.arrays import Array


class BatchedPPO(PPO):
    """PPO whose policy's outputs have the meaning that a head gives them.

    Args:
        head: makes the head of the policy.
        network: makes what passes and differentiates its networks.
    """

    def __init__(
        self,
        *arguments: Any,
        head: Callable[[Any], Head],
        network: Callable[[Any], TwinNetwork] = TwinNetwork,
        **options: Any,
    ) -> None:
        self._make_head = head
        self._make_network = network
        super().__init__(*arguments, **options)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "head", "network", "_make_head", "_make_network"]

    def _setup_learn(self, *arguments: Any, **options: Any) -> Any:
        found = super()._setup_learn(*arguments, **options)
        self.bind()
        return found

    def bind(self) -> None:
        """Make head and networks of the policy as it is now: its modules may be exchanged."""
        self.head = self._make_head(self.policy)
        self.network = self._make_network(self.policy)

    def collect_rollouts(
        self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        """Fill the buffer in place, with one pass of the policy for all environments.

        Actions do not depend on values, so these are computed for all steps at the end.
        """
        self.policy.set_training_mode(False)
        buffer, head, predict = rollout_buffer, self.head, self.network.policy()
        head.begin(n_rollout_steps, env.num_envs)
        callback.on_rollout_start()
        dones: Any = None
        cut: list[tuple[int, list[int], Array]] = []
        for step in range(n_rollout_steps):
            assert isinstance(self._last_obs, np.ndarray)
            buffer.observations[step] = self._last_obs
            actions, log_probs = head.draw(predict(self._last_obs), step)
            new_obs, rewards, dones, infos = env.step(head.executed(actions))
            self.num_timesteps += env.num_envs
            callback.update_locals(locals())
            if not callback.on_step():
                return False
            if dones.any():
                self._update_info_buffer(infos, dones)
                cut += _cut_off(step, dones, infos)
            buffer.actions[step] = actions.reshape(buffer.actions[step].shape)
            buffer.rewards[step] = rewards
            buffer.episode_starts[step] = self._last_episode_starts
            buffer.log_probs[step] = log_probs
            self._last_obs, self._last_episode_starts = new_obs, dones
        buffer.pos, buffer.full = n_rollout_steps, True
        seen = buffer.observations.reshape(-1, buffer.observations.shape[-1])
        buffer.values[:] = self._values(seen).reshape(buffer.values.shape)
        for step, indices, last in cut:
            buffer.rewards[step, indices] += self.gamma * self._pass(last)[1]
        assert isinstance(self._last_obs, np.ndarray)
        values = torch.from_numpy(self._pass(self._last_obs)[1].copy())
        buffer.compute_returns_and_advantage(last_values=values, dones=dones)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def _pass(self, observations: Array) -> tuple[Array, Array]:
        """Outputs (N, d) and values (N,)."""
        outputs, values = self.network.forward(torch.from_numpy(observations).to(self.device))
        return host(outputs), host(values)

    def _values(self, observations: Array) -> Array:
        """Values (N,)."""
        return host(self.network.values(torch.from_numpy(observations).to(self.device)))

    def train(self) -> None:
        """Epochs of gradient steps over the rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        clip: float = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        weighting = Weighting(clip, self.ent_coef, self.vf_coef)
        rollout = self.rollout()
        total, size = len(rollout.returns), self.batch_size
        parts, steps = np.zeros(5), 0
        self.network.begin(rollout.observations)
        for _ in range(self.n_epochs):
            order = np.random.permutation(total)
            for start in range(0, total, size):
                parts += self.differentiate(rollout, order[start : start + size], weighting)
                self.network.descend(self.max_grad_norm)
                steps += 1
        self.network.finish()
        self._n_updates += self.n_epochs
        self._record(parts / steps, weighting)

    def rollout(self) -> Rollout:
        """The transitions of the buffer; its arrays, not copies."""
        buffer = self.rollout_buffer
        observations = buffer.observations.reshape(-1, buffer.observations.shape[-1])
        discrete = isinstance(self.action_space, gym.spaces.Discrete)
        return Rollout(
            torch.from_numpy(observations).to(self.device),
            buffer.actions.reshape(-1)
            if discrete
            else buffer.actions.reshape(len(observations), -1),
            buffer.log_probs.reshape(-1),
            buffer.advantages.reshape(-1),
            buffer.returns.reshape(-1),
        )

    def differentiate(self, rollout: Rollout, chosen: Array, weighting: Weighting) -> Array:
        """Write the gradient over some transitions to the parameters; parts of the loss."""
        loss = self.network.differentiate(
            rollout.observations,
            chosen,
            lambda outputs, values: self.head.loss(outputs, values, rollout, chosen, weighting),
            self.head.listed(chosen),
        )
        if self.head.extra is not None:
            assert self.head.extra.grad is not None
            self.head.extra.grad.copy_(torch.from_numpy(loss.extra))
        return loss.parts

    def _record(self, parts: Array, weighting: Weighting) -> None:
        """Log what Stable-Baselines3 logs."""
        policy_loss, value_loss, entropy, divergence, clipped = parts.tolist()
        loss = policy_loss - weighting.entropy * entropy + weighting.value * value_loss
        buffer, record = self.rollout_buffer, self.logger.record
        record("train/entropy_loss", -entropy)
        record("train/policy_gradient_loss", policy_loss)
        record("train/value_loss", value_loss)
        record("train/approx_kl", divergence)
        record("train/clip_fraction", clipped)
        record("train/loss", loss)
        record(
            "train/explained_variance",
            explained_variance(buffer.values.flatten(), buffer.returns.flatten()),
        )
        if hasattr(self.policy, "log_std"):
            record("train/std", float(np.exp(host(self.policy.log_std)).mean()))
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/clip_range", weighting.clip)


def _cut_off(
    step: int, dones: Array, infos: list[dict[str, Any]]
) -> list[tuple[int, list[int], Array]]:
    """The environments whose episodes were cut off at a step, and what was observed last there.

    The values of these observations belong to the rewards of that step.
    """
    cut = [i for i in np.flatnonzero(dones).tolist() if infos[i].get("TimeLimit.truncated", False)]
    return [(step, cut, np.stack([infos[i]["terminal_observation"] for i in cut]))] if cut else []
