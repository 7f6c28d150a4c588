"""Linear layers over batches of rows, compiled, with the bits of torch's own.

Small batches take torch about as long to reach its kernels as they take there. These functions sum
in the order in which torch does with MKL on AVX2: products in blocks of the summed axis
(:func:`_block_of`), columns in blocks of 16 rows. Elsewhere torch may differ in the last bits, and
so it does for layers of a single output, or fewer than :data:`LEAST` rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.bound_arguments import opened
from lagco.embedding.row_sums import add_products

#: rows of a batch from which on torch sums all batches alike
LEAST = 8
#: terms that MKL sums before it adds them up
_BLOCK = 192
#: rows, and columns, that torch sums together
_ROWS, _COLUMNS = 16, 32
#: no bias
_NONE = np.zeros(0, dtype=np.float32)
#: side of the squares that are transposed at a time
_SQUARE = 16


@njit(cache=True)
def _block_of(terms):  # type: ignore[no-untyped-def]
    """Terms that are summed before they are added up: 192, or half of fewer than 384."""
    return terms // 2 if _BLOCK < terms < 2 * _BLOCK and terms % 2 == 0 else _BLOCK


@njit(cache=True)
def multiply(x, table, bias, out):  # type: ignore[no-untyped-def]
    """bias + x · table: (k, in), (in, width), (width,) or (0,) for none -> (k, width)."""
    number, inputs = x.shape
    width = table.shape[1]
    rows = np.arange(number)
    block = _block_of(inputs)
    into = out
    for start in range(0, inputs, block):
        stop = min(start + block, inputs)
        factors = x if stop - start == inputs else np.ascontiguousarray(x[:, start:stop])
        lines = table[start:stop].reshape(1, stop - start, width)
        if start == block:
            into = np.empty_like(out)
        into[:] = 0.0
        add_products(into, rows, number, factors, stop - start, lines, 0)
        if start == 0 and bias.shape[0]:
            out += bias
        elif start > 0:
            out += into


@njit(cache=True)
def transpose(a, out):  # type: ignore[no-untyped-def]
    """Write `a` (m, n) to `out` (n, m)."""
    m, n = a.shape
    for top in range(0, m, _SQUARE):
        for left in range(0, n, _SQUARE):
            for i in range(top, min(top + _SQUARE, m)):
                for j in range(left, min(left + _SQUARE, n)):
                    out[j, i] = a[i, j]


@njit(cache=True)
def pass_layer(x, weight, bias, out):  # type: ignore[no-untyped-def]
    """Outputs (k, out) of a linear layer, weight (out, in)."""
    table = np.empty((weight.shape[1], weight.shape[0]), np.float32)
    transpose(weight, table)
    multiply(x, table, bias, out)


@njit(cache=True)
def _activate(y, slope):  # type: ignore[no-untyped-def]
    values = y.reshape(y.size)
    for i in range(values.shape[0]):
        values[i] = values[i] if values[i] > 0.0 else values[i] * slope


@njit(cache=True)
def sum_columns(rows, out):  # type: ignore[no-untyped-def]
    """Sums (n,) of the columns of `rows` (k, n); of the last n % 32 every fourth row apart."""
    count, width = rows.shape
    cut = width - width % _COLUMNS
    for apart, low, high in ((1, 0, cut), (4, cut, width)):
        for part in range(apart if high > low else 0):
            total = np.zeros(high - low, np.float32)
            some = np.zeros(high - low, np.float32)
            for taken, b in enumerate(range(part, count, apart), 1):
                row = rows[b, low:high]
                for c in range(high - low):
                    some[c] += row[c]
                if taken % _ROWS == 0:
                    total += some
                    some[:] = 0.0
            total += some
            if part == 0:
                out[low:high] = total
            else:
                out[low:high] += total


@njit(cache=True)
def _weight_gradient(gradient, x, out):  # type: ignore[no-untyped-def]
    turned = np.empty((gradient.shape[1], gradient.shape[0]), np.float32)
    transpose(gradient, turned)
    multiply(turned, x, _NONE, out)


@njit(cache=True)
def _input_gradient(gradient, weight, activated, slope, out):  # type: ignore[no-untyped-def]
    """Gradient of what was `activated` (k, in) to become the input of a layer."""
    multiply(gradient, weight, _NONE, out)
    for b in range(out.shape[0]):
        row, of = out[b], activated[b]
        for c in range(out.shape[1]):
            row[c] = row[c] if of[c] > 0.0 else row[c] * slope


@njit(cache=True)
def pass_chain(arguments, first):  # type: ignore[no-untyped-def]
    """Outputs of linear layers from columns of `first` (k, ·), leaky ReLUs before each.

    Args:
        arguments: bound; the first column, of as many as the first layer has inputs; the slope;
            weights (out, in) and biases (out,) per layer, those of the last one may be missing;
            what enters each layer (k, in), activated, and the outputs, which are written.
        first: float32 (k, ·).
    """
    low, slope, weights, biases, entering = opened(arguments)
    for b in range(first.shape[0]):
        row, into = first[b, low:], entering[0][b]
        for c in range(into.shape[0]):
            into[c] = row[c] if row[c] > 0.0 else row[c] * slope
    for layer in range(len(weights)):
        pass_layer(entering[layer], weights[layer], biases[layer], entering[layer + 1])
        if layer + 2 < len(entering):
            _activate(entering[layer + 1], slope)


@njit(cache=True)
def differentiate_chain(arguments, gradient, first):  # type: ignore[no-untyped-def]
    """Gradients of the layers, and of the columns that they were passed from, for those of outputs.

    A layer of a single output gets no gradients.

    Args:
        arguments: bound; the first column, the slope, weights and what entered each layer as for
            :func:`pass_chain`; gradients of weights and of biases, which are written.
        gradient: of the outputs (k, out).
        first: (k, ·), written.
    """
    low, slope, weights, entering, weight_gradients, bias_gradients = opened(arguments)
    for layer in range(len(weights) - 1, -1, -1):
        entered = entering[layer]
        if gradient.shape[1] > 1:
            _weight_gradient(gradient, entered, weight_gradients[layer])
            sum_columns(gradient, bias_gradients[layer])
        before = np.empty(entered.shape, np.float32)
        _input_gradient(gradient, weights[layer], entered, slope, before)
        gradient = before
    first[:, low : low + gradient.shape[1]] = gradient
