"""Columns that belong to an instance, and Adam's steps over their weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lagco.agents.constant_columns import AdamStep, ConstantColumns, ConstantWeights


def observed(rng):
    """12 states of 3 instances: two columns of the instance, one of the state, one of padding."""
    groups = np.repeat([7, 2, 5], 4)
    columns = [groups, rng.normal(size=12), np.zeros(12), np.where(groups == 2, 1.5, 0.0)]
    return np.stack(columns, axis=1).astype(np.float32), groups


def test_columns_are_told_apart_by_what_they_do(rng):
    observations, groups = observed(rng)
    found = ConstantColumns(observations, groups, most=3)
    assert found.constant.tolist() == [0, 3] and found.varying.tolist() == [1]
    assert found.idle.tolist() == [2]
    assert np.array_equal(found.of_groups[found.group], observations[:, [0, 3]])
    assert np.array_equal(found.of_rows, observations[:, [1]])


def test_all_used_columns_vary_where_there_are_too_many_groups(rng):
    observations, groups = observed(rng)
    found = ConstantColumns(observations, groups, most=2)
    assert not len(found.constant) and sorted(found.varying) == [0, 1, 3]
    assert found.idle.tolist() == [2] and not found.group.any()


@pytest.mark.parametrize(("groups", "columns"), [(3, 40), (5, 16), (1, 7), (2, 0)])
def test_steps_are_those_of_adam(rng, groups, columns):
    of_groups = rng.normal(size=(groups, columns)).astype(np.float32)
    of_groups[0, columns // 3 :] = 0.0  # a smaller instance
    weight = rng.normal(size=(8, columns)).astype(np.float32)
    bias = rng.normal(size=8).astype(np.float32)
    twin = torch.nn.Parameter(torch.from_numpy(weight.copy()))
    adam = torch.optim.Adam([twin], 1e-2, eps=1e-7, weight_decay=1e-3)
    constant = ConstantWeights(of_groups, weight, np.zeros_like(weight), np.zeros_like(weight))
    constant.pass_on(bias)
    for step in range(1, 4):
        expected = bias + of_groups @ twin.detach().numpy().T
        np.testing.assert_allclose(constant.sums, expected, rtol=1e-5, atol=1e-5)
        changes = rng.normal(size=(groups, 8)).astype(np.float32)
        twin.grad = torch.from_numpy(changes.T @ of_groups)
        np.testing.assert_allclose(constant.gradient(changes), twin.grad, rtol=1e-5, atol=1e-5)
        norm = float(twin.grad.norm()) ** 2
        assert constant.squared_norm(changes) == pytest.approx(norm, rel=1e-4, abs=1e-6)
        adam.step()
        constant.descend(changes, bias, AdamStep.of(adam.param_groups[0], step))
    np.testing.assert_allclose(constant.arrays()[0], twin.detach(), rtol=1e-5, atol=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
