"""Perceptrons over the same inputs, passed and differentiated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numba import types
from torch import Tensor, nn

from lagco.agents.compiled_network import LEAST, differentiate_chain, pass_chain, sum_columns
from lagco.agents.heads import Listed, Loss, host
from lagco.agents.listed_outputs import differentiate_listed, pass_listed, picked, spread
from lagco.agents.network import SLOPE, Perceptron, layer_arrays, stored_activation, stored_layers
from lagco.arrays import Array
from lagco.bound_arguments import bind

#: (gradient, output of the activation) -> gradient of its input
Derivative: TypeAlias = "Callable[[Tensor, Tensor], Tensor]"

#: type of what enters or leaves a layer (B, ·), and of its gradient
_BATCH = types.Array(types.float32, 2, "C")
#: layers of a chain: all, and those before the last
_WHOLE, _HIDDEN = slice(None), slice(0, -1)

_aten: Any = torch.ops.aten
#: activation and its derivative by the module's class
_ACTIVATIONS: dict[type[nn.Module], tuple[Callable[[Tensor], Tensor], Derivative]] = {
    nn.LeakyReLU: (
        nn.functional.leaky_relu,
        lambda g, y: _aten.leaky_relu_backward(g, y, 0.01, True),
    ),
    nn.ReLU: (torch.relu, lambda g, y: _aten.threshold_backward(g, y, 0)),
    nn.Tanh: (torch.tanh, lambda g, y: _aten.tanh_backward(g, y)),
    nn.ELU: (nn.functional.elu, lambda g, y: _aten.elu_backward(g, 1.0, 1.0, 1.0, True, y)),
}


class _Layer:
    """Arrays of a linear layer and their gradients, without the module around them."""

    __slots__ = ("bias", "bias_gradient", "transposed", "weight", "weight_gradient")

    def __init__(self, weight: Any, bias: Any, shape: tuple[int, int]) -> None:
        self.weight = _joined(weight.data, shape)
        self.transposed = self.weight.t()
        self.bias = _joined(bias.data, shape[:1])
        self.weight_gradient = _joined(weight.grad, shape)
        self.bias_gradient = _joined(bias.grad, shape[:1])

    def forward(self, inputs: Tensor) -> Tensor:
        return torch.addmm(self.bias, inputs, self.transposed)

    def backward(self, gradient: Tensor, inputs: Tensor) -> None:
        torch.mm(gradient.t(), inputs, out=self.weight_gradient)
        torch.sum(gradient, 0, out=self.bias_gradient)


class JointNetwork:
    """Perceptrons whose first layers are one product, and their Adam.

    All parameters of the module become views of one array, and so do their gradients and the state
    of the optimiser; the first layers lie one behind the other in it.

    Args:
        module: holds the layers, and perhaps more parameters.
        chains: linear layers of each perceptron, first to last.
        activation: class of the modules between two layers.
        optimiser: Adam over all parameters of the module, in one group.

    Attributes:
        flat: all parameters, one behind the other.
        gradient: of all parameters.
        moments: means and squares that Adam keeps of it, and the number of steps.
        group: settings of Adam.
        layers: the first layers as one, and those behind them per perceptron.
    """

    def __init__(
        self,
        module: nn.Module,
        chains: Sequence[Sequence[nn.Linear]],
        activation: type[nn.Module],
        optimiser: torch.optim.Optimizer,
    ) -> None:
        self._activation, self._derivative = _ACTIVATIONS[activation]
        first = [chain[0] for chain in chains]
        leading: list[Any] = [*(layer.weight for layer in first), *(layer.bias for layer in first)]
        chosen = {id(parameter) for parameter in leading}
        ordered = [*leading, *(p for p in module.parameters() if id(p) not in chosen)]
        self.flat, self.gradient = _flatten(ordered)
        self.moments = _flatten_state(ordered, optimiser)
        self.group = optimiser.param_groups[0]
        self._widths = [len(layer.bias) for layer in first]
        shape = sum(self._widths), first[0].weight.shape[1]
        self._first = _Layer(first[0].weight, first[0].bias, shape)
        self._rest = [
            [
                _Layer(layer.weight, layer.bias, (layer.out_features, layer.in_features))
                for layer in chain[1:]
            ]
            for chain in chains
        ]
        self.layers = self._first, self._rest
        self._passed: tuple[Tensor, list[list[Tensor]]] = torch.empty(0), []

    def forward(self, inputs: Tensor) -> list[Tensor]:
        """Outputs (B, ·) of each perceptron."""
        found = []
        both = self._first.forward(inputs).split(self._widths, 1)
        for part, layers in zip(both, self._rest, strict=True):
            entering = [part]
            for layer in layers:
                entering[-1] = self._activation(entering[-1])
                entering.append(layer.forward(entering[-1]))
            found.append(entering)
        self._passed = inputs, found
        return [entering[-1] for entering in found]

    def forward_last(self, inputs: Tensor) -> Tensor:
        """Outputs (B, ·) of the last perceptron alone, which are not differentiated."""
        first, width = self._first, self._widths[-1]
        return self.pass_last(
            torch.addmm(first.bias[-width:], inputs, first.transposed[:, -width:])
        )

    def pass_last(self, found: Tensor) -> Tensor:
        """The same from what leaves its first layer (B, ·)."""
        for layer in self._rest[-1]:
            found = layer.forward(self._activation(found))
        return found

    def backward(self, gradients: Sequence[Tensor]) -> None:
        """Write :attr:`gradient` for gradients of the outputs of the last pass."""
        inputs, found = self._passed
        changes = []
        for gradient, entering, layers in zip(gradients, found, self._rest, strict=True):
            for layer, entered in zip(reversed(layers), reversed(entering[:-1]), strict=True):
                layer.backward(gradient, entered)
                gradient = self._derivative(torch.mm(gradient, layer.weight), entered)
            changes.append(gradient)
        self._first.backward(torch.cat(changes, 1), inputs)

    def descend(self, most: float) -> None:
        """A step of Adam by the gradient, its norm cut to `most`; as the optimiser would do it."""
        factor = most / (float(self.gradient.norm()) + 1e-6)
        if factor < 1.0:
            self.gradient.mul_(factor)
        self.moments[2].add_(1.0)
        self.adam([(self.flat, self.gradient, *self.moments[:2])])

    def adam(self, parts: Sequence[Sequence[Tensor]]) -> None:
        """A step of Adam for some weights, gradients, means and squares; steps are not counted."""
        group, step = self.group, self.moments[2]
        torch._fused_adam_(  # torch.optim.adam.adam takes as long to get here as this takes
            [part[0] for part in parts],
            [part[1] for part in parts],
            [part[2] for part in parts],
            [part[3] for part in parts],
            [],
            [step] * len(parts),
            amsgrad=False,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


class _Chain:
    """A perceptron behind the first layer: arrays for its compiled pass over batches of one size.

    Args:
        layers: behind the first one.
        low: where its part of the first layer begins.
        rows: of a batch.
    """

    def __init__(self, layers: Sequence[_Layer], low: int, rows: int) -> None:
        widths = [len(layers[0].transposed), *(len(layer.bias) for layer in layers)]
        self._tensors = [torch.empty(rows, width) for width in widths]
        self._entering = tuple([tensor.numpy() for tensor in self._tensors])
        self._last, self._single = layers[-1], widths[-1] == 1
        weights, biases, weight_gradients, bias_gradients = (
            tuple([_numpy(getattr(layer, name)) for layer in layers])
            for name in ("weight", "bias", "weight_gradient", "bias_gradient")
        )
        self._weight, self._bias = weights[-1], biases[-1]
        self._gradients = weight_gradients[-1], bias_gradients[-1]

        def passing(layers: slice) -> Any:
            arguments = low, SLOPE, weights[layers], biases[layers], self._entering
            return bind(pass_chain, arguments, _BATCH)

        def differentiating(layers: slice) -> Any:
            gradients = weight_gradients, bias_gradients
            arguments = low, SLOPE, weights[layers], self._entering, *gradients
            return bind(differentiate_chain, arguments, _BATCH, _BATCH)

        self._pass = passing(_HIDDEN if self._single else _WHOLE), passing(_HIDDEN)
        self._differentiate = differentiating(_WHOLE), differentiating(_HIDDEN)

    def forward(self, first: Array, listed: Listed | None = None) -> Array:
        """Outputs (rows, ·) for those of the first layer, all, a buffer, or those listed."""
        few = listed is not None and listed.few
        self._pass[few](first)
        if listed and few:
            outputs = np.empty((len(first), listed.most), np.float32)
            pass_listed(self._entering[-2], self._weight, self._bias, *listed[:3], outputs)
            return outputs
        if self._single:
            *_, entered, single = self._tensors
            torch.addmm(self._last.bias, entered, self._last.transposed, out=single)
        return picked(self._entering[-1], listed) if listed else self._entering[-1]

    def backward(self, gradient: Array, first: Array, listed: Listed | None = None) -> None:
        """Write gradients of the parameters, and of the outputs of the first layer."""
        if self._single:
            self._last.backward(torch.from_numpy(gradient), self._tensors[-2])
        few = listed is not None and listed.few
        if listed and few:
            before = np.empty_like(self._entering[-2])
            differentiate_listed(
                gradient, *listed[:3], self._entering[-2], self._weight, SLOPE, *self._gradients,
                before,
            )  # fmt: skip
            gradient = before
        elif listed:
            gradient = spread(gradient, len(self._last.bias), listed)
        self._differentiate[few](np.ascontiguousarray(gradient, np.float32), first)


class _Buffers:
    """What a pass over a batch of `rows` rows writes to; inputs where they are copied there."""

    def __init__(self, joint: JointNetwork, rows: int) -> None:
        first, rest = joint.layers
        self.inputs = torch.empty(rows, first.weight.shape[1])
        self.first, self.changes = torch.empty(2, rows, len(first.bias))
        starts = np.cumsum([0, *(layers[0].weight.shape[1] for layers in rest[:-1])]).tolist()
        self._chains = [_Chain(each, low, rows) for each, low in zip(rest, starts, strict=True)]

    def differentiate(
        self, entered: Array, loss: Callable[[Array, Array], Loss], listed: Listed | None
    ) -> Loss:
        """Gradients of all layers but the first, and :attr:`changes`, that of what leaves it."""
        policy, valuing = self._chains
        found = loss(policy.forward(entered, listed), valuing.forward(entered)[:, 0])
        changes = self.changes.numpy()
        policy.backward(found.outputs, changes, listed)
        valuing.backward(found.values[:, None], changes)
        return found


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
        self._policy = extractor.policy_net, policy.action_net
        chains = [[*linear_modules(extractor.policy_net), policy.action_net], valuing]
        if isinstance(policy.action_net, nn.Identity):
            self._own, chains = extractor.policy_net, [valuing]
        self.joint = JointNetwork(policy, chains, policy.activation_fn, policy.optimizer)
        self._outputs = torch.empty(0)
        #: two hidden layers or more, on the CPU, of the usual kind
        self._compiled = (
            self._own is None
            and policy.activation_fn is nn.LeakyReLU
            and self.joint.gradient.device.type == "cpu"
            and all(len(layers) > 1 for layers in self.joint.layers[1])
        )
        self._buffers: dict[int, _Buffers] = {}

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """The policy's outputs (B, d) and values (B,)."""
        *outputs, values = self.joint.forward(observations)
        if self._own is None:
            return outputs[0], values[:, 0]
        with torch.set_grad_enabled(self._own.training):
            self._outputs = self._own(observations)
        return self._outputs.detach(), values[:, 0]

    def differentiate(
        self,
        observations: Tensor,
        chosen: Array,
        loss: Callable[[Array, Array], Loss],
        listed: Listed | None = None,
    ) -> Loss:
        """Write the gradient of a loss over some observations, given as a function of outputs.

        Args:
            observations: (T, w)
            chosen: numbers of some of them (B,).
            loss: of outputs, all (B, d) or those listed (B, M), and values (B,).
            listed: outputs that count.
        """
        rows = torch.from_numpy(chosen).to(observations.device)
        if not self._compiled or len(chosen) < LEAST:
            outputs, values = self.forward(observations.index_select(0, rows))
            given, device = host(outputs), observations.device
            found = loss(picked(given, listed) if listed else given, host(values))
            gradient = spread(found.outputs, given.shape[1], listed) if listed else found.outputs
            self.backward(
                torch.from_numpy(gradient).to(device), torch.from_numpy(found.values).to(device)
            )
            return found
        buffers = self.buffers(len(chosen))
        first, _ = self.joint.layers
        inputs = torch.index_select(observations, 0, rows, out=buffers.inputs)
        entered = torch.addmm(first.bias, inputs, first.transposed, out=buffers.first).numpy()
        found = buffers.differentiate(entered, loss, listed)
        torch.mm(buffers.changes.t(), inputs, out=first.weight_gradient)
        sum_columns(buffers.changes.numpy(), _numpy(first.bias_gradient))
        return found

    def buffers(self, rows: int) -> _Buffers:
        """What a batch of so many rows is written to."""
        found = self._buffers.get(rows)
        if found is None:
            found = self._buffers[rows] = _Buffers(self.joint, rows)
        return found

    def begin(self, observations: Tensor) -> None:
        """An update by these observations (T, w) begins.

        Steps of :meth:`differentiate` and :meth:`descend` follow, then :meth:`finish`.
        """

    def descend(self, most: float) -> None:
        """A step of Adam by the gradient, its norm cut to `most`."""
        self.joint.descend(most)

    def finish(self) -> None:
        """An update is over: parameters, what Adam keeps of them, and gradients are written."""

    def policy(self) -> Callable[[Array], Array]:
        """The policy as it is now, from few observations (N, w) to its outputs (N, d)."""
        if self._own is not None:
            return self._own_outputs
        arrays = layer_arrays("policy", *self._policy)
        layers, activation = stored_layers(arrays, "policy"), stored_activation(arrays, "policy")
        return Perceptron(layers, activation).of_few

    def _own_outputs(self, observations: Array) -> Array:
        assert self._own is not None
        with torch.no_grad():
            found = self._own(torch.from_numpy(observations).to(self.joint.gradient.device))
        outputs: Array = found.cpu().numpy()
        return outputs

    def values(self, observations: Tensor) -> Tensor:
        """Values (B,) alone."""
        return self.joint.forward_last(observations)[:, 0]

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


def _flatten(ordered: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Make parameters views of one array; returns it and that of their gradients."""
    total = sum(parameter.numel() for parameter in ordered)
    flat, gradient = (torch.zeros(total, device=ordered[0].device) for _ in range(2))
    at = 0
    for parameter in ordered:
        stop = at + parameter.numel()
        flat[at:stop] = parameter.data.reshape(-1)
        parameter.data = flat[at:stop].view(parameter.shape)
        parameter.grad = gradient[at:stop].view(parameter.shape)
        at = stop
    return flat, gradient


def _flatten_state(
    ordered: Sequence[Any], optimiser: torch.optim.Optimizer
) -> tuple[Tensor, Tensor, Tensor]:
    """The same for what Adam remembers of them: means, squares, and the number of steps."""
    total = sum(parameter.numel() for parameter in ordered)
    device = ordered[0].device
    found = torch.zeros(total, device=device), torch.zeros(total, device=device)
    known = optimiser.state.get(ordered[0], {})
    step = torch.as_tensor(known.get("step", 0.0), dtype=torch.float32).clone().to(device)
    at = 0
    for parameter in ordered:
        stop = at + parameter.numel()
        state = optimiser.state[parameter]
        for name, flat in zip(("exp_avg", "exp_avg_sq"), found, strict=True):
            if name in state:
                flat[at:stop] = state[name].reshape(-1)
            state[name] = flat[at:stop].view(parameter.shape)
        state["step"] = step
        at = stop
    return *found, step


def _joined(first: Any, shape: tuple[int, ...]) -> Tensor:
    """Neighbouring views of one array as one view, which begins with the first."""
    strides = (shape[1], 1) if len(shape) == 2 else (1,)
    found: Tensor = first.as_strided(shape, strides)
    return found


def _numpy(tensor: Tensor) -> Array:
    """The same memory as an array."""
    found: Array = tensor.detach().numpy()
    return found
