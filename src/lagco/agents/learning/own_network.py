"""Policy networks given by the user: torch modules in training and at inference.

A bundle holds only their state; the class must be given to load it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.inference.perceptron import OWN, WIDTHS, NetworkFactory
from lagco.arrays import Array
from lagco.errors import UsageError


class OwnNetwork(nn.Module):
    """A user's module, and its widths.

    Args:
        module: from (B, inputs) to (B, outputs).
        inputs: width of the inputs.
        outputs: width of the outputs.
    """

    def __init__(self, module: nn.Module, inputs: int, outputs: int) -> None:
        super().__init__()
        self.module = module
        self.inputs = inputs
        self.outputs = outputs

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs (B, outputs)."""
        found: Tensor = self.module(inputs)
        return found

    def arrays(self, prefix: str) -> dict[str, Array]:
        """State dict of the module (sharing its memory on the CPU), and the widths."""
        state = self.module.state_dict().items()
        found = {f"{prefix}.{OWN}.{name}": t.detach().cpu().numpy() for name, t in state}
        return found | {f"{prefix}.{WIDTHS}": np.array([self.inputs, self.outputs], np.int64)}

    def predict(self, inputs: Array) -> Array:
        """Outputs (…, outputs) for inputs (…, inputs), in evaluation mode."""
        training = self.module.training
        self.module.eval()
        parameter = next(self.module.parameters(), None)
        device = "cpu" if parameter is None else parameter.device
        with torch.no_grad():
            rows = torch.from_numpy(np.atleast_2d(inputs)).to(device)
            found: Array = self.module(rows).cpu().numpy()
        self.module.train(training)
        return found[0] if inputs.ndim == 1 else found

    __hash__ = nn.Module.__hash__


def make_network(factory: NetworkFactory, inputs: int, outputs: int) -> OwnNetwork:
    """The network that a factory makes, checked on zeros.

    Raises:
        UsageError: it makes no module, or one of other widths.
    """
    name = getattr(factory, "__qualname__", repr(factory))
    module = factory(inputs, outputs)
    if not isinstance(module, nn.Module):
        raise UsageError(
            f"policy={name}: gives a {type(module).__name__} for ({inputs}, {outputs}), it must "
            "give a torch.nn.Module"
        )
    try:
        with torch.no_grad():
            shape = tuple(module.eval()(torch.zeros(2, inputs)).shape)
    except (RuntimeError, TypeError, ValueError) as error:
        raise UsageError(
            f"policy={name}: fails on observations of shape (2, {inputs}) ({error})"
        ) from error
    if shape != (2, outputs):
        raise UsageError(
            f"policy={name}: gives outputs of shape {shape} for observations of shape "
            f"(2, {inputs}), they must be (2, {outputs})"
        )
    return OwnNetwork(module.train(), inputs, outputs)


def load_network(
    weights: Mapping[str, Array], prefix: str, factory: NetworkFactory | None
) -> OwnNetwork:
    """The user's own network of that prefix, from its class and its state.

    Raises:
        UsageError: the class is missing, superfluous or another one.
    """
    widths = weights.get(f"{prefix}.{WIDTHS}")
    if widths is None:
        raise UsageError(
            "policy_class=: the agent's policy network is one of lagco's own; leave it out"
        )
    if factory is None:
        raise UsageError(
            f"the agent's network {prefix!r} is a torch module of the user's own, of which a "
            "bundle holds only the state; give policy_class=, what made it in training"
        )
    network = make_network(factory, int(widths[0]), int(widths[1]))
    start = f"{prefix}.{OWN}."
    state = {
        name.removeprefix(start): torch.from_numpy(np.array(array))
        for name, array in weights.items()
        if name.startswith(start)
    }
    try:
        network.module.load_state_dict(state)
    except RuntimeError as error:
        name = getattr(factory, "__qualname__", repr(factory))
        raise UsageError(
            f"policy_class={name}: makes another network than the one that was trained ({error})"
        ) from error
    network.eval()
    return network
