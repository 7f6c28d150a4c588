"""Actions with a path in an environment that leaves the sampling of actions to lagco."""

from __future__ import annotations

from itertools import pairwise

import gymnasium as gym
import networkx as nx
import numpy as np
import pytest

import lagco
from lagco import Attribute, Concat, ContinuousEnv, Edge, Graph, GraphView, Mean, Path

HOPS = 4


class Detours(ContinuousEnv):
    """Choose an edge of a graph and a path between its ends."""

    def __init__(self, columns: int = HOPS + 1, shut: tuple[int, ...] = (), n: int = 12) -> None:
        graph = nx.circulant_graph(n, [1, 2])
        ends = np.array(graph.edges).T
        open_ = np.ones(n, dtype=np.int8)
        open_[list(shut)] = 0
        self.view = GraphView(n, ends, nodes={"open": open_})
        self.asked = 0
        self._node_attributes = {"open": Attribute(type="binary")}
        self._observation_type = {"graph": Graph(poolings=[Mean])}
        path = Path(ends="edge", max_len=HOPS, spec={"open": 1})
        self._action_type = {"edge": Edge(pooling=Concat), "path": path}
        self.action_space = gym.spaces.MultiDiscrete([ends.shape[1]] + [n + 1] * columns)
        self.observation_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        return 0, 0.0, self.steps == 3, False, {}

    def get_graphs(self):
        return {"G": self.view}

    def is_valid_action(self, action):
        self.asked += 1
        n, edges = self.view.num_nodes, {frozenset(e) for e in self.view.edges.T.tolist()}
        nodes = [int(v) for v in action[1:] if v < n]
        return (
            list(action[1 : len(nodes) + 1]) == nodes
            and [*nodes[:1], *nodes[-1:]] == self.view.edges[:, action[0]].tolist()
            and len(set(nodes)) == len(nodes) <= HOPS + 1
            and bool(self.view.nodes["open"][nodes].all())
            and all(frozenset(pair) in edges for pair in pairwise(nodes))
        )


def test_paths_are_sampled_without_a_list_of_all_actions():
    env = Detours()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    drawn = [tuple(env.sample_valid_action(rng).tolist()) for _ in range(100)]
    assert env.asked <= 100 * (64 + 8)  # and not 24 * 13 ** 5, which cannot be listed
    assert len(set(drawn)) > 60
    lengths = {sum(v < 12 for v in action[1:]) for action in drawn}
    assert lengths == {2, 3, 4, 5}


def test_sampled_paths_avoid_nodes_that_their_spec_leaves_out():
    env = Detours(shut=(0, 5))
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert not {0, 5} & set(env.sample_valid_action(rng)[1:].tolist())


def test_such_an_environment_passes_the_check():
    assert lagco.check_problem(Detours(), raises=False) == []


def test_an_action_space_too_narrow_for_declared_paths_is_found():
    findings = lagco.check_problem(Detours(columns=HOPS), raises=False)
    assert [finding.declaration for finding in findings] == ["actions_from_parts()"]
    assert "is not in MultiDiscrete" in str(findings[0])


@pytest.mark.parametrize("ends", [None, "edge"])
def test_free_and_joined_paths_are_drawn_within_their_length(ends):
    env = Detours()
    env._action_type = {**env._action_type, "path": Path(ends=ends, max_len=2)}
    from lagco.core.declaring.sampling import NodesSampler

    rng = np.random.default_rng(1)
    sampler = NodesSampler(env, env.action_space)
    for action in (sampler.draw(rng) for _ in range(50)):
        if action is not None:
            assert 2 <= (action[1:] < 12).sum() <= 3
