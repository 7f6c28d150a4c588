"""Small networks at inference: a few microseconds a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numba import njit

from lagco.agents.config import PPOConfig, TrainConfig
from lagco.arrays import Array
from lagco.errors import LagcoError

SLOPE = np.float32(0.01)


class Perceptron:
    """Linear layers with LeakyReLU between them.

    Args:
        layers: (weight (out, in), bias (out,)) per layer.
    """

    def __init__(self, layers: list[tuple[Array, Array]]) -> None:
        self._layers = [
            (np.ascontiguousarray(weight.T, dtype=np.float32), bias.astype(np.float32))
            for weight, bias in layers
        ]
        self._weights = tuple([weight for weight, _ in self._layers])
        self._biases = tuple([bias for _, bias in self._layers])

    def __call__(self, inputs: Array) -> Array:
        """Outputs (…, out) for inputs (…, in)."""
        if inputs.ndim == 1:
            single: Array = forward(inputs, self._weights, self._biases, SLOPE)
            return single
        *hidden, last = self._layers
        x = inputs
        for weight, bias in hidden:
            x = x @ weight
            x += bias
            np.maximum(x, SLOPE * x, out=x)
        found: Array = x @ last[0] + last[1]
        return found

    @property
    def inputs(self) -> int:
        """Width of the inputs."""
        return int(self._layers[0][0].shape[0])


@njit(cache=True, fastmath={"contract"})
def forward(x, weights, biases, slope):  # type: ignore[no-untyped-def]
    """One pass for inputs (in,); four inputs at a time, so that sums are written less often."""
    for layer in range(len(weights)):
        w, y = weights[layer], biases[layer].copy()
        whole = w.shape[0] - w.shape[0] % 4
        for k in range(0, whole, 4):
            a, b, c, d = x[k], x[k + 1], x[k + 2], x[k + 3]
            for o in range(y.shape[0]):
                y[o] = y[o] + a * w[k, o] + b * w[k + 1, o] + c * w[k + 2, o] + d * w[k + 3, o]
        for k in range(whole, w.shape[0]):
            for o in range(y.shape[0]):
                y[o] += x[k] * w[k, o]
        if layer < len(weights) - 1:
            for o in range(y.shape[0]):
                y[o] = max(y[o], slope * y[o])
        x = y
    return x


def perceptron(weights: Mapping[str, Array], prefix: str) -> Perceptron:
    """The network stored as ``prefix.0.weight``, ``prefix.0.bias``, ``prefix.1.weight``, …"""
    layers: list[tuple[Array, Array]] = []
    while f"{prefix}.{len(layers)}.weight" in weights:
        at = f"{prefix}.{len(layers)}"
        weight, bias = weights[f"{at}.weight"], weights.get(f"{at}.bias")
        if bias is None or weight.ndim != 2 or bias.shape != weight.shape[:1]:
            raise LagcoError(f"layer {at} has weights of shape {weight.shape} and no fitting bias")
        if layers and weight.shape[1] != layers[-1][0].shape[0]:
            raise LagcoError(
                f"layer {at} takes {weight.shape[1]} inputs, the one before gives "
                f"{layers[-1][0].shape[0]}"
            )
        layers.append((weight, bias))
    if not layers:
        raise LagcoError(f"there is no network {prefix!r} among the weights")
    return Perceptron(layers)


def layer_arrays(prefix: str, *modules: Any) -> dict[str, Array]:
    """Arrays of the linear layers of torch modules, named as :func:`perceptron` reads them.

    They are the modules' own: writing to them changes the modules.
    """
    from torch import nn

    found: dict[str, Array] = {}
    number = 0
    for module in modules:
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                found[f"{prefix}.{number}.weight"] = layer.weight.detach().numpy()
                found[f"{prefix}.{number}.bias"] = layer.bias.detach().numpy()
                number += 1
    return found


def ppo_arguments(config: PPOConfig) -> dict[str, Any]:
    """Arguments of Stable-Baselines3's PPO; its policy keywords apart."""
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
        "device": "cpu",
    }


def _falling(config: PPOConfig) -> Callable[[float], float]:
    """From the share of the run that is left after a rollout to the learning rate.

    The last update, after which nothing is left, has that of the last rollout's share.
    """
    last = min(config.rollout / config.steps, 1.0)
    return lambda left: config.learning_rate * max(left, last)


def policy_arguments(config: TrainConfig) -> dict[str, Any]:
    """Policy keywords that all methods share."""
    from torch import nn

    hidden = list(config.hidden)
    return {
        "net_arch": {"pi": hidden, "vf": hidden},
        "activation_fn": nn.LeakyReLU,
        "optimizer_kwargs": {"eps": 1e-7, "weight_decay": config.weight_decay, "fused": True},
    }
