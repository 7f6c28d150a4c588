"""Perceptrons over the same inputs, passed and differentiated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

#: (gradient, output of the activation) -> gradient of its input
Derivative: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"

_aten: Any = torch.ops.aten
_DERIVATIVES: dict[type[nn.Module], Derivative] = {
    nn.LeakyReLU: lambda g, y: _aten.leaky_relu_backward(g, y, 0.01, True),
    nn.ReLU: lambda g, y: _aten.threshold_backward(g, y, 0),
    nn.Tanh: lambda g, y: _aten.tanh_backward(g, y),
    nn.ELU: lambda g, y: _aten.elu_backward(g, 1.0, 1.0, 1.0, True, y),
}


class JointNetwork:
    """Perceptrons whose first layers are one product.

    All parameters of the module become views of one array, and so do their gradients; the first
    layers lie one behind the other in it.

    Args:
        module: holds the layers, and perhaps more parameters.
        chains: linear layers of each perceptron, first to last.
        activation: class of the modules between two layers.

    Attributes:
        gradient: of all parameters, one behind the other.
    """

    def __init__(
        self,
        module: nn.Module,
        chains: Sequence[Sequence[nn.Linear]],
        activation: type[nn.Module],
    ) -> None:
        self._activation = activation()
        self._derivative = _DERIVATIVES[activation]
        first = [chain[0] for chain in chains]
        ordered = [layer.weight for layer in first] + [layer.bias for layer in first]
        self.gradient = _flatten(module, ordered)
        self._widths = [len(layer.bias) for layer in first]
        shape = sum(self._widths), first[0].weight.shape[1]
        self._weight = _joined(first[0].weight.data, shape)
        self._bias = _joined(first[0].bias.data, shape[:1])
        self._weight_gradient = _joined(first[0].weight.grad, shape)
        self._bias_gradient = _joined(first[0].bias.grad, shape[:1])
        self._rest = [chain[1:] for chain in chains]
        self._passed: tuple[Tensor, list[list[Tensor]]] = torch.empty(0), []

    @torch.no_grad()
    def forward(self, inputs: Tensor) -> list[Tensor]:
        """Outputs (B, ·) of each perceptron."""
        both = torch.addmm(self._bias, inputs, self._weight.t())
        found = []
        for part, layers in zip(both.split(self._widths, 1), self._rest, strict=True):
            entering = [part]
            for layer in layers:
                entering[-1] = self._activation(entering[-1])
                entering.append(torch.addmm(layer.bias, entering[-1], layer.weight.t()))
            found.append(entering)
        self._passed = inputs, found
        return [entering[-1] for entering in found]

    @torch.no_grad()
    def backward(self, gradients: Sequence[Tensor]) -> None:
        """Write :attr:`gradient` for gradients of the outputs of the last pass."""
        inputs, found = self._passed
        change = inputs.new_empty(len(inputs), len(self._bias))
        for part, gradient, entering, layers in zip(
            change.split(self._widths, 1), gradients, found, self._rest, strict=True
        ):
            for layer, entered in zip(reversed(layers), reversed(entering[:-1]), strict=True):
                assert layer.weight.grad is not None
                torch.mm(gradient.t(), entered, out=layer.weight.grad)
                torch.sum(gradient, 0, out=layer.bias.grad)
                gradient = self._derivative(torch.mm(gradient, layer.weight), entered)
            part.copy_(gradient)
        torch.mm(change.t(), inputs, out=self._weight_gradient)
        torch.sum(change, 0, out=self._bias_gradient)

    def clip_gradient(self, most: float) -> None:
        """Cut the norm of the gradient to `most`."""
        factor = most / (float(self.gradient.norm()) + 1e-6)
        if factor < 1.0:
            self.gradient.mul_(factor)


class TwinNetwork:
    """Policy and value network of an actor-critic policy of Stable-Baselines3.

    A policy network of the user's own is differentiated by torch.

    Args:
        policy: with separate networks for both.
    """

    def __init__(self, policy: Any) -> None:
        extractor = policy.mlp_extractor
        valuing = [*linear_modules(extractor.value_net), policy.value_net]
        self._own: nn.Module | None = None
        chains = [[*linear_modules(extractor.policy_net), policy.action_net], valuing]
        if isinstance(policy.action_net, nn.Identity):
            self._own, chains = extractor.policy_net, [valuing]
        self.joint = JointNetwork(policy, chains, policy.activation_fn)
        self._outputs = torch.empty(0)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """The policy's outputs (B, d) and values (B,)."""
        *outputs, values = self.joint.forward(observations)
        if self._own is None:
            return outputs[0], values[:, 0]
        with torch.set_grad_enabled(self._own.training):
            self._outputs = self._own(observations)
        return self._outputs.detach(), values[:, 0]

    def backward(self, outputs: Tensor, values: Tensor) -> None:
        """Write the gradients of all parameters for those of the last pass: (B, d), (B,)."""
        if self._own is None:
            self.joint.backward([outputs, values[:, None]])
            return
        self.joint.gradient.zero_()
        self._outputs.backward(outputs)
        self.joint.backward([values[:, None]])


def linear_modules(module: nn.Module) -> list[nn.Linear]:
    """Linear layers of a module, first to last."""
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


def _flatten(module: nn.Module, first: Sequence[Tensor]) -> Tensor:
    """Make all parameters views of one array, these ones first; returns that of gradients."""
    chosen = {id(parameter) for parameter in first}
    ordered = [*first, *(p for p in module.parameters() if id(p) not in chosen)]
    total = sum(parameter.numel() for parameter in ordered)
    flat, gradient = (torch.zeros(total, device=ordered[0].device) for _ in range(2))
    at = 0
    for parameter in ordered:
        stop = at + parameter.numel()
        flat[at:stop] = parameter.data.reshape(-1)
        parameter.data = flat[at:stop].view(parameter.shape)
        parameter.grad = gradient[at:stop].view(parameter.shape)
        at = stop
    return gradient


def _joined(first: Any, shape: tuple[int, ...]) -> Tensor:
    """Neighbouring views of one array as one view, which begins with the first."""
    strides = (shape[1], 1) if len(shape) == 2 else (1,)
    found: Tensor = first.as_strided(shape, strides)
    return found
