"""Heads: action distributions parametrised by the outputs of a policy network.

A head samples actions during a rollout and evaluates their log-probabilities in an update. It
stores what it needs of the visited states for that, such as masks of valid actions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from lagco.arrays import Array

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
#: logit of a masked action, as in MaskablePPO
MASKED = -1e8


class Head(nn.Module, ABC):
    """Distribution over actions, given the outputs of a policy network.

    Attributes:
        outputs: number of outputs of the network, d.
    """

    outputs: int

    def begin(self, steps: int, envs: int) -> None:
        """Prepare for a rollout of `steps` steps in `envs` environments."""

    @abstractmethod
    def draw(self, outputs: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
        """Actions (N, …) for the outputs (N, d) in the present states; log-probabilities (N,).

        Args:
            outputs: of the network.
            step: of the rollout, whose states are stored for the update; None outside a rollout.
        """

    @abstractmethod
    def mode(self, outputs: Tensor) -> Tensor:
        """The most likely actions (N, …) in the present states."""

    def executed(self, actions: Array) -> Array:
        """Actions as the environment takes them."""
        return actions

    @abstractmethod
    def evaluate(self, outputs: Tensor, actions: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities (B,) of the actions drawn, and entropies (B,), or () if all are equal.

        Args:
            outputs: (B, d) of the current network for transitions of the rollout.
            actions: (B, …) drawn in these transitions.
            chosen: indices (B,) of the transitions: step · environments + environment.
        """


class GaussianHead(Head):
    """Independent normal distributions: outputs are the means, standard deviations are learnt.

    Args:
        low, high: bounds (d,) to which actions are clipped before they are executed.
        log_std: initial logarithm of the standard deviations.
    """

    def __init__(self, low: Array, high: Array, log_std: float) -> None:
        super().__init__()
        self.outputs = len(low)
        self.log_std = nn.Parameter(torch.full((self.outputs,), log_std))
        self._low, self._high = low, high

    def draw(self, outputs: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
        noise = torch.randn_like(outputs)
        actions = outputs + self.log_std.exp() * noise
        return actions, -0.5 * noise.square().sum(1) - self._log_volume()

    def mode(self, outputs: Tensor) -> Tensor:
        return outputs

    def executed(self, actions: Array) -> Array:
        return actions.clip(self._low, self._high)

    def evaluate(self, outputs: Tensor, actions: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        log_volume = self._log_volume()
        precision = torch.exp(-2.0 * self.log_std)
        # - 1/2 sum of (a - mean)^2 / deviation^2 - volume
        squares, volumes = (actions - outputs).square(), log_volume.expand(len(outputs))
        log_probs = torch.addmv(volumes, squares, precision, beta=-1.0, alpha=-0.5)
        return log_probs, log_volume + 0.5 * self.outputs

    def _log_volume(self) -> Tensor:
        """Minus the logarithm of the density at the mean."""
        return self.log_std.sum() + self.outputs * _HALF_LOG_TWO_PI


class CategoricalHead(Head):
    """Categorical distribution over numbered actions: outputs are the logits.

    Args:
        outputs: number of actions.
    """

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs

    def logits(self, outputs: Tensor, step: int | None) -> Tensor:
        """Logits (N, A) of the actions in the present states, see :meth:`draw`."""
        return outputs

    def kept_logits(self, outputs: Tensor, chosen: Tensor) -> Tensor:
        """Logits (B, A) of the actions in some states of the rollout, see :meth:`evaluate`."""
        return outputs

    def draw(self, outputs: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
        log_probs = self.logits(outputs, step).log_softmax(1)
        actions = log_probs.exp().multinomial(1)
        return actions[:, 0], log_probs.gather(1, actions)[:, 0]

    def mode(self, outputs: Tensor) -> Tensor:
        return self.logits(outputs, None).argmax(1)

    def evaluate(self, outputs: Tensor, actions: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
        log_probs = self.kept_logits(outputs, chosen).log_softmax(1)
        entropies = -(log_probs.exp() * log_probs).sum(1)
        return log_probs.gather(1, actions[:, None])[:, 0], entropies


class MaskedHead(CategoricalHead):
    """Categorical distribution over the valid ones of numbered actions.

    Where no action is valid, none is masked.

    Args:
        outputs: number of actions A.
        masks: returns the valid actions of the present states, bool (N, A).
    """

    def __init__(self, outputs: int, masks: Callable[[], Array]) -> None:
        super().__init__(outputs)
        self._ask = masks
        #: actions that are not valid, by transition of the rollout
        self._invalid = torch.zeros(0, outputs, dtype=torch.bool)

    def begin(self, steps: int, envs: int) -> None:
        self._invalid = torch.zeros(steps * envs, self.outputs, dtype=torch.bool)

    def logits(self, outputs: Tensor, step: int | None) -> Tensor:
        masks = torch.from_numpy(self._ask())
        invalid = ~masks & masks.any(1, keepdim=True)
        if step is not None:
            self._invalid[step * len(masks) : (step + 1) * len(masks)] = invalid
        return outputs.masked_fill(invalid.to(outputs.device), MASKED)

    def kept_logits(self, outputs: Tensor, chosen: Tensor) -> Tensor:
        invalid = self._invalid.index_select(0, chosen.cpu()).to(outputs.device)
        return outputs.masked_fill(invalid, MASKED)
