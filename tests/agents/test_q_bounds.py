"""Actions that are left out cannot be the best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from lagco.agents.action_tables import ActionTables
from lagco.agents.q_network import SplitQ

OBSERVED, WIDTHS = 6, (5, 4, 3)


def random_set(rng, sizes, share):
    """Combinations of components, a share of them valid."""
    index = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    tables = tuple(
        rng.normal(size=(n, width)).astype(np.float32)
        for n, width in zip(sizes, WIDTHS, strict=False)
    )
    starts = tuple(np.cumsum([0, *WIDTHS[: len(sizes) - 1]]).tolist())
    valid = rng.random(len(index)) < share
    valid[rng.integers(len(index))] = True
    return ActionTables(tables, starts, index).only(valid)


def network(rng, hidden, scale):
    """A network whose first layer reads actions `scale` times as strongly as observations."""
    layers = [
        (rng.normal(size=(o, i)).astype(np.float32) / i**0.5, rng.normal(size=o).astype(np.float32))
        for i, o in pairwise([OBSERVED + sum(WIDTHS), *hidden, 1])
    ]
    layers[0][0][:, OBSERVED:] *= scale
    return SplitQ(layers, OBSERVED)


@pytest.mark.parametrize("hidden", [(48, 24), (32,), (16, 12, 8)])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_best_action_is_that_of_all_values(hidden, scale, rng):
    q = network(rng, hidden, scale)
    sets = [random_set(rng, sizes, 0.7) for sizes in ((20, 30), (6, 8, 9), (40, 3), (2, 2), (1, 1))]
    sets.append(ActionTables((rng.normal(size=(70, 5)).astype(np.float32),), (0,), None))
    observations = rng.normal(size=(len(sets), OBSERVED)).astype(np.float32)
    values = q.values(observations, sets)
    largest, positions = q.best(observations, sets)
    assert largest == pytest.approx([v.max() for v in values], abs=1e-5)
    assert positions.tolist() == [int(np.argmax(v)) for v in values]


def test_equal_actions_are_all_kept_and_the_first_is_taken(rng):
    q = network(rng, (48, 24), 1.0)
    twice = random_set(rng, (20, 30), 1.0)
    double = ActionTables(twice.tables, twice.starts, np.concatenate([twice.index] * 2))
    observations = rng.normal(size=(1, OBSERVED)).astype(np.float32)
    one, other = q.best(observations, [twice]), q.best(observations, [double])
    assert one[1] == other[1] and one[0] == other[0]


def test_most_actions_are_left_out_where_q_is_almost_linear(rng):
    q = network(rng, (48, 24), 0.05)
    sets = [random_set(rng, (20, 30), 0.7)]
    observations = rng.normal(size=(1, OBSERVED)).astype(np.float32)
    *_, passed = q.search(observations, sets)
    assert 0 < passed < 0.2 * len(sets[0])


def test_states_without_actions_have_no_best_one(rng):
    q = network(rng, (48, 24), 1.0)
    none = ActionTables((np.zeros((0, 5), np.float32),), (0,), None)
    largest, positions = q.best(np.zeros((1, OBSERVED), np.float32), [none])
    assert largest.tolist() == [0.0] and positions.tolist() == [0]


def test_a_value_does_not_depend_on_the_states_beside_it(rng):
    q = network(rng, (48, 24), 1.0)
    sets = [random_set(rng, sizes, 0.7) for sizes in ((20, 30), (6, 8, 9), (3, 5), (1, 1))]
    observations = rng.normal(size=(len(sets), OBSERVED)).astype(np.float32)
    together = q.best(observations, sets)
    alone = [q.best(observations[b : b + 1], sets[b : b + 1]) for b in range(len(sets))]
    assert [float(value) for value in together[0]] == [float(value[0]) for value, _ in alone]
    assert together[1].tolist() == [int(position[0]) for _, position in alone]
