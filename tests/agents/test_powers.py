"""Powers of e, compiled."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.powers import write_powers


@pytest.mark.parametrize("count", [1, 7, 256, 1001])
def test_powers_are_those_of_numpy(rng, count):
    values = rng.normal(scale=15.0, size=count).astype(np.float32)
    largest = values.max()
    found = np.empty(count, np.float32)
    write_powers(values, largest, found)
    expected = np.exp((values - largest).astype(np.float64))
    assert found == pytest.approx(expected, rel=2e-7, abs=2e-38)
    assert found[values.argmax()] == 1.0


def test_the_smallest_powers_are_not_below_zero():
    found = np.empty(3, np.float32)
    write_powers(np.array([0.0, -200.0, -3e38], np.float32), np.float32(0.0), found)
    assert found[0] == 1.0
    assert (found[1:] >= 0.0).all() and (found[1:] < 1e-36).all()
