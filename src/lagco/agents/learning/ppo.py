"""PPO: rollouts with one pass of the policy for all environments, updates by autograd.

:func:`ppo_loss` is the objective; assign another function to :attr:`PPO.loss` to replace it. The
outer loop, callbacks and logged values are those of Stable-Baselines3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.utils import explained_variance
from torch import Tensor, nn

from lagco.agents.config import PPOConfig
from lagco.agents.inference.perceptron import Network, NetworkFactory, TorchPass, perceptron
from lagco.agents.learning.heads import GaussianHead, Head
from lagco.agents.learning.networks import (
    ActorCritic,
    clip_norm_,
    layer_arrays,
    policy_arrays,
)
from lagco.agents.learning.own_network import OwnNetwork, make_network
from lagco.agents.method import Weights
from lagco.arrays import Array
from lagco.embedding.devices import torch_device
from lagco.errors import UsageError

# -- the loss


class Minibatch(NamedTuple):
    """Transitions of a rollout as the loss sees them, (B,) each.

    log_probs: of the actions taken, by the current policy.
    entropies: of the current policy; () where they are the same in all states.
    values: of the states, by the current value network.
    old_log_probs: of the same actions when they were drawn.
    advantages: generalised advantage estimates.
    returns: targets of the values.
    progress: share of the run's steps that are done, a number from 0 to 1.
    """

    log_probs: Tensor
    entropies: Tensor
    values: Tensor
    old_log_probs: Tensor
    advantages: Tensor
    returns: Tensor
    progress: float


class Weighting(NamedTuple):
    """Settings of the loss: clipping range, weights of the entropy bonus and of value errors."""

    clip: float
    entropy: float
    value: float


#: returns the loss, a scalar (), and tensors to log by name
Loss: TypeAlias = Callable[[Minibatch, Weighting], tuple[Tensor, dict[str, Tensor]]]


def ppo_loss(batch: Minibatch, weighting: Weighting) -> tuple[Tensor, dict[str, Tensor]]:
    """The clipped surrogate loss of PPO, plus value error, minus entropy bonus."""
    deviation, mean = torch.std_mean(batch.advantages)
    advantages = (batch.advantages - mean) / (deviation + 1e-8)
    ratio = torch.exp(batch.log_probs - batch.old_log_probs)
    clipped = ratio.clamp(1.0 - weighting.clip, 1.0 + weighting.clip)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
    value_loss = nn.functional.mse_loss(batch.values, batch.returns)
    entropy = batch.entropies.mean()
    loss = policy_loss + weighting.value * value_loss
    if weighting.entropy:
        loss = loss - weighting.entropy * entropy
    return loss, {
        "loss": loss,
        "policy_gradient_loss": policy_loss,
        "value_loss": value_loss,
        "entropy_loss": -entropy,
    }


# -- the algorithm


class Transitions(NamedTuple):
    """Transitions of a rollout, (T,) each.

    numbers: indices in the rollout: step · environments + environment.
    actions: as the head drew them, (T,) or (T, d).
    """

    numbers: Tensor
    actions: Tensor
    log_probs: Tensor
    advantages: Tensor
    returns: Tensor

    def of(self, chosen: Tensor) -> Transitions:
        """Those of some indices (B,), in that order."""
        return Transitions(*(array.index_select(0, chosen) for array in self))

    def split(self, size: int) -> Iterator[Transitions]:
        """Views of `size` transitions at a time."""
        parts = [array.split(size) for array in self]
        return (Transitions(*arrays) for arrays in zip(*parts, strict=True))


class PPO(stable_baselines3.PPO):
    """Proximal policy optimisation.

    Args:
        env: training environment.
        head: makes the head of the policy.
        config: settings.

    Attributes:
        policy: the networks.
        loss: the objective; another function of the same type may be assigned.
    """

    policy: ActorCritic  # type: ignore[assignment]

    def __init__(self, env: Any, head: Callable[[], Head], config: PPOConfig) -> None:
        self.loss: Loss = ppo_loss
        self._config = config
        self._make_head = head
        super().__init__(self._make_policy, env, **ppo_arguments(config))  # type: ignore[arg-type]

    def _setup_model(self) -> None:
        super()._setup_model()
        self.policy.begin_optimiser()  # now that the networks are on their device

    def _make_policy(self, observations: gym.spaces.Box, *_: Any, use_sde: bool) -> ActorCritic:
        return ActorCritic(observations.shape[0], self._make_head(), self._config)

    def _excluded_save_params(self) -> list[str]:
        excluded = ["policy_class", "loss", "_make_head", "_config"]
        return [*super()._excluded_save_params(), *excluded]

    def collect_rollouts(
        self, env: Any, callback: Any, rollout_buffer: Any, n_rollout_steps: int
    ) -> bool:
        """Fill the buffer in place, with one pass of the policy for all environments.

        Actions do not depend on values, so these are computed for all steps at the end.
        """
        self.policy.eval()
        buffer, head, decide = rollout_buffer, self.policy.head, self._decider()
        head.begin(n_rollout_steps, env.num_envs)
        callback.on_rollout_start()
        dones: Any = None
        cut: list[tuple[int, list[int], Array]] = []
        for step in range(n_rollout_steps):
            assert isinstance(self._last_obs, np.ndarray)
            buffer.observations[step] = self._last_obs
            with torch.no_grad():
                drawn, log_probs = head.draw(self._tensor(decide(self._last_obs)), step)
            actions = drawn.cpu().numpy()
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
            buffer.log_probs[step] = log_probs.cpu().numpy()
            self._last_obs, self._last_episode_starts = new_obs, dones
        buffer.pos, buffer.full = n_rollout_steps, True
        buffer.values[:] = self._values(_flat(buffer.observations)).reshape(buffer.values.shape)
        for step, indices, last in cut:
            buffer.rewards[step, indices] += self.gamma * self._values(last)
        assert isinstance(self._last_obs, np.ndarray)
        values = torch.from_numpy(self._values(self._last_obs))
        buffer.compute_returns_and_advantage(last_values=values, dones=dones)
        callback.update_locals(locals())
        callback.on_rollout_end()
        return True

    def train(self) -> None:
        """Epochs of gradient steps over the rollout."""
        self.policy.train()
        optimiser = self.policy.optimizer
        gradient = optimiser.param_groups[0]["params"][0].grad  # of all, see join_parameters
        self._update_learning_rate(optimiser)
        clip: float = self.clip_range(self._current_progress_remaining)  # type: ignore[operator]
        weighting = Weighting(clip, self.ent_coef, self.vf_coef)
        (observations, transitions), logged = self.rollout(), Logged()
        for _ in range(self.n_epochs):
            order = torch.randperm(len(observations)).to(self.device)
            for chosen in transitions.of(order).split(self.batch_size):
                batch = self.minibatch(observations, chosen)
                loss, parts = self.loss(batch, weighting)
                gradient.zero_()
                loss.backward()
                clip_norm_(gradient, self.max_grad_norm)
                optimiser.step()
                logged.add(batch, parts)
            self._n_updates += 1
            divergence = logged.end_epoch(clip)
            if self.target_kl is not None and divergence > 1.5 * self.target_kl:
                break
        self._record(logged.means(), clip)

    def rollout(self) -> tuple[Tensor, Transitions]:
        """Observations (T, w) and transitions of the buffer; on the CPU its arrays, not copies."""
        buffer = self.rollout_buffer
        actions = _flat(buffer.actions)
        if isinstance(self.action_space, gym.spaces.Discrete):
            actions = actions[:, 0]
        others = (buffer.log_probs, buffer.advantages, buffer.returns)
        arrays = np.arange(len(actions)), actions, *(array.reshape(-1) for array in others)
        transitions = Transitions(*(self._tensor(array) for array in arrays))
        return self._tensor(_flat(buffer.observations)), transitions

    def minibatch(self, observations: Tensor, chosen: Transitions) -> Minibatch:
        """Transitions (B,) of a rollout, evaluated by the current networks."""
        numbers, actions, old_log_probs, advantages, returns = chosen
        # gathered per minibatch: a shuffled copy of all padded observations would be too large
        outputs, values = self.policy(observations.index_select(0, numbers))
        log_probs, entropies = self.policy.head.evaluate(outputs, actions, numbers)
        progress = min(1.0 - self._current_progress_remaining, 1.0)  # whole rollouts may be more
        return Minibatch(log_probs, entropies, values, old_log_probs, advantages, returns, progress)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Array, Any]:
        """Actions for observations (w,) or (N, w).

        Where actions depend on what is valid, observations are those of the present states of the
        training environment.
        """
        single = np.ndim(observation) == 1
        self.policy.eval()
        with torch.no_grad():
            outputs = self.policy.policy_net(self._tensor(np.atleast_2d(observation)))
            head = self.policy.head
            drawn = head.mode(outputs) if deterministic else head.draw(outputs, None)[0]
        actions = self.policy.head.executed(drawn.cpu().numpy())
        return (actions[0] if single else actions), state

    def arrays(self) -> dict[str, Array]:
        """The weights that decide, as a bundle stores them; the model's own on the CPU."""
        return policy_arrays(self.policy.policy_net, self.policy.head)

    def adopted(self, weights: Weights) -> None:
        """See :class:`~lagco.agents.method.AdoptingModel`; Adam begins with these."""
        self.policy.begin_optimiser()

    def _decider(self) -> Network:
        """The current policy network compiled, which is faster than torch on few states."""
        network = self.policy.policy_net
        if isinstance(network, OwnNetwork):
            return TorchPass(network)
        return perceptron(layer_arrays("policy", network), "policy")

    def _values(self, observations: Array) -> Array:
        """Values (N,)."""
        with torch.no_grad():
            found: Array = self.policy.values(self._tensor(observations)).cpu().numpy()
        return found

    def _tensor(self, array: Array) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    def _record(self, means: dict[str, float], clip: float) -> None:
        """Log what Stable-Baselines3 logs."""
        buffer, record = self.rollout_buffer, self.logger.record
        for name, mean in means.items():
            record(f"train/{name}", mean)
        explained = explained_variance(buffer.values.flatten(), buffer.returns.flatten())
        record("train/explained_variance", explained)
        head = self.policy.head
        if isinstance(head, GaussianHead):
            record("train/std", float(head.log_std.detach().exp().mean()))
        record("train/n_updates", self._n_updates, exclude="tensorboard")
        record("train/clip_range", clip)


def use_loss(model: Any, loss: Loss, method: str) -> None:
    """Replace the loss of a model.

    Raises:
        UsageError: the model does not learn by PPO.
    """
    if not _learns_by_ppo(model):
        raise UsageError(f"loss=: {method} does not learn by PPO; leave it out")

    def checked(batch: Minibatch, weighting: Weighting) -> tuple[Tensor, dict[str, Tensor]]:
        found: Any = loss(batch, weighting)
        name = getattr(loss, "__qualname__", repr(loss))
        if not (isinstance(found, tuple) and len(found) == 2):
            raise UsageError(f"loss={name} returned {found!r}; return the loss and what is logged")
        if not bool(torch.isfinite(found[0]).all()):
            raise UsageError(
                f"loss={name} is not finite; look for a division by 0 or its logarithm"
            )
        checked_loss: tuple[Tensor, dict[str, Tensor]] = found
        return checked_loss

    model.loss = checked


def use_network(model: Any, factory: NetworkFactory, method: str) -> OwnNetwork:
    """Replace the policy network of a model by one of the user's own.

    Raises:
        UsageError: the model has no policy network, or the network does not fit.
    """
    if not _learns_by_ppo(model):
        raise UsageError(f"policy=: the policy network of {method} cannot be exchanged")
    policy = model.policy
    network = make_network(factory, policy.inputs, policy.head.outputs).to(model.device)
    policy.policy_net = network
    policy.begin_optimiser()
    return network


def _learns_by_ppo(model: Any) -> bool:
    """Whether its updates are those of :meth:`PPO.train`; imitation has its own."""
    return isinstance(model, PPO) and type(model).train is PPO.train


class Logged:
    """Means over the gradient steps of an update, for the logger.

    Tensors are read at the end of an epoch, so that no step waits for the device.
    """

    def __init__(self) -> None:
        self._steps: list[tuple[Minibatch, dict[str, Tensor]]] = []
        self._parts: dict[str, list[Tensor]] = {}

    def add(self, batch: Minibatch, parts: dict[str, Tensor]) -> None:
        """Add a gradient step: its minibatch, and the tensors that the loss logs."""
        self._steps.append((batch, parts))

    @torch.no_grad()
    def end_epoch(self, clip: float) -> float:
        """Add the means of an epoch, KL divergence and clip fraction among them.

        Returns:
            The approximate KL divergence.
        """
        for name in self._steps[0][1]:
            self._note(name, torch.stack([parts[name] for _, parts in self._steps]))
        change = torch.cat([batch.log_probs - batch.old_log_probs for batch, _ in self._steps])
        self._steps.clear()
        ratio = change.exp()
        divergence = ratio - 1.0 - change
        self._note("approx_kl", divergence)
        self._note("clip_fraction", ((ratio - 1.0).abs() > clip).float())
        return float(divergence.mean())

    def _note(self, name: str, values: Tensor) -> None:
        self._parts.setdefault(name, []).append(values.mean())

    def means(self) -> dict[str, float]:
        """Means by name."""
        return {name: float(torch.stack(values).mean()) for name, values in self._parts.items()}


def _flat(array: Array) -> Array:
    """(steps, environments, …) as (T, …)."""
    return array.reshape(-1, array.shape[-1])


def _cut_off(
    step: int, dones: Array, infos: list[dict[str, Any]]
) -> list[tuple[int, list[int], Array]]:
    """Environments whose episodes were truncated at a step, and their last observations.

    Rewards of that step are bootstrapped with the values of these observations.
    """
    cut = [i for i in np.flatnonzero(dones).tolist() if infos[i].get("TimeLimit.truncated", False)]
    return [(step, cut, np.stack([infos[i]["terminal_observation"] for i in cut]))] if cut else []


# -- settings


def ppo_arguments(config: PPOConfig) -> dict[str, Any]:
    """Arguments of Stable-Baselines3's PPO, without those of its policy."""
    return {
        "n_steps": config.rollout // config.envs,
        "batch_size": config.batch_size,
        "n_epochs": config.epochs,
        "learning_rate": _falling(config) if config.anneal else config.learning_rate,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "clip_range": config.clip,
        "ent_coef": config.entropy,
        "max_grad_norm": config.max_grad_norm,
        "seed": config.seed,
        "device": torch_device(config.device),
    }


def _falling(config: PPOConfig) -> Callable[[float], float]:
    """Linear schedule of the learning rate, by the share of the run that is left.

    The last update has the rate of the last rollout's share, not 0.
    """
    last = min(config.rollout / config.steps, 1.0)
    return lambda left: config.learning_rate * max(left, last)
