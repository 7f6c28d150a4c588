"""The first layer's weights of columns that vary, during an update.

Things that are discovered, or built, fill a padded observation from one end: columns are 0 in many
rows, and neighbouring ones in the same. A block of columns is multiplied with those rows of a batch
that are not 0 there. Adam's step waits for the next batch, which is passed through each block's new
weights while these are in the cache.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.constant_columns import AdamStep, adam_step
from lagco.arrays import Array
from lagco.embedding.row_sums import add_products

#: columns that are multiplied together
BLOCK = 32
#: a step that changes nothing
_NO_STEP = AdamStep(*np.zeros(6, np.float32))


class VaryingWeights:
    """Weights of varying columns, their gradient, and Adam's state of them.

    Args:
        rows: the varying columns (T, varying).
        weight: (h, varying)
        mean: Adam's, and `square`, like the weight.
    """

    def __init__(self, rows: Array, weight: Array, mean: Array, square: Array) -> None:
        self._rows = rows
        count = -(-rows.shape[1] // BLOCK)
        self._used = np.zeros((count, len(rows)), bool)
        _find_used(rows, self._used)
        given = weight, np.zeros_like(weight), mean, square
        #: weights, gradients, means and squares: (blocks, BLOCK, h)
        self._arrays = tuple([_blocked(array, count) for array in given])
        self._step, self._waits, self._factor = _NO_STEP, False, np.float32(1.0)
        self._batch(0)

    def _batch(self, size: int) -> None:
        """Make room for batches of so many rows."""
        count = len(self._used)
        #: rows of the batch that each block has, how many they are, and their columns
        self._members = np.zeros((count, size), np.int64)
        self._counts = np.zeros(count, np.int64)
        self._taken = np.zeros((count, size, BLOCK), np.float32)

    def forward(self, chosen: Array, out: Array) -> None:
        """Add the products of the chosen rows (B,) to `out` (B, h)."""
        if len(chosen) != self._members.shape[1]:
            self._batch(len(chosen))
        descend_and_pass(  # type: ignore[call-arg]
            *self._arrays, self._waits, self._factor, *self._step, self._rows, self._used, chosen,
            self._members, self._counts, self._taken, out,
        )  # fmt: skip
        self._waits, self._factor = False, np.float32(1.0)

    def backward(self, changes: Array) -> float:
        """Find the gradient for that of the last products (B, h); its squared norm."""
        found: float = find_gradient(
            changes, self._members, self._counts, self._taken, self._arrays[1]
        )
        return found

    def descend(self, factor: float, adam: AdamStep) -> None:
        """Take a step of Adam for the gradient times a factor, with the next pass."""
        self._step, self._waits, self._factor = adam, True, np.float32(factor)

    def arrays(self) -> list[Array]:
        """Weight, gradient, mean and square as they are now: (h, varying) each."""
        factor = self._factor
        none = np.zeros(0, np.int64)
        self.forward(none, np.zeros((0, self._arrays[0].shape[2]), np.float32))
        found = [a.reshape(-1, a.shape[2])[: self._rows.shape[1]].T for a in self._arrays]
        found[1] = factor * found[1]
        return found


def _blocked(array: Array, count: int) -> Array:
    """(h, varying) as (count, BLOCK, h)."""
    found = np.zeros((count * BLOCK, len(array)), np.float32)
    found[: array.shape[1]] = array.T
    return found.reshape(count, BLOCK, len(array))


@njit(cache=True)
def _find_used(rows, used):  # type: ignore[no-untyped-def]
    """Note the blocks (b, T) of each row (T, varying) that are not 0."""
    for t in range(rows.shape[0]):
        for b in range(used.shape[0]):
            for c in range(b * BLOCK, min((b + 1) * BLOCK, rows.shape[1])):
                used[b, t] |= rows[t, c] != 0.0


@njit(cache=True)
def descend_and_pass(  # type: ignore[no-untyped-def]
    weights, gradients, means, squares, step, factor, rate, first, second, decay, eps, root, rows,
    used, chosen, members, counts, taken, out,
):  # fmt: skip
    """Adam, where there is a `step` to take, and products with the new weights, block by block.

    Args:
        weights: (b, c, h), like gradients, means and squares.
        rows: all rows (T, ·).
        used: whether a row is not 0 in a block (b, T).
        chosen: rows that are passed (B,).
        members, counts, taken: written, see :class:`VaryingWeights`.
        out: (B, h), added to.
    """
    blocks, size, width = weights.shape
    scaled = np.empty(size * width, np.float32)
    for b in range(blocks):
        if step:
            gradient = gradients[b].reshape(size * width)
            for i in range(size * width):
                scaled[i] = factor * gradient[i]
            adam_step(
                weights[b].reshape(size * width), means[b].reshape(size * width),
                squares[b].reshape(size * width), scaled, rate, first, second, decay, eps, root,
            )  # fmt: skip
        low = b * size
        high = min(low + size, rows.shape[1])
        count = 0
        for k in range(chosen.shape[0]):
            if used[b, chosen[k]]:
                members[b, count] = k
                count += 1
                row, into = rows[chosen[k], low:high], taken[b, k]
                for c in range(high - low):
                    into[c] = row[c]
        counts[b] = count
        table = weights[b].reshape(1, size, width)
        add_products(out, members[b], count, taken[b], size, table, 0)


@njit(cache=True)
def find_gradient(changes, members, counts, taken, gradients):  # type: ignore[no-untyped-def]
    """Write the gradients (b, c, h) for changes (B, h) of the products; their squared norm."""
    blocks, size, width = gradients.shape
    batch = changes.shape[0]
    numbers = np.arange(size)
    factors = np.empty((1, batch, width), np.float32)
    turned = np.empty((size, batch), np.float32)
    total = 0.0
    for b in range(blocks):
        count, some = counts[b], members[b, : counts[b]]
        if b == 0 or count != counts[b - 1] or (some != members[b - 1, :count]).any():
            for k in range(count):
                factors[0, k] = changes[some[k]]
        for k in range(count):
            for c in range(size):
                turned[c, k] = taken[b, some[k], c]
        gradient = gradients[b]
        gradient[:] = 0.0
        add_products(gradient, numbers, size, turned, count, factors, 0)
        total += _squared_norm(gradient.reshape(size * width))
    return total


@njit(cache=True, fastmath={"contract", "reassoc"})
def _squared_norm(values):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for i in range(values.shape[0]):
        total += values[i] * values[i]
    return total
