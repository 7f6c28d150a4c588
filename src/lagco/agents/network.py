"""Small networks at inference: a few microseconds a pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numba import njit

from lagco.agents.config import PPOConfig, TrainConfig
from lagco.arrays import Array
from lagco.errors import LagcoError, UsageError
from lagco.store import Tensors

SLOPE = np.float32(0.01)

#: weight and bias (out,) per linear layer
Layers: TypeAlias = "Sequence[tuple[Array, Array]]"


class Perceptron:
    """Linear layers with LeakyReLU between them.

    Args:
        layers: (weight (out, in), bias (out,)) per layer.
    """

    def __init__(self, layers: Layers) -> None:
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
        return pass_layers(inputs, self._layers)

    @property
    def inputs(self) -> int:
        """Width of the inputs."""
        return int(self._layers[0][0].shape[0])

    @property
    def outputs(self) -> int:
        """Width of the outputs."""
        return int(self._layers[-1][0].shape[1])


def pass_layers(inputs: Array, layers: Layers) -> Array:
    """Outputs (k, out) of linear layers, weights (in, out), with LeakyReLU between them."""
    *hidden, last = layers
    x = inputs
    for weight, bias in hidden:
        x = x @ weight
        x += bias
        np.maximum(x, SLOPE * x, out=x)
    found: Array = x @ last[0]
    found += last[1]
    return found


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


def stored_layers(weights: Mapping[str, Array], prefix: str) -> Layers:
    """Layers stored as ``prefix.0.weight`` (out, in), ``prefix.0.bias``, ``prefix.1.weight``, …

    The arrays are those given, where they are float32: what changes them changes the layers.
    """
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
        layers.append((weight.astype(np.float32, copy=False), bias.astype(np.float32, copy=False)))
    if not layers:
        raise LagcoError(f"there is no network {prefix!r} among the weights")
    return layers


def linear_layers(inputs: int, hidden: Sequence[int], activation: Callable[[], Any]) -> list[Any]:
    """Torch modules of a network with a single output: linear layers, activations in between."""
    from torch import nn

    modules: list[Any] = []
    for narrow, wide in pairwise([inputs, *hidden]):
        modules += [nn.Linear(narrow, wide), activation()]
    return [*modules, nn.Linear([inputs, *hidden][-1], 1)]


def perceptron(
    weights: Mapping[str, Array],
    prefix: str,
    inputs: int | None = None,
    outputs: int | None = None,
) -> Perceptron:
    """The network of that prefix, as :func:`stored_layers` finds it.

    Compiled code trusts its widths, so whoever knows them says so.

    Args:
        weights: of an agent.
        prefix: name of the network.
        inputs: numbers that it will be given.
        outputs: numbers that it must give.
    """
    network = Perceptron(stored_layers(weights, prefix))
    check_width(f"the network {prefix!r} takes", network.inputs, inputs)
    check_width(f"the network {prefix!r} gives", network.outputs, outputs)
    return network


def check_width(what: str, seen: int, wanted: int | None) -> None:
    """Refuse a network of another width than its surroundings need."""
    if wanted not in (None, seen):
        raise UsageError(
            f"{what} {seen} numbers, here are {wanted}; was it trained with other features or for "
            "another problem?"
        )


def take_network(
    tensors: Tensors, prefix: str, inputs: int | None = None, outputs: int | None = None
) -> None:
    """Take the arrays of a network from a file; its widths are checked where they are known."""
    try:
        layers = stored_layers(tensors, prefix)
    except LagcoError as error:
        raise tensors.refused(str(error)) from error
    before = inputs
    for number, (weight, _) in enumerate(layers):
        width = outputs if number == len(layers) - 1 else None
        tensors.take(f"{prefix}.{number}.weight", (width, before))
        tensors.take(f"{prefix}.{number}.bias", weight.shape[:1])
        before = weight.shape[0]


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
