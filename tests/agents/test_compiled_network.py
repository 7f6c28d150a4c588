"""Compiled linear layers against torch's."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numba import types

from lagco.agents.compiled_network import differentiate_chain, multiply, pass_chain, sum_columns
from lagco.agents.network import SLOPE, Perceptron
from lagco.bound_arguments import bind


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("terms", [1, 64, 192, 193, 366, 386, 630])
def test_products_are_summed_over_all_blocks(rng, terms):
    x, table, bias = floats(rng, 9, terms), floats(rng, terms, 37), floats(rng, 37)
    found = np.full((9, 37), np.nan, np.float32)
    multiply(x, table, bias, found)
    exact = x.astype(float) @ table + bias
    np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 1), (64, 22), (64, 64), (67, 119), (256, 65)])
def test_columns_are_summed(rng, shape):
    rows = floats(rng, *shape)
    found = np.full(shape[1], np.nan, np.float32)
    sum_columns(rows, found)
    np.testing.assert_allclose(found, rows.sum(axis=0, dtype=float), atol=1e-4)


def test_passes_and_gradients_of_a_chain_equal_those_of_autograd(rng):
    first = torch.from_numpy(floats(rng, 10, 20)).requires_grad_()
    layers = [torch.nn.Linear(12, 9), torch.nn.Linear(9, 5)]
    passed = first[:, 3:15]
    for layer in layers:
        passed = layer(torch.nn.functional.leaky_relu(passed))
    gradient = floats(rng, 10, 5)
    passed.backward(torch.from_numpy(gradient))
    weights = tuple(layer.weight.detach().numpy() for layer in layers)
    biases = tuple(layer.bias.detach().numpy() for layer in layers)
    entering = tuple(np.empty((10, width), np.float32) for width in (12, 9, 5))
    batch = types.Array(types.float32, 2, "C")
    bind(pass_chain, (3, SLOPE, weights, biases, entering), batch)(first.detach().numpy())
    np.testing.assert_allclose(entering[-1], passed.detach().numpy(), atol=1e-5)
    found = [tuple(np.empty_like(a) for a in arrays) for arrays in (weights, biases)]
    changes = np.zeros((10, 20), np.float32)
    bound = 3, SLOPE, weights, entering, *found
    bind(differentiate_chain, bound, batch, batch)(gradient, changes)
    np.testing.assert_allclose(changes, first.grad.numpy(), atol=1e-5)
    for layer, weight, bias in zip(layers, *found, strict=True):
        np.testing.assert_allclose(weight, layer.weight.grad.numpy(), atol=1e-5)
        np.testing.assert_allclose(bias, layer.bias.grad.numpy(), atol=1e-5)


@pytest.mark.parametrize("activation", ["leaky_relu", "relu", "tanh", "elu"])
def test_few_rows_pass_as_one_by_one(rng, activation):
    layers = [(floats(rng, 7, 400), floats(rng, 7)), (floats(rng, 3, 7), floats(rng, 3))]
    network = Perceptron(layers, activation)
    inputs = 0.1 * floats(rng, 6, 400)
    one_by_one = np.stack([network(row) for row in inputs])
    np.testing.assert_allclose(network.of_few(inputs), one_by_one, atol=1e-4)
