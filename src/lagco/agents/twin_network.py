"""Policy and value network of an actor-critic policy, passed and differentiated in one place."""

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


class TwinNetwork:
    """Two perceptrons over the same observations: the policy's outputs and the values.

    All parameters of the policy become views of one array, and so do their gradients. The first
    layers of both networks lie one behind the other, so that one product passes both. A policy
    network of the user's own is differentiated by torch.

    Args:
        policy: an actor-critic policy of Stable-Baselines3 with separate networks.

    Attributes:
        gradient: of all parameters, one behind the other.
    """

    def __init__(self, policy: Any) -> None:
        extractor = policy.mlp_extractor
        acting = [*_linear(extractor.policy_net), policy.action_net]
        valuing = [*_linear(extractor.value_net), policy.value_net]
        self._own: nn.Module | None = None
        if isinstance(policy.action_net, nn.Identity):
            self._own, acting = extractor.policy_net, []
        self._activation = policy.activation_fn()
        self._derivative = _DERIVATIVES[policy.activation_fn]
        first = acting[:1] + valuing[:1]
        ordered = [layer.weight for layer in first] + [layer.bias for layer in first]
        self.gradient = _flatten(policy, ordered)
        width, inputs = sum(len(layer.bias) for layer in first), first[0].weight.shape[1]
        self._split = width - len(valuing[0].bias)
        self._weight = _joined([layer.weight.data for layer in first], (width, inputs))
        self._bias = _joined([layer.bias.data for layer in first], (width,))
        self._weight_gradient = _joined([layer.weight.grad for layer in first], (width, inputs))
        self._bias_gradient = _joined([layer.bias.grad for layer in first], (width,))
        self._acting, self._valuing = acting[1:], valuing[1:]
        self._passed: tuple[Any, ...] = ()

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """The policy's outputs (B, d) and values (B,)."""
        with torch.no_grad():
            both = torch.addmm(self._bias, observations, self._weight.t())
            acting, valuing = both[:, : self._split], both[:, self._split :]
            shown = self._chain(acting, self._acting)
            values = self._chain(valuing, self._valuing)
        if self._own is None:
            outputs = shown[-1]
        else:
            with torch.set_grad_enabled(self._own.training):
                outputs = self._own(observations)
        self._passed = observations, both, shown, values, outputs
        return outputs.detach(), values[-1][:, 0]

    def backward(self, outputs: Tensor, values: Tensor) -> None:
        """Write :attr:`gradient` for gradients of the last pass's outputs (B, d), values (B,)."""
        observations, both, shown, valued, found = self._passed
        if self._own is not None:
            self.gradient.zero_()
            found.backward(outputs)
        with torch.no_grad():
            change = torch.empty_like(both)
            if self._own is None:
                change[:, : self._split] = self._descend(outputs, shown, self._acting)
            change[:, self._split :] = self._descend(values[:, None], valued, self._valuing)
            torch.mm(change.t(), observations, out=self._weight_gradient)
            torch.sum(change, 0, out=self._bias_gradient)

    def clip_gradient(self, most: float) -> None:
        """Cut the norm of the gradient to `most`."""
        factor = most / (float(self.gradient.norm()) + 1e-6)
        if factor < 1.0:
            self.gradient.mul_(factor)

    def _chain(self, inputs: Tensor, layers: Sequence[nn.Linear]) -> list[Tensor]:
        """What enters each of the later layers, and what leaves the last one."""
        found = [inputs]
        for layer in layers:
            found[-1] = self._activation(found[-1])
            found.append(torch.addmm(layer.bias, found[-1], layer.weight.t()))
        return found

    def _descend(
        self, change: Tensor, found: Sequence[Tensor], layers: Sequence[nn.Linear]
    ) -> Tensor:
        """Gradients of some layers, and that of what the first layer gave."""
        for layer, entered in zip(reversed(layers), reversed(found[:-1]), strict=True):
            assert layer.weight.grad is not None
            torch.mm(change.t(), entered, out=layer.weight.grad)
            torch.sum(change, 0, out=layer.bias.grad)
            change = self._derivative(torch.mm(change, layer.weight), entered)
        return change


def _linear(module: nn.Module) -> list[nn.Linear]:
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


def _flatten(policy: nn.Module, first: Sequence[nn.Parameter]) -> Tensor:
    """Make all parameters views of one array, these ones first; returns that of gradients."""
    chosen = {id(parameter) for parameter in first}
    ordered = [*first, *(p for p in policy.parameters() if id(p) not in chosen)]
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


def _joined(parts: Sequence[Any], shape: tuple[int, ...]) -> Tensor:
    """Neighbouring views of one array as one view."""
    strides = torch.empty(shape).stride()
    found: Tensor = parts[0].as_strided(shape, strides)
    return found
