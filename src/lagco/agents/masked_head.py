"""Softmax over the valid ones of numbered actions.

There is an output for every raw action, of which few may be valid in a state. The valid ones of
each state of a rollout are listed, and an update asks for these outputs alone: the gradient of all
others is 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numba import njit

from lagco.agents.heads import (
    Head,
    Listed,
    Loss,
    Rollout,
    Weighting,
    categorical_loss,
    draw_categorical,
    softmax,
)
from lagco.agents.listed_outputs import picked
from lagco.arrays import Array
from lagco.embedding.features import enlarged

#: share of outputs from which on all are passed together
_FEW = 0.3


class MaskedHead(Head):
    """Outputs are logits of numbered actions, of which the valid ones count.

    Where none is valid, all of them count.

    Args:
        masks: gives the valid actions of the present states, bool (N, A).
    """

    def __init__(self, masks: Callable[[], Array]) -> None:
        self._ask = masks
        self.begin(0, 0)

    def begin(self, steps: int, envs: int) -> None:
        #: the valid actions of each transition, how many they are, and which of these was drawn
        self._numbers = np.zeros((steps * envs, 0), np.int32)
        self._counts, self._drawn = np.zeros((2, steps * envs), np.int64)
        self._few = False

    def draw(self, outputs: Array, step: int) -> tuple[Array, Array]:
        envs, width = outputs.shape
        chosen = np.arange(step * envs, (step + 1) * envs)
        self._list(self._ask(), chosen)
        self._few = bool(self._counts.sum() < _FEW * width * (step + 1) * envs)
        logits = picked(outputs, self.listed(chosen))
        places, log_probs = np.empty(envs, np.int64), np.empty(envs, np.float32)
        draw_categorical(*softmax(logits), torch.rand(envs).numpy(), places, log_probs)
        self._drawn[chosen] = places
        return self._numbers[chosen, places].astype(np.int64), log_probs

    def _list(self, masks: Array, chosen: Array) -> None:
        """Keep the valid actions of some transitions."""
        found = np.empty(masks.shape, np.int32)
        self._counts[chosen] = counts = _list_valid(masks, found)
        most = counts.max()
        if most > self._numbers.shape[1]:
            self._numbers = enlarged(self._numbers, 1, min(most + most // 4, masks.shape[1]))
        self._numbers[chosen, :most] = found[:, :most]

    def listed(self, chosen: Array) -> Listed:
        most = int(self._counts[chosen].max())
        return Listed(self._numbers, self._counts, chosen, most, self._few)

    def loss(
        self, outputs: Array, values: Array, rollout: Rollout, chosen: Array, weighting: Weighting
    ) -> Loss:
        return categorical_loss(outputs, values, self._drawn, rollout, chosen, weighting)


@njit(cache=True)
def _list_valid(masks, numbers):  # type: ignore[no-untyped-def]
    """Write the numbers of the valid ones of each row (N, A), all where none is; counts (N,)."""
    counts = np.empty(masks.shape[0], np.int64)
    for b in range(masks.shape[0]):
        row, into = masks[b], numbers[b]
        count = 0
        for a in range(row.shape[0]):
            into[count] = a
            count += row[a]
        if count == 0:
            count = row.shape[0]
            for a in range(count):
                into[a] = a
        counts[b] = count
    return counts
