"""The outputs of a network that are asked for, row by row.

Few of them are products of their own; where most are asked for, all are passed together and these
are picked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.heads import MASKED, Listed
from lagco.arrays import Array


def picked(outputs: Array, listed: Listed) -> Array:
    """Those of all outputs (B, d) that are listed: (B, M)."""
    found = np.empty((len(outputs), listed.most), np.float32)
    _pick_listed(outputs, *listed[:3], found)
    return found


def spread(gradient: Array, outputs: int, listed: Listed) -> Array:
    """The gradient of all outputs (B, d) for that of those listed (B, M)."""
    found = np.zeros((len(gradient), outputs), np.float32)
    _spread_listed(gradient, *listed[:3], found)
    return found


@njit(cache=True)
def _pick_listed(outputs, numbers, counts, chosen, out):  # type: ignore[no-untyped-def]
    for b in range(out.shape[0]):
        row, listed, count, into = outputs[b], numbers[chosen[b]], counts[chosen[b]], out[b]
        for j in range(count):
            into[j] = row[listed[j]]
        into[count:] = MASKED


@njit(cache=True)
def _spread_listed(gradient, numbers, counts, chosen, out):  # type: ignore[no-untyped-def]
    for b in range(out.shape[0]):
        row, listed, into = gradient[b], numbers[chosen[b]], out[b]
        for j in range(counts[chosen[b]]):
            into[listed[j]] = row[j]


@njit(cache=True, fastmath={"contract", "reassoc"})
def pass_listed(x, weight, bias, numbers, counts, chosen, out):  # type: ignore[no-untyped-def]
    """Listed outputs (B, M) of a linear layer, weight (d, in), for inputs (B, in)."""
    for b in range(x.shape[0]):
        listed, count, inputs, into = numbers[chosen[b]], counts[chosen[b]], x[b], out[b]
        for j in range(count):
            row = weight[listed[j]]
            total = bias[listed[j]]
            for i in range(row.shape[0]):
                total += row[i] * inputs[i]
            into[j] = total
        into[count:] = MASKED


@njit(cache=True, fastmath={"contract"})
def differentiate_listed(  # type: ignore[no-untyped-def]
    gradient, numbers, counts, chosen, x, weight, slope, weight_gradient, bias_gradient, out
):
    """Gradients for that of listed outputs (B, M).

    Args:
        x: what entered the layer (B, in), activated by a leaky ReLU of that slope.
        weight: (d, in); its gradient and that of the bias (d,) are written.
        out: written: gradient of what was activated (B, in).
    """
    weight_gradient[:] = 0.0
    bias_gradient[:] = 0.0
    for b in range(x.shape[0]):
        listed, inputs, into = numbers[chosen[b]], x[b], out[b]
        into[:] = 0.0
        for j in range(counts[chosen[b]]):
            a, change = listed[j], gradient[b, j]
            row, target = weight[a], weight_gradient[a]
            bias_gradient[a] += change
            for i in range(row.shape[0]):
                into[i] += change * row[i]
                target[i] += change * inputs[i]
        for i in range(into.shape[0]):
            into[i] = into[i] if inputs[i] > 0.0 else into[i] * slope
