"""Padded observations in an update: what stays the same within an episode passes once.

Most numbers of a padded observation describe the instance. In a batch of transitions of few
instances these columns have few different rows, and the first layer splits:
W x = W_varied x_varied + W_fixed x_fixed, the latter once per instance; so does its gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from lagco.arrays import Array

#: columns in a row that are worth a product of their own
_RUN = 64
#: share of the products that splitting has to save
_SHARE = 0.25


class Runs(NamedTuple):
    """Columns next to each other, where they are among all and where among those chosen."""

    among_all: tuple[slice, ...]
    chosen: tuple[slice, ...]

    @classmethod
    def of(cls, begins: Array, ends: Array) -> Runs:
        """Runs of columns from `begins` to `ends`."""
        widths = ends - begins
        at = np.cumsum(widths) - widths
        return cls(
            tuple([slice(b, e) for b, e in zip(begins.tolist(), ends.tolist(), strict=True)]),
            tuple([slice(a, a + w) for a, w in zip(at.tolist(), widths.tolist(), strict=True)]),
        )

    def take(self, array: Array) -> Array:
        """These columns of an array (k, w)."""
        return np.concatenate([array[:, columns] for columns in self.among_all], axis=1)


class SplitInputs(NamedTuple):
    """A batch of observations.

    Attributes:
        observations: that they were chosen from.
        varied: columns that vary within episodes: (B, ·).
        fixed: different rows of the others: (G, ·).
        group: which of these rows each has: (B,).
    """

    observations: SplitObservations
    varied: Tensor
    fixed: Tensor
    group: Tensor


class SplitObservations:
    """Observations of a rollout, the columns that vary apart from those that do not.

    Args:
        observations: (T, w)
        varied: columns that vary.
        fixed: the others.
        rows: different rows of the others: (G, ·).
        group: which of these each observation has: (T,).
        device: to compute on.
    """

    def __init__(
        self, observations: Array, varied: Runs, fixed: Runs, rows: Array, group: Array, device: Any
    ) -> None:
        self.varied_runs, self.fixed_runs = varied, fixed
        self._varied = torch.from_numpy(varied.take(observations)).to(device)
        self._fixed = torch.from_numpy(rows).to(device)
        self._group = group
        self._device = device

    def select(self, chosen: Array) -> SplitInputs:
        """The observations of these numbers."""
        rows, group = np.unique(self._group[chosen], return_inverse=True)
        numbers, places, owners = (
            torch.from_numpy(array).to(self._device) for array in (chosen, rows, group)
        )
        varied, fixed = (
            array.index_select(0, at)
            for array, at in ((self._varied, numbers), (self._fixed, places))
        )
        return SplitInputs(self, varied, fixed, owners)


def split_observations(
    observations: Array, starts: Array, batch: int, device: Any = "cpu"
) -> SplitObservations | None:
    """Find the columns that stay the same within episodes; None where splitting saves too little.

    Args:
        observations: of a rollout (steps, N, w).
        starts: whether an episode began at that step: (steps, N).
        batch: transitions that are passed together.
        device: to compute on.
    """
    width = observations.shape[-1]
    varies = np.zeros(width, dtype=bool)
    for before, now, began in zip(observations, observations[1:], starts[1:], strict=False):
        goes_on = began == 0
        varies |= (before != now)[goes_on].any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[True], varies, [True]])))
    begins, ends = edges[::2], edges[1::2]
    long = ends - begins >= _RUN
    begins, ends = begins[long], ends[long]
    if (ends - begins).sum() < _SHARE * width:
        return None
    fixed = Runs.of(begins, ends)
    varied = Runs.of(*_between(begins, ends, width))
    rows, group = _groups(observations, starts, fixed)
    different = len(rows) * (1.0 - (1.0 - 1.0 / len(rows)) ** batch)  # expected in a batch
    if (ends - begins).sum() * (1.0 - different / batch) < _SHARE * width:
        return None
    flat = observations.reshape(-1, width)
    return SplitObservations(flat, varied, fixed, rows, group, device)


def _between(begins: Array, ends: Array, width: int) -> tuple[Array, Array]:
    """Runs of the columns that are in no other."""
    first, last = np.concatenate([[0], ends]), np.concatenate([begins, [width]])
    filled = last > first
    return first[filled], last[filled]


def _groups(observations: Array, starts: Array, fixed: Runs) -> tuple[Array, Array]:
    """Different rows of fixed columns (G, ·), and the number of each observation's: (steps N,)."""
    steps, envs = starts.shape
    numbers: dict[bytes, int] = {}
    rows: list[Array] = []
    group = np.empty((steps, envs), dtype=np.int64)
    for env in range(envs):
        for step in range(steps):
            if step and not starts[step, env]:
                group[step, env] = group[step - 1, env]
                continue
            row = fixed.take(observations[step, env][None])
            number = numbers.setdefault(row.tobytes(), len(rows))
            if number == len(rows):
                rows.append(row)
            group[step, env] = number
    return np.concatenate(rows), group.reshape(-1)


class SplitLayer:
    """A linear layer that also takes split inputs; gradients are written to the same places.

    Args:
        layer: of a :class:`~lagco.agents.joint_network.JointNetwork`.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self.weight, self.transposed, self.bias = layer.weight, layer.transposed, layer.bias
        self.weight_gradient, self.bias_gradient = layer.weight_gradient, layer.bias_gradient

    def forward(self, inputs: Tensor | SplitInputs) -> Tensor:
        """Outputs (B, ·)."""
        if not isinstance(inputs, SplitInputs):
            passed: Tensor = self._layer.forward(inputs)
            return passed
        source = inputs.observations
        fixed = self.bias.expand(len(inputs.fixed), -1).contiguous()
        self._add(fixed, inputs.fixed, source.fixed_runs)
        found = fixed.index_select(0, inputs.group)
        self._add(found, inputs.varied, source.varied_runs)
        return found

    def _add(self, found: Tensor, inputs: Tensor, runs: Runs) -> None:
        for among_all, chosen in zip(*runs, strict=True):
            found.addmm_(inputs[:, chosen], self.transposed[among_all])

    def backward(self, gradient: Tensor, inputs: Tensor | SplitInputs) -> None:
        """Write the gradients of weight and bias."""
        if not isinstance(inputs, SplitInputs):
            self._layer.backward(gradient, inputs)
            return
        source = inputs.observations
        summed = gradient.new_zeros(len(inputs.fixed), gradient.shape[1])
        summed.index_add_(0, inputs.group, gradient)
        for change, entered, runs in (
            (summed, inputs.fixed, source.fixed_runs),
            (gradient, inputs.varied, source.varied_runs),
        ):
            for among_all, chosen in zip(*runs, strict=True):
                into = self.weight_gradient[:, among_all]
                _write_product(change.t(), entered[:, chosen], into)
        torch.sum(gradient, 0, out=self.bias_gradient)


def _write_product(left: Tensor, right: Tensor, out: Tensor) -> None:
    """Write left @ right; where few rows make a wide product, numpy is twice as fast as torch."""
    if out.device.type == "cpu":
        np.matmul(left.numpy(), right.numpy(), out=out.numpy())
    else:
        torch.mm(left, right, out=out)
