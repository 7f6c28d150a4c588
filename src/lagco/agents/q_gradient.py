"""Loss of a Q network of two hidden layers and its gradients, in one compiled call.

Batches of 32 rows take torch longer to reach its kernels than they take there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.agents.compiled_network import transpose
from lagco.embedding.row_sums import add_products


@njit(cache=True)
def differentiate_values(inputs, targets, slope, layers, gradients):  # type: ignore[no-untyped-def]
    """The mean smooth L1 loss of values against targets.

    Args:
        inputs: (B, i)
        targets: (B,)
        slope: of LeakyReLU.
        layers: weights and bias of each of three: (h, i), (h,), (g, h), (g,), (1, g), (1,).
        gradients: written: those of these six arrays.
    """
    first, entry, second, bias, last, base = layers
    rows = inputs.shape[0]
    hidden = _multiplied(inputs, first, entry)
    _activate(hidden, slope)
    above = _multiplied(hidden, second, bias)
    _activate(above, slope)
    values = _multiplied(above, last, base)
    loss = np.float32(0)
    change = np.empty((rows, 1), np.float32)
    for b in range(rows):
        error = values[b, 0] - targets[b]
        size = abs(error)
        loss += error * error / 2 if size < 1 else size - np.float32(0.5)
        change[b, 0] = min(max(error, np.float32(-1)), np.float32(1)) / rows
    _weight_gradients(change, above, gradients[4], gradients[5])
    change = _through(change, last, above, slope)
    _weight_gradients(change, hidden, gradients[2], gradients[3])
    change = _through(change, second, hidden, slope)
    _weight_gradients(change, inputs, gradients[0], gradients[1])
    return loss / rows


@njit(cache=True)
def _multiplied(x, weight, bias):  # type: ignore[no-untyped-def]
    """Outputs (B, o) of a layer with weights (o, i)."""
    outputs, width = weight.shape
    table = np.empty((width, outputs), np.float32)
    transpose(weight, table)
    out = np.empty((x.shape[0], outputs), np.float32)
    out[:] = bias
    lines = table.reshape(1, width, outputs)
    add_products(out, np.arange(x.shape[0]), x.shape[0], x, width, lines, 0)
    return out


@njit(cache=True)
def _activate(y, slope):  # type: ignore[no-untyped-def]
    values = y.reshape(y.size)
    for i in range(values.shape[0]):
        values[i] = max(values[i], slope * values[i])


@njit(cache=True)
def _weight_gradients(change, x, weights, biases):  # type: ignore[no-untyped-def]
    """Write the gradients of a layer's weights (o, i) and bias (o,), its inputs being `x`."""
    rows, outputs = change.shape
    turned = np.empty((outputs, rows), np.float32)
    transpose(change, turned)
    weights[:] = 0
    lines = x.reshape(1, rows, x.shape[1])
    add_products(weights, np.arange(outputs), outputs, turned, rows, lines, 0)
    biases[:] = 0
    for b in range(rows):
        row = change[b]
        for o in range(outputs):
            biases[o] += row[o]


@njit(cache=True)
def _through(change, weight, activated, slope):  # type: ignore[no-untyped-def]
    """Gradient of what was `activated` to become the input of a layer."""
    rows, outputs = change.shape
    found = np.zeros(activated.shape, np.float32)
    lines = weight.reshape(1, outputs, weight.shape[1])
    add_products(found, np.arange(rows), rows, change, outputs, lines, 0)
    for b in range(rows):
        row, of = found[b], activated[b]
        for j in range(found.shape[1]):
            row[j] = row[j] if of[j] > 0 else slope * row[j]
    return found
