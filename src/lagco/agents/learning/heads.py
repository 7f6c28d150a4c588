"""Heads: what the outputs of a policy network mean.

A head draws the actions of a rollout from these outputs and, in an update, says how probable the
actions drawn are by now. Whatever it needs of the states to do so (which actions were valid) it
keeps during the rollout.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from lagco.arrays import Array

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
#: logit of an action that is not to be drawn, that of MaskablePPO
MASKED = -1e8


class Head(nn.Module, ABC):
    """Meaning of the outputs of a policy network.

    Attributes:
        outputs: how many the network gives.
    """

    outputs: int

    def begin(self, steps: int, envs: int) -> None:
        """A rollout of so many steps of so many environments begins."""

    @abstractmethod
    def draw(self, outputs: Tensor, step: int | None) -> tuple[Tensor, Tensor]:
        """Actions (N, …) for the outputs (N, d) in the present states; log-probabilities (N,).

        Args:
            outputs: of the network.
            step: of the rollout, whose states are kept for the update; None outside of one.
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
            outputs: (B, d) of the network for some transitions of the rollout, as it is now.
            actions: (B, …) that were drawn there.
            chosen: numbers of the transitions (B,): step · environments + environment.
        """


class GaussianHead(Head):
    """Outputs are the means of independent normal distributions; deviations are learnt.

    Args:
        low, high: actions (d,) are cut to these before they are executed.
        log_std: logarithm of the deviations at the beginning.
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
    """Outputs are logits of numbered actions, all of which count.

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
    """Outputs are logits of numbered actions, of which the valid ones count.

    Where none is valid, all of them count.

    Args:
        outputs: number of actions A.
        masks: gives the valid actions of the present states, bool (N, A).
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
