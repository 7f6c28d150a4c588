"""The best action of a state is that of the largest value among all its listed actions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.inference.perceptron import stored_layers
from lagco.agents.inference.q_values import ActionValues
from lagco.agents.learning.networks import layer_arrays, linear_layers

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


def random_layers(rng, hidden):
    return [
        (rng.normal(size=(o, i)).astype(np.float32) / i**0.5, rng.normal(size=o).astype(np.float32))
        for i, o in pairwise([OBSERVED + sum(WIDTHS), *hidden, 1])
    ]


def network(rng, hidden):
    return ActionValues(random_layers(rng, hidden), OBSERVED)


@pytest.fixture
def sets(rng):
    shapes = (20, 30), (6, 8, 9), (40, 3), (2, 2), (1, 1)
    found = [random_set(rng, shape, 0.7) for shape in shapes]
    return [*found, ActionTables((rng.normal(size=(70, 5)).astype(np.float32),), (0,), None)]


@pytest.mark.parametrize("hidden", [(48, 24), (32,), (16, 12, 8)])
def test_best_actions_are_those_of_torch_over_all_listed_actions(hidden, sets, rng):
    width = sum(WIDTHS)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layers = linear_layers(OBSERVED + width, hidden, torch.nn.LeakyReLU)
    module = torch.nn.Sequential(*layers)
    q = ActionValues(stored_layers(layer_arrays("q", module), "q"), OBSERVED)
    observations = rng.normal(size=(len(sets), OBSERVED)).astype(np.float32)
    expected = []
    for observation, actions in zip(observations, sets, strict=True):
        repeated = np.tile(observation, (len(actions), 1))
        inputs = np.concatenate([repeated, actions.vectors(width)], axis=1)
        with torch.no_grad():
            expected.append(module(torch.from_numpy(inputs))[:, 0].numpy())
        assert q.values(observation, actions) == pytest.approx(expected[-1], abs=1e-5)
    largest, positions = q.best(observations, sets)
    assert largest == pytest.approx([v.max() for v in expected], abs=1e-5)
    for values, position in zip(expected, positions, strict=True):
        assert values[position] == pytest.approx(values.max(), abs=1e-5)


def test_the_first_of_equal_actions_is_taken(rng):
    q = network(rng, (48, 24))
    once = random_set(rng, (20, 30), 1.0)
    twice = ActionTables(once.tables, once.starts, np.concatenate([once.index] * 2))
    observations = rng.normal(size=(1, OBSERVED)).astype(np.float32)
    assert q.best(observations, [once])[1] == q.best(observations, [twice])[1]


def test_states_without_actions_have_the_value_0(sets, rng):
    q = network(rng, (48, 24))
    none = [
        ActionTables((np.zeros((0, 5), np.float32),), (0,), None),
        random_set(rng, (3, 4), 1.0).only(np.zeros(12, bool)),
    ]
    together = [none[0], sets[0], none[1], sets[1]]
    observations = rng.normal(size=(4, OBSERVED)).astype(np.float32)
    largest, positions = q.best(observations, together)
    assert largest[[0, 2]].tolist() == [0.0, 0.0] and positions[[0, 2]].tolist() == [0, 0]
    alone = q.best(observations[[1, 3]], [sets[0], sets[1]])
    assert np.array_equal(largest[[1, 3]], alone[0])


def test_a_value_does_not_depend_on_the_states_beside_it(sets, rng):
    q = network(rng, (48, 24))
    observations = rng.normal(size=(len(sets), OBSERVED)).astype(np.float32)
    together = q.best(observations, sets)
    alone = [q.best(observations[b : b + 1], sets[b : b + 1]) for b in range(len(sets))]
    assert together[0].tolist() == [float(value[0]) for value, _ in alone]
    assert together[1].tolist() == [int(position[0]) for _, position in alone]


def test_actions_in_half_precision_have_nearly_the_same_values(sets, rng):
    q = network(rng, (48, 24))
    observations = rng.normal(size=(len(sets), OBSERVED)).astype(np.float32)
    halved = [actions.compact() for actions in sets]
    assert all(table.dtype == np.float16 for actions in halved for table in actions.tables)
    assert q.maxima(observations, halved) == pytest.approx(q.maxima(observations, sets), abs=0.02)
