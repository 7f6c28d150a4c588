"""A problem written against the public API alone, with networkx graphs, as a user would."""

from __future__ import annotations

import gymnasium as gym
import networkx as nx
import numpy as np

import lagco
from lagco import Attribute, ContinuousEnv, Function, Graph, Max, Mean, Node
from lagco.core.declaring.descriptors import get_num_nodes


class IndependentSetEnv(gym.Env):
    """Pick nodes of which no two are neighbours, of as much weight as possible."""

    def __init__(self, n: int = 8) -> None:
        self.graph = nx.path_graph(n)
        self.n = n
        self.total = float(sum(range(1, n + 1)))
        self.action_space = gym.spaces.Discrete(n)
        self.observation_space = gym.spaces.Dict({"picked": gym.spaces.MultiBinary(n)})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.weights = self.np_random.permutation(np.arange(1.0, self.n + 1))
        self.picked = np.zeros(self.n, dtype=np.int8)
        return self.observe(), {}

    def observe(self):
        return {"picked": self.picked.copy()}

    def free(self, node) -> bool:
        ends = [node, *self.graph.neighbors(node)]
        return not self.picked[ends].any()

    def step(self, action):
        reward = 0.0
        if 0 <= action < self.n and self.free(int(action)):
            self.picked[action] = 1
            reward = float(self.weights[action]) / self.total
        ended = not any(self.free(v) for v in range(self.n))
        value = float(self.weights[self.picked == 1].sum())
        info = {"objective": value}
        if ended:
            info["score"] = value / self.total
        return self.observe(), reward, ended, False, info


class IndependentSet(IndependentSetEnv, ContinuousEnv):
    """The same, declared for lagco."""

    def __init__(self, n: int = 8) -> None:
        super().__init__(n)
        self._node_attributes = {
            "picked": Attribute(type="binary"),
            "weight": Attribute(norm="min_max", low=0.0, static=True),
            "kind": Attribute(type="categorical", categories=("end", "inner"), static=True),
        }
        self._edge_attributes = {"length": Attribute(low=0.0, high=1.0)}
        self._observation_type = {
            "graph": Graph(poolings=[Mean, Max], graph="G"),
            "nodes_num": Function(get_num_nodes, graph="G"),
        }
        self._action_type = {"node": Node(graph="G", spec={"picked": False})}

    def get_graphs(self):
        graph = self.graph.copy()
        for v in graph:
            graph.nodes[v]["picked"] = int(self.picked[v])
            graph.nodes[v]["weight"] = float(self.weights[v])
            graph.nodes[v]["kind"] = "end" if v in (0, self.n - 1) else "inner"
        nx.set_edge_attributes(graph, 0.5, "length")
        return {"G": graph}

    def is_valid_action(self, action) -> bool:
        return 0 <= action < self.n and self.free(int(action))

    def sample_valid_action(self):
        valid = [v for v in range(self.n) if self.free(v)]
        return int(valid[self.np_random.integers(len(valid))]) if valid else None

    def preview(self, actions):
        return self.weights[actions]


class TrackedIndependentSet(IndependentSet):
    """The same with an array view that notes its changes."""

    def reset(self, *, seed=None, options=None):
        result = super().reset(seed=seed, options=options)
        self.view = lagco.GraphView(
            self.n,
            np.array(self.graph.edges).T,
            nodes={
                "picked": self.picked,
                "weight": self.weights,
                "kind": ["end" if v in (0, self.n - 1) else "inner" for v in range(self.n)],
            },
            edge_attributes={"length": np.full(self.n - 1, 0.5)},
        )
        return result

    def step(self, action):
        result = super().step(action)
        self.view.touch_node("picked", int(action))
        return result

    def get_graphs(self):
        return {"G": self.view}
