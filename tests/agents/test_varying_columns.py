"""Columns that vary within an instance, and Adam's steps over their weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lagco.agents.constant_columns import AdamStep
from lagco.agents.varying_columns import BLOCK, VaryingWeights


@pytest.mark.parametrize("columns", [0, 7, BLOCK, 2 * BLOCK + 5])
def test_steps_are_those_of_adam(columns):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, columns)).astype(np.float32)
    rows[np.arange(20)[:, None] * columns < 15 * np.arange(columns)] = 0.0  # filled by and by
    weight = rng.normal(size=(8, columns)).astype(np.float32)
    twin = torch.nn.Parameter(torch.from_numpy(weight.copy()))
    adam = torch.optim.Adam([twin], 1e-2, eps=1e-7, weight_decay=1e-3)
    varying = VaryingWeights(rows, weight, np.zeros_like(weight), np.zeros_like(weight))
    for step, batch in enumerate((9, 9, 4), 1):
        chosen = rng.permutation(20)[:batch]
        out = np.ones((batch, 8), np.float32)
        varying.forward(chosen, out)
        expected = 1.0 + rows[chosen] @ twin.detach().numpy().T
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
        changes = rng.normal(size=(batch, 8)).astype(np.float32)
        gradient = changes.T @ rows[chosen]
        norm = float(np.square(gradient).sum())
        assert varying.backward(changes) == pytest.approx(norm, rel=1e-4, abs=1e-6)
        twin.grad = torch.from_numpy(0.5 * gradient)
        adam.step()
        varying.descend(0.5, AdamStep.of(adam.param_groups[0], step))
    found = varying.arrays()
    np.testing.assert_allclose(found[0], twin.detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[1], twin.grad, rtol=1e-5, atol=1e-5)
