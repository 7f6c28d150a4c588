"""The scorer behind the decoder ``scored``: Q(o, u), fitted to returns of executed actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from lagco.agents.config import TrainConfig
from lagco.agents.inference.perceptron import Network, perceptron, score_with
from lagco.agents.learning.networks import layer_arrays, linear_layers
from lagco.arrays import Array

_EPOCHS = 2


class Scorer:
    """Fits Q(o, u) to the returns of executed actions.

    Args:
        observation_width: w.
        action_width: d.
        config: widths of the hidden layers, learning rate, batch size, discount, n-step, seed.
    """

    def __init__(self, observation_width: int, action_width: int, config: TrainConfig) -> None:
        generator = torch.Generator().manual_seed(config.seed)
        width = observation_width + action_width
        self.network = nn.Sequential(*linear_layers(width, config.hidden, nn.LeakyReLU))
        for parameter in self.network.parameters():
            bound = 1.0 / float(np.sqrt(parameter.shape[-1]))
            with torch.no_grad():
                parameter.uniform_(-bound, bound, generator=generator)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate)
        self._config = config
        self._rng = np.random.default_rng([config.seed, 9])
        self._compiled: Network | None = None

    def learn(self, observations: Array, vectors: Array, targets: Array) -> float:
        """Fit Q(o, u) to targets (B,) for observations (B, w) and vectors (B, d); last loss."""
        inputs = torch.from_numpy(np.concatenate([observations, vectors], axis=1))
        wanted = torch.from_numpy(np.ascontiguousarray(targets, dtype=np.float32))
        loss = torch.zeros(())
        for _ in range(_EPOCHS):
            order = torch.from_numpy(self._rng.permutation(len(targets)))
            for batch in order.split(self._config.batch_size):
                loss = nn.functional.mse_loss(self.network(inputs[batch])[:, 0], wanted[batch])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
        self._compiled = None
        return float(loss.detach())

    def values(self, observation: Array, vectors: Array) -> Array:
        """Q of candidates (k, d) in a state (w,): (k,)."""
        if self._compiled is None:
            self._compiled = perceptron(self.arrays(), "scorer")
        return score_with(self._compiled, observation, vectors)

    def arrays(self) -> dict[str, Array]:
        """Weights as a bundle stores them."""
        return layer_arrays("scorer", self.network)

    def state(self) -> dict[str, Any]:
        """State of the random generator."""
        return dict(self._rng.bit_generator.state)

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a :meth:`state`."""
        self._rng.bit_generator.state = state
        self._compiled = None


def n_step_returns(
    rewards: Array, starts: Array, values: Array, last_values: Array, gamma: float, n: int
) -> Array:
    """n-step returns, bootstrapped by values and cut at the ends of episodes.

    Args:
        rewards: (T, N)
        starts: (T, N), 1 where an episode begins at that step.
        values: (T, N) of the states acted in.
        last_values: (N,) of the states after the last step, 0 where an episode ended there.
        gamma: discount.
        n: steps at most.

    Returns:
        (T, N)
    """
    steps = len(rewards)
    following = np.concatenate([values[1:], last_values[None]])
    going_on = np.ones_like(rewards)
    going_on[:-1] = 1.0 - starts[1:]
    returns = np.zeros_like(rewards)
    for t in range(steps):
        alive = np.ones(rewards.shape[1], dtype=rewards.dtype)
        discount = 1.0
        for i in range(t, min(t + n, steps)):
            returns[t] += discount * alive * rewards[i]
            discount *= gamma
            alive = alive * going_on[i] if i < steps - 1 else alive
            if i == min(t + n, steps) - 1:
                returns[t] += discount * alive * following[i]
    return returns
