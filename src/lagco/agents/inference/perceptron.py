"""Small networks at inference: a few microseconds a pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numba import njit

from lagco.agents.config import ACTIVATIONS
from lagco.arrays import Array
from lagco.embedding.inference.row_sums import add_products
from lagco.errors import LagcoError, UsageError
from lagco.results.numbers import of_things
from lagco.store import Tensors

if TYPE_CHECKING:
    from lagco.agents.learning.own_network import OwnNetwork

SLOPE = np.float32(0.01)
_FIRST = np.zeros(1, dtype=np.int64)
#: name of the array that says which activation a network has
ACTIVATION = "activation"
#: names of the arrays of a user's own network: its state, and its widths
OWN, WIDTHS = "own", "widths"

#: weight and bias (out,) per linear layer
Layers: TypeAlias = Sequence[tuple[Array, Array]]
#: (inputs, outputs) -> a torch module from (B, inputs) to (B, outputs)
NetworkFactory: TypeAlias = Callable[[int, int], Any]


class Network(Protocol):
    """A network at inference."""

    @property
    def inputs(self) -> int:
        """Width of the inputs."""
        ...

    @property
    def outputs(self) -> int:
        """Width of the outputs."""
        ...

    def __call__(self, inputs: Array) -> Array:
        """Outputs (…, out) for inputs (…, in)."""
        ...


class AgentWeights(dict[str, Array]):
    """Arrays of an agent by name, and its networks that are the user's own torch modules."""

    def __init__(
        self, arrays: Mapping[str, Array], networks: Mapping[str, OwnNetwork] | None = None
    ) -> None:
        super().__init__(arrays)
        self.networks = dict(networks or getattr(arrays, "networks", {}))


class Perceptron:
    """Linear layers with an activation between them.

    Args:
        layers: (weight (out, in), bias (out,)) per layer.
        activation: one of :data:`~lagco.agents.config.ACTIVATIONS`.
    """

    def __init__(self, layers: Layers, activation: str = "leaky_relu") -> None:
        self.activation = activation
        self._kind = ACTIVATIONS.index(activation)
        self._layers = [
            (np.ascontiguousarray(weight.T, dtype=np.float32), bias.astype(np.float32))
            for weight, bias in layers
        ]
        self._weights = tuple([weight for weight, _ in self._layers])
        self._biases = tuple([bias for _, bias in self._layers])

    def __call__(self, inputs: Array) -> Array:
        """Outputs (…, out) for inputs (…, in)."""
        if inputs.ndim == 1:
            single: Array = forward(inputs, self._weights, self._biases, SLOPE, self._kind)
            return single
        return pass_layers(inputs, self._layers, self.activation)

    @property
    def layers(self) -> Layers:
        """Weight (in, out) and bias (out,) per layer."""
        return self._layers

    @property
    def inputs(self) -> int:
        """Width of the inputs."""
        return int(self._layers[0][0].shape[0])

    @property
    def outputs(self) -> int:
        """Width of the outputs."""
        return int(self._layers[-1][0].shape[1])


class TorchPass:
    """The user's own module at inference.

    Args:
        network: the module and its widths.
    """

    def __init__(self, network: OwnNetwork) -> None:
        self.network = network
        self.inputs = network.inputs
        self.outputs = network.outputs

    def __call__(self, inputs: Array) -> Array:
        """Outputs (…, out) for inputs (…, in)."""
        return self.network.predict(inputs)


def pass_layers(inputs: Array, layers: Layers, activation: str = "leaky_relu") -> Array:
    """Outputs (k, out) of linear layers, weights (in, out), with an activation between them."""
    *hidden, last = layers
    x = inputs
    for weight, bias in hidden:
        x = x @ weight
        x += bias
        if activation == "tanh":
            np.tanh(x, out=x)
        elif activation == "elu":
            np.copyto(x, np.expm1(np.minimum(x, 0)), where=x < 0)
        else:
            np.maximum(x, (SLOPE if activation == "leaky_relu" else 0) * x, out=x)
    found: Array = x @ last[0]
    found += last[1]
    return found


@njit(cache=True, fastmath={"contract"})
def forward(x, weights, biases, slope, kind):  # type: ignore[no-untyped-def]
    """One pass for inputs (in,).

    The activation is number `kind` of :data:`~lagco.agents.config.ACTIVATIONS`.
    """
    for layer in range(len(weights)):
        w, y = weights[layer], biases[layer].copy()
        one, table = y.reshape(1, y.shape[0]), w.reshape(1, w.shape[0], w.shape[1])
        add_products(one, _FIRST, 1, x.reshape(1, x.shape[0]), w.shape[0], table, 0)
        if layer < len(weights) - 1:
            _activate(y, slope, kind)
        x = y
    return x


@njit(cache=True)
def _activate(y, slope, kind):  # type: ignore[no-untyped-def]
    if kind == 0:
        for o in range(y.shape[0]):
            y[o] = max(y[o], slope * y[o])
    elif kind == 1:
        for o in range(y.shape[0]):
            y[o] = max(y[o], np.float32(0))
    elif kind == 2:
        for o in range(y.shape[0]):
            y[o] = math.tanh(y[o])
    else:
        for o in range(y.shape[0]):
            y[o] = y[o] if y[o] > 0 else math.expm1(y[o])


def stored_layers(weights: Mapping[str, Array], prefix: str) -> Layers:
    """Layers stored as ``prefix.0.weight`` (out, in), ``prefix.0.bias``, ``prefix.1.weight``, …

    Float32 arrays are not copied: changing them changes the layers.
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


def perceptron(
    weights: Mapping[str, Array],
    prefix: str,
    inputs: int | None = None,
    outputs: int | None = None,
) -> Network:
    """The network of that prefix: compiled from :func:`stored_layers`, or the user's own module.

    Compiled code does not check widths, so callers should give those that they know.

    Args:
        weights: of an agent.
        prefix: name of the network.
        inputs: expected width of the inputs.
        outputs: expected width of the outputs.
    """
    own = getattr(weights, "networks", {}).get(prefix)
    network: Network
    if own is not None:
        network = TorchPass(own)
    else:
        network = Perceptron(stored_layers(weights, prefix), stored_activation(weights, prefix))
    check_width(f"the network {prefix!r} takes", network.inputs, inputs)
    check_width(f"the network {prefix!r} gives", network.outputs, outputs)
    return network


def score_with(network: Network, observation: Array, vectors: Array) -> Array:
    """Q(o, u) by a network, for an observation (w,) and vectors (k, d): (k,)."""
    repeated = np.broadcast_to(observation, (len(vectors), len(observation)))
    return network(np.concatenate([repeated, vectors], axis=1).astype(np.float32))[:, 0]


def stored_activation(weights: Mapping[str, Array], prefix: str) -> str:
    """The activation stored by number as ``prefix.activation``, by default the first.

    Raises:
        LagcoError: no activation has that number.
    """
    code = weights.get(f"{prefix}.{ACTIVATION}")
    if code is None:
        return ACTIVATIONS[0]
    if code.shape != (1,) or int(code[0]) not in range(len(ACTIVATIONS)):
        raise LagcoError(f"the network {prefix!r} has the activation {code.tolist()}")
    return ACTIVATIONS[int(code[0])]


def check_width(what: str, seen: int, wanted: int | None) -> None:
    """Raise UsageError unless `wanted` is None or equal to `seen`."""
    if wanted not in (None, seen):
        raise UsageError(
            f"{what} {of_things(seen, 'numbers')}, here are {wanted}; was it trained with other "
            "features or for another problem?"
        )


def take_network(tensors: Tensors, prefix: str, outputs: int) -> None:
    """Take the arrays of a network with so many outputs from a file."""
    if f"{prefix}.{WIDTHS}" in tensors:
        _take_own(tensors, prefix, outputs)
        return
    try:
        layers = stored_layers(tensors, prefix)
        stored_activation(tensors, prefix)
    except LagcoError as error:
        raise tensors.refused(str(error)) from error
    if f"{prefix}.{ACTIVATION}" in tensors:
        tensors.take(f"{prefix}.{ACTIVATION}", (1,), np.uint8)
    before: int | None = None
    for number, (weight, _) in enumerate(layers):
        width = outputs if number == len(layers) - 1 else None
        tensors.take(f"{prefix}.{number}.weight", (width, before))
        tensors.take(f"{prefix}.{number}.bias", weight.shape[:1])
        before = weight.shape[0]


def _take_own(tensors: Tensors, prefix: str, outputs: int) -> None:
    """Take the state of the user's own module; its class checks the shapes."""
    seen = int(tensors.take(f"{prefix}.{WIDTHS}", (2,), np.int64, low=1)[1])
    if seen != outputs:
        raise tensors.refused(
            f"the network {prefix!r} gives {of_things(seen, 'numbers')}, not {outputs}"
        )
    for name, array in tensors.items():
        if name.startswith(f"{prefix}.{OWN}."):
            tensors.take(name, array.shape, array.dtype)
