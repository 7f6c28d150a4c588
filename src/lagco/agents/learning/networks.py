"""The networks of PPO: policy, value and head; perceptrons and their arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.config import PPOConfig
from lagco.agents.inference.perceptron import ACTIVATION
from lagco.agents.learning.heads import Head
from lagco.agents.learning.own_network import OwnNetwork
from lagco.arrays import Array

#: modules of the activations that a configuration names, in the order of their numbers in bundles
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "leaky_relu": nn.LeakyReLU,
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
}


class ActorCritic(nn.Module):
    """Policy and value network of the same hidden widths, with nothing shared.

    Args:
        inputs: width of an observation, w.
        head: action distribution over the policy's outputs.
        config: hidden widths, activation, and settings of Adam.
    """

    def __init__(self, inputs: int, head: Head, config: PPOConfig) -> None:
        super().__init__()
        self.inputs = inputs
        self.head = head
        activation = ACTIVATIONS[config.activation]
        # small outputs: at first the policy samples almost uniformly
        self.policy_net: nn.Module = mlp(inputs, config.hidden, head.outputs, activation, 0.01)
        self.value_net = mlp(inputs, config.hidden, 1, activation, 1.0)
        self._rate, self._decay = config.learning_rate, config.weight_decay
        self.begin_optimiser()

    def begin_optimiser(self) -> None:
        """Make Adam anew, after modules were replaced, loaded or moved to another device."""
        joined = join_parameters(self)
        self.optimizer = torch.optim.Adam(
            [joined], self._rate, eps=1e-7, weight_decay=self._decay, fused=True
        )

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs (B, d) of the policy, and values (B,)."""
        return self.policy_net(observations), self.values(observations)

    def values(self, observations: Tensor) -> Tensor:
        """Values (B,)."""
        found: Tensor = self.value_net(observations)[:, 0]
        return found

    def set_training_mode(self, mode: bool) -> None:
        """The name by which Stable-Baselines3 calls :meth:`train`."""
        self.train(mode)


def join_parameters(module: nn.Module) -> nn.Parameter:
    """Join all trainable parameters of a module into one, of which they become views.

    The same holds for gradients, which must be set to 0, not to None. For many small parameters
    clipping and Adam would take longer than the passes of a small network.
    """
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    sizes = [parameter.numel() for parameter in parameters]
    joined = nn.Parameter(nn.utils.parameters_to_vector(parameters).detach())
    joined.grad = torch.zeros_like(joined)
    parts = joined.detach().split(sizes), joined.grad.split(sizes)
    for parameter, values, gradient in zip(parameters, *parts, strict=True):
        parameter.data = values.view_as(parameter)
        parameter.grad = gradient.view_as(parameter)
    return joined


def clip_norm_(gradient: Tensor, most: float) -> None:
    """Scale a gradient in place so that its norm is at most `most`."""
    norm = torch.linalg.vector_norm(gradient)
    gradient.mul_((most / (norm + 1e-6)).clamp_(max=1.0))


def policy_arrays(network: nn.Module, head: Head) -> dict[str, Array]:
    """Weights of a policy by their names in bundles; views of the modules' memory on the CPU."""
    own = {name: p.detach().cpu().numpy() for name, p in head.named_parameters()}
    return layer_arrays("policy", network) | own


def layer_arrays(prefix: str, network: nn.Module) -> dict[str, Array]:
    """Arrays of a network's linear layers, named as :func:`perceptron` reads them.

    On the CPU they share memory with the modules: writing to them changes the modules.
    """
    if isinstance(network, OwnNetwork):
        return network.arrays(prefix)
    found: dict[str, Array] = {}
    linear = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    for number, layer in enumerate(linear):
        found[f"{prefix}.{number}.weight"] = layer.weight.detach().cpu().numpy()
        found[f"{prefix}.{number}.bias"] = layer.bias.detach().cpu().numpy()
    for number, activation in enumerate(ACTIVATIONS.values()):
        if number and any(type(module) is activation for module in network.modules()):
            found[f"{prefix}.{ACTIVATION}"] = np.array([number], np.uint8)
    return found


def linear_layers(
    inputs: int, hidden: Sequence[int], activation: Callable[[], nn.Module]
) -> list[nn.Module]:
    """Modules of a network with a single output: linear layers, activations in between."""
    modules: list[nn.Module] = []
    for narrow, wide in pairwise([inputs, *hidden]):
        modules += [nn.Linear(narrow, wide), activation()]
    return [*modules, nn.Linear([inputs, *hidden][-1], 1)]


def mlp(
    inputs: int,
    hidden: Sequence[int],
    outputs: int,
    activation: Callable[[], nn.Module],
    gain: float,
) -> nn.Sequential:
    """Linear layers with activations between them, orthogonal weights and zero biases.

    Args:
        inputs, hidden, outputs: widths.
        activation: makes the modules between two layers.
        gain: of the last layer; the others have that of a ReLU.
    """
    modules: list[nn.Module] = []
    for before, after in pairwise([inputs, *hidden]):
        modules += [_linear(before, after, math.sqrt(2.0)), activation()]
    return nn.Sequential(*modules, _linear([inputs, *hidden][-1], outputs, gain))


def _linear(inputs: int, outputs: int, gain: float) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
