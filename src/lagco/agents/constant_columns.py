"""Observations of a rollout whose columns are mostly those of an instance.

Of a padded observation most columns are padding, or say what an instance is like: they do not
change while it is solved. The first layer's sums over these are found once per instance instead of
once per transition, and so are the gradients of its weights.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.embedding.row_sums import add_products

#: columns that :func:`descend_constant` updates together; their weights stay in the cache
BLOCK = 16


class ConstantColumns:
    """Observations, apart by what their columns do.

    Args:
        observations: (T, w)
        groups: (T,) numbers; rows of a group have most columns in common.
        most: with more groups than this, columns are not looked for: there are none.

    Attributes:
        group: (T,) of each row, counted from 0.
        constant: columns that are the same within a group, and not 0 everywhere.
        varying: columns that are not.
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
        self.constant, self.varying = np.flatnonzero(same & used), np.flatnonzero(~same & used)
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

    Args:
        of_groups: see :class:`ConstantColumns`.
        weight: (h, constant)
        mean: Adam's, and `square`, like the weight.
    """

    def __init__(self, of_groups: Array, weight: Array, mean: Array, square: Array) -> None:
        groups, columns = of_groups.shape
        self._columns = columns
        blocks = -(-columns // BLOCK)
        room = np.zeros((groups, blocks * BLOCK), np.float32)
        room[:, :columns] = of_groups
        #: (blocks, groups, BLOCK), and turned (blocks, BLOCK, groups)
        self._rows = np.ascontiguousarray(room.reshape(groups, blocks, BLOCK).swapaxes(0, 1))
        self._turned = np.ascontiguousarray(self._rows.swapaxes(1, 2))
        self._inner = of_groups @ of_groups.T
        self._arrays = [self._blocked(array) for array in (weight, mean, square)]
        self.sums = np.zeros((groups, len(weight)), np.float32)

    def _blocked(self, array: Array) -> Array:
        """(h, constant) as (blocks, BLOCK, h)."""
        blocks = len(self._turned)
        found = np.zeros((blocks * BLOCK, len(array)), np.float32)
        found[: self._columns] = array.T
        return found.reshape(blocks, BLOCK, len(array))

    def arrays(self) -> list[Array]:
        """Weight, mean and square as they are now: (h, constant) each."""
        return [array.reshape(-1, array.shape[2])[: self._columns].T for array in self._arrays]

    def squared_norm(self, changes: Array) -> float:
        """That of the gradient, for that of the sums (G, h)."""
        return float(np.vdot(changes @ changes.T, self._inner))

    def gradient(self, changes: Array) -> Array:
        """Gradient (h, constant) for that of the sums (G, h)."""
        found = np.einsum("gh,bgc->hbc", changes, self._rows).reshape(changes.shape[1], -1)
        return found[:, : self._columns]

    def pass_on(self, bias: Array) -> None:
        """Bring :attr:`sums` up to date: bias and constant columns of each group."""
        pass_constant(self._arrays[0], self._rows, bias, self.sums)

    def descend(self, changes: Array, bias: Array, adam: tuple[np.float32, ...]) -> None:
        """A step of Adam for the gradient of the sums, and the sums thereafter."""
        descend_constant(*self._arrays, self._turned, self._rows, changes, bias, *adam, self.sums)


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
    weights, means, squares, turned, rows, changes, bias, rate, first, second, decay, eps, root, out
):
    """One step of Adam, block by block: gradient, weights, and their sums with the new weights.

    Args:
        weights: (b, c, h), and the means and squares of their gradients.
        turned: what they are multiplied with: (b, c, G).
        rows: the same as (b, G, c).
        changes: gradient of the sums (G, h).
        bias: of the sums (h,).
        out: written: the sums (G, h).
    """
    blocks, size, width = weights.shape
    groups = out.shape[0]
    numbers = np.arange(max(groups, size))
    gradient = np.empty((size, width), np.float32)
    factors = changes.reshape(1, groups, width)
    out[:] = bias
    for b in range(blocks):
        gradient[:] = 0.0
        add_products(gradient, numbers, size, turned[b], groups, factors, 0)
        adam_step(
            weights[b].reshape(size * width), means[b].reshape(size * width),
            squares[b].reshape(size * width), gradient.reshape(size * width),
            rate, first, second, decay, eps, root,
        )  # fmt: skip
        add_products(out, numbers, groups, rows[b], size, weights[b].reshape(1, size, width), 0)
