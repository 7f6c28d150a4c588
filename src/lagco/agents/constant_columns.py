"""Observations of a rollout whose columns are mostly those of an instance.

Of a padded observation most columns are padding, or say what an instance is like: they do not
change while it is solved. The first layer's sums over these are found once per instance instead of
once per transition, and so are the gradients of its weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.embedding.row_sums import add_products

#: rows by which columns are ordered, about so many
_SAMPLE = 40
#: columns that :func:`descend_constant` updates together; their weights stay in the cache
BLOCK = 16


class AdamStep(NamedTuple):
    """Settings of one step of Adam.

    Attributes:
        rate: learning rate over the first bias correction.
        first: what is left of the means after a step.
        second: what is left of the squares.
        decay: weight decay.
        eps: added to the root of the squares.
        root: 1 over the root of the second bias correction.
    """

    rate: np.float32
    first: np.float32
    second: np.float32
    decay: np.float32
    eps: np.float32
    root: np.float32

    @classmethod
    def of(cls, settings: Mapping[str, Any], step: float) -> AdamStep:
        """Step number `step`, from 1 on, by the settings of a group of torch's Adam."""
        first, second = settings["betas"]
        rate, root = settings["lr"] / (1.0 - first**step), 1.0 / math.sqrt(1.0 - second**step)
        numbers = rate, first, second, settings["weight_decay"], settings["eps"], root
        return cls(*(np.float32(number) for number in numbers))


class ConstantColumns:
    """Observations, apart by what their columns do.

    Args:
        observations: (T, w)
        groups: (T,) numbers; rows of a group have most columns in common.
        most: with more groups than this, columns are not looked for: there are none.

    Attributes:
        group: (T,) of each row, counted from 0.
        constant: columns that are the same within a group, and not 0 everywhere.
        varying: columns that are not; those that are 0 in the same rows are neighbours.
        idle: columns that are 0 everywhere.
        of_groups: the constant columns (G, constant).
        of_rows: the varying columns (T, varying).
    """

    def __init__(self, observations: Array, groups: Array, most: int) -> None:
        _, first, self.group = np.unique(groups, return_index=True, return_inverse=True)
        if len(first) > most:
            first, self.group = first[:1], np.zeros(len(groups), np.int64)
            same = np.zeros(observations.shape[1], bool)
            used = observations.any(axis=0)
        else:
            same = np.ones(observations.shape[1], bool)
            _compare(observations, first, self.group, same)
            used = observations[first].any(axis=0) | ~same
        self.constant, varying = np.flatnonzero(same & used), np.flatnonzero(~same & used)
        sample = observations[:: -(-len(observations) // _SAMPLE), varying]
        self.varying = varying[np.lexsort(sample != 0)]
        self.idle = np.flatnonzero(~used)
        self.of_groups = np.ascontiguousarray(observations[np.ix_(first, self.constant)])
        self.of_rows = observations.take(self.varying, axis=1)


@njit(cache=True)
def _compare(rows, first, group, same):  # type: ignore[no-untyped-def]
    """Note the columns in which a row differs from the first one of its group."""
    for t in range(rows.shape[0]):
        row, other = rows[t], rows[first[group[t]]]
        for c in range(same.shape[0]):
            same[c] &= row[c] == other[c]


class ConstantWeights:
    """The first layer's weights of constant columns during an update, and Adam's state of them.

    Columns are taken in an order in which those that are 0 in the same groups follow each other:
    these groups are left out of a block's sums.

    Args:
        of_groups: see :class:`ConstantColumns`.
        weight: (h, constant)
        mean: Adam's, and `square`, like the weight.

    Attributes:
        sums: of each group's constant columns, and the bias: (G, h).
    """

    def __init__(self, of_groups: Array, weight: Array, mean: Array, square: Array) -> None:
        groups, columns = of_groups.shape
        self._order = np.lexsort(of_groups != 0)
        self._count = -(-columns // BLOCK)
        blocks = self._blocked(of_groups)
        used = blocks.any(axis=1)
        #: groups of each block, those that count first, and how many these are
        self._members = np.argsort(~used, axis=1, kind="stable")
        self._counts = np.count_nonzero(used, axis=1)
        self._turned = np.take_along_axis(blocks, self._members[:, None], axis=2)
        self._rows = np.ascontiguousarray(blocks.swapaxes(1, 2))
        self._inner = of_groups @ of_groups.T
        self._arrays = [self._blocked(array) for array in (weight, mean, square)]
        self.sums = np.zeros((groups, len(weight)), np.float32)

    def _blocked(self, array: Array) -> Array:
        """(h, constant) as (blocks, BLOCK, h)."""
        found = np.zeros((self._count * BLOCK, len(array)), np.float32)
        found[: len(self._order)] = array.T[self._order]
        return found.reshape(self._count, BLOCK, len(array))

    def arrays(self) -> list[Array]:
        """Weight, mean and square as they are now: (h, constant) each."""
        return [self._plain(array) for array in self._arrays]

    def _plain(self, blocked: Array) -> Array:
        """The inverse of :meth:`_blocked`."""
        found = np.empty((len(self._order), blocked.shape[2]), np.float32)
        found[self._order] = blocked.reshape(-1, blocked.shape[2])[: len(self._order)]
        return found.T

    def squared_norm(self, changes: Array) -> float:
        """That of the gradient, for that of the sums (G, h)."""
        return float(np.vdot(changes @ changes.T, self._inner))

    def gradient(self, changes: Array) -> Array:
        """Gradient (h, constant) for that of the sums (G, h)."""
        return self._plain(self._rows.swapaxes(1, 2) @ changes)

    def pass_on(self, bias: Array) -> None:
        """Bring :attr:`sums` up to date: bias and constant columns of each group."""
        pass_constant(self._arrays[0], self._rows, bias, self.sums)

    def descend(self, changes: Array, bias: Array, adam: AdamStep) -> None:
        """A step of Adam for the gradient of the sums, and the sums thereafter."""
        weight, mean, square = self._arrays
        descend_constant(
            weight, mean, square, self._turned, self._rows, self._members, self._counts, changes,
            bias, adam.rate, adam.first, adam.second, adam.decay, adam.eps, adam.root, self.sums,
        )  # fmt: skip


@njit(cache=True)
def pass_constant(weights, rows, bias, out):  # type: ignore[no-untyped-def]
    """out (G, h) = bias + rows · weights, in blocks (b, G, c) and (b, c, h)."""
    numbers = np.arange(out.shape[0])
    out[:] = bias
    for b in range(weights.shape[0]):
        table = weights[b].reshape(1, weights.shape[1], weights.shape[2])
        add_products(out, numbers, out.shape[0], rows[b], rows.shape[2], table, 0)


@njit(cache=True, fastmath={"contract"}, error_model="numpy")
def adam_step(weight, mean, square, gradient, rate, first, second, decay, eps, root):  # type: ignore[no-untyped-def]
    """A step of Adam over arrays (n,); `root` is 1 over that of the second bias correction."""
    one = np.float32(1.0)
    for i in range(weight.shape[0]):
        g = gradient[i] + decay * weight[i]
        m = first * mean[i] + (one - first) * g
        v = second * square[i] + (one - second) * g * g
        mean[i], square[i] = m, v
        weight[i] -= rate * m / (np.sqrt(v) * root + eps)


@njit(cache=True)
def descend_constant(  # type: ignore[no-untyped-def]
    weights, means, squares, turned, rows, members, counts, changes, bias, rate, first, second,
    decay, eps, root, out,
):  # fmt: skip
    """One step of Adam, block by block: gradient, weights, and their sums with the new weights.

    Args:
        weights: (b, c, h), and the means and squares of their gradients.
        turned: what they are multiplied with: (b, c, G), groups in the order of `members`.
        rows: the same as (b, G, c), groups in their own order.
        members: groups of each block (b, G), of which the first `counts` (b,) are not 0.
        changes: gradient of the sums (G, h).
        bias: of the sums (h,).
        out: written: the sums (G, h).
    """
    blocks, size, width = weights.shape
    groups = out.shape[0]
    numbers = np.arange(size)
    gradient = np.empty((size, width), np.float32)
    factors = np.empty((1, groups, width), np.float32)
    out[:] = bias
    for b in range(blocks):
        some = members[b, : counts[b]]
        if b == 0 or counts[b] != counts[b - 1] or (some != members[b - 1, : counts[b]]).any():
            for k in range(counts[b]):
                factors[0, k] = changes[some[k]]
        gradient[:] = 0.0
        add_products(gradient, numbers, size, turned[b], counts[b], factors, 0)
        adam_step(
            weights[b].reshape(size * width), means[b].reshape(size * width),
            squares[b].reshape(size * width), gradient.reshape(size * width),
            rate, first, second, decay, eps, root,
        )  # fmt: skip
        table = weights[b].reshape(1, size, width)
        add_products(out, some, counts[b], rows[b], size, table, 0)
