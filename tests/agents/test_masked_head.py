"""Valid actions that are listed, and the outputs of a network that are asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lagco.agents.heads import MASKED, Listed
from lagco.agents.listed_outputs import differentiate_listed, pass_listed, picked, spread
from lagco.agents.masked_head import MaskedHead


def test_valid_actions_are_drawn_and_listed():
    rng = np.random.default_rng(0)
    masks = [rng.random((3, 10)) < share for share in (0.2, 0.9)]
    masks[0][0] = False
    asked = iter(masks)
    head = MaskedHead(lambda: next(asked))
    head.begin(2, 3)
    for step in range(2):
        torch.manual_seed(step)
        actions, _ = head.draw(rng.normal(size=(3, 10)).astype(np.float32), step)
        valid = masks[step] | ~masks[step].any(axis=1, keepdims=True)
        assert valid[np.arange(3), actions].all()
        listed = head.listed(np.arange(3 * step, 3 * step + 3))
        for row, mask in zip(listed.chosen, valid, strict=True):
            assert np.array_equal(listed.numbers[row, : listed.counts[row]], np.flatnonzero(mask))


@pytest.mark.parametrize("slope", [1.0, 0.01])
def test_listed_outputs_are_those_of_the_layer(slope):
    rng = np.random.default_rng(1)
    x, weight, bias = (rng.normal(size=s).astype(np.float32) for s in ((3, 8), (6, 8), (6,)))
    numbers = np.array([[5, 0, 0], [1, 2, 4], [3, 0, 0], [0, 1, 0]], np.int32)
    listed = Listed(numbers, np.array([1, 3, 1, 2]), np.array([3, 1, 0]), 3, True)
    outputs = x @ weight.T + bias
    expected = np.array(
        [[*outputs[0, :2], MASKED], outputs[1, [1, 2, 4]], [outputs[2, 5], MASKED, MASKED]]
    )
    found = np.empty((3, 3), np.float32)
    pass_listed(x, weight, bias, *listed[:3], found)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(picked(outputs, listed), expected, rtol=1e-6)
    change = rng.normal(size=(3, 3)).astype(np.float32)
    whole = spread(change, 6, listed)
    assert np.count_nonzero(whole) == 6
    of_weight, of_bias, of_x = np.empty_like(weight), np.empty_like(bias), np.empty_like(x)
    differentiate_listed(
        change, *listed[:3], x, weight, np.float32(slope), of_weight, of_bias, of_x
    )
    np.testing.assert_allclose(of_weight, whole.T @ x, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(of_bias, whole.sum(axis=0), rtol=1e-5, atol=1e-6)
    factor = np.where(x > 0, 1.0, slope)
    np.testing.assert_allclose(of_x, factor * (whole @ weight), rtol=1e-5, atol=1e-6)
