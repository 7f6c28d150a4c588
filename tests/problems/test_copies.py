"""Copies of an environment in the middle of an episode, by ``copy.deepcopy`` and by pickle."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest

import lagco
from lagco.core.graph import GraphView
from lagco.problem_table import ENTRIES

WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}
#: environments of problems; those of live decisions take timelines, see tests/live
IDS = [entry.env_id for entry in ENTRIES.values()]


def _same_views(first: lagco.Problem, second: lagco.Problem) -> None:
    for name, view in first.graph_views().items():
        other = second.graph_views()[name]
        for mine, theirs in (
            (view.nodes, other.nodes),
            (view.edge_attributes, other.edge_attributes),
        ):
            for key, column in mine.items():
                assert np.array_equal(column, theirs[key]), (name, key)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", IDS)
def test_a_copy_goes_on_as_the_original_does_and_apart_from_it(name, features, way):
    env = gymnasium.make(name, size=10, features=features)
    env.reset(seed=1)
    env.step(env.unwrapped.sample_valid_action())
    twin, left_alone = WAYS[way](env), WAYS[way](env)
    before = left_alone.unwrapped._observe()
    rng = np.random.default_rng(0)
    for _ in range(6):
        action = env.unwrapped.sample_valid_action(rng)
        first, second = env.step(action), twin.step(action)
        assert first[1:4] == second[1:4]
        for key, value in first[0].items():
            assert np.array_equal(value, second[0][key]), key
        _same_views(env.unwrapped, twin.unwrapped)
        if first[2] or first[3]:
            break
    for key, value in left_alone.unwrapped._observe().items():
        assert np.array_equal(value, before[key]), key


@pytest.mark.parametrize("way", WAYS)
def test_a_column_in_the_memory_of_another_array_stays_there(way):
    table = np.zeros((4, 3), dtype=np.float32, order="F")
    view = GraphView(2, [[0], [1]], nodes={"load": table[1:3, 1]})
    copied_table, copied_view = WAYS[way]((table, view))
    copied_table[2, 1] = 7.0
    assert copied_view.nodes["load"].tolist() == [0.0, 7.0]
    assert view.nodes["load"].tolist() == [0.0, 0.0]
