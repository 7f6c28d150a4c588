"""Small networks at inference."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from lagco.agents.inference.perceptron import perceptron
from lagco.agents.learning.networks import layer_arrays


@pytest.mark.parametrize("activation", [nn.LeakyReLU, nn.ReLU, nn.Tanh, nn.ELU])
@pytest.mark.parametrize("widths", [(7, 5), (30, 128, 64, 9), (129, 66, 3)])
def test_one_input_and_many_give_what_torch_gives(widths, activation):
    torch.manual_seed(0)
    modules = []
    for before, after in pairwise(widths):
        modules += [nn.Linear(before, after), activation()]
    network = nn.Sequential(*modules[:-1])
    compiled = perceptron(layer_arrays("policy", network), "policy")
    inputs = np.random.default_rng(1).normal(size=(6, widths[0])).astype(np.float32)
    with torch.no_grad():
        wanted = network(torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(compiled(inputs), wanted, atol=1e-5)
    kept = inputs.copy()
    for row, value in zip(inputs, wanted, strict=True):
        np.testing.assert_allclose(compiled(row), value, atol=1e-5)
    np.testing.assert_array_equal(inputs, kept)
    assert compiled.inputs == widths[0]
