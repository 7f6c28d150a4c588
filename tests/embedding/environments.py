"""Small environments that the tests of this package share."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import networkx as nx
import numpy as np

from lagco.core.env import ContinuousEnv
from lagco.core.graph import GraphView
from lagco.core.pooling import Mean
from lagco.core.problem import Problem
from lagco.core.spec import Attribute, Graph, Node
from lagco.embedding import Encoder, EncoderConfig, PretrainConfig, pretrain
from lagco.problems.cyber_path import CyberPath
from lagco.problems.max_cut import MaxCut
from lagco.problems.min_vertex import MinVertex
from lagco.problems.ospf import OSPF
from lagco.problems.placement import Placement
from lagco.problems.traffic import Traffic
from lagco.problems.tsp import TSP

#: enough for the weights and batch norms to be anything but their initial values
BRIEF = PretrainConfig(max_steps=6, states=40, evaluate_every=3)

#: a node per decision variable, and a single view
CLASSICAL: dict[str, type[Problem]] = {"tsp": TSP, "min-vertex": MinVertex, "max-cut": MaxCut}
#: edges that move, graphs that grow, several views
APPLIED: dict[str, type[Problem]] = {
    "placement": Placement,
    "ospf": OSPF,
    "traffic": Traffic,
    "cyber-path": CyberPath,
}
PROBLEMS = CLASSICAL | APPLIED
CASES = [(name, features) for name in CLASSICAL for features in ("full", "paper")]
APPLIED_CASES = [(name, features) for name in APPLIED for features in ("full", "paper")]

_encoders: dict[Any, Encoder] = {}


def brief_encoder(name: str, features: str, config: EncoderConfig | None = None) -> Encoder:
    """A briefly trained encoder, made once."""
    key = (name, features, config)
    if key not in _encoders:
        problem = PROBLEMS[name]
        data = [problem.generate(size, index=size) for size in (8, 12, 16)]
        _encoders[key] = pretrain(
            problem, data, features=features, config=config, training=BRIEF, progress=False
        )
    return _encoders[key]


class Growing(ContinuousEnv):
    """A networkx graph that starts with a single node and gains one per step.

    Args:
        directed: whether its edges have a direction.
        attributes: False declares none at all.
    """

    def __init__(self, directed: bool = False, attributes: bool = True) -> None:
        self._graph_class = nx.DiGraph if directed else nx.Graph
        self.action_space = gym.spaces.Discrete(4)
        self.observation_space = gym.spaces.Discrete(2)
        self._observation_type = {"graph": Graph(poolings=[Mean])}
        self._action_type = {"node": Node()}
        if attributes:
            self._node_attributes = {
                "age": Attribute(norm="min_max"),
                "kind": Attribute(type="categorical", categories=["red", "green", "blue"]),
                "marks": Attribute(size=2, norm="l2"),
                "old": Attribute(type="binary"),
            }
            self._edge_attributes = {
                "length": Attribute(norm="z_score"),
                "used": Attribute(type="binary"),
            }
        self._attributes = attributes

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.graph = self._graph_class()
        self._add()
        return 0, {}

    def _add(self) -> None:
        rng, number = self.np_random, self.graph.number_of_nodes()
        kind = ["red", "green", "blue"][rng.integers(3)]
        data = {"age": 0.0, "kind": kind, "marks": rng.normal(size=2), "old": False}
        self.graph.add_node(number, **(data if self._attributes else {}))
        for other in range(number):
            if rng.random() < 0.3:
                data = {"length": float(rng.random()), "used": False}
                self.graph.add_edge(number, other, **(data if self._attributes else {}))

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        nodes = self.graph.nodes
        if self._attributes:
            node = int(self.np_random.integers(len(nodes)))
            nodes[node]["age"] += 1.0
            nodes[node]["old"] = True
            for edge in list(self.graph.edges)[:2]:
                self.graph.edges[edge]["used"] = bool(self.np_random.random() < 0.5)
        if action < 2:  # half of the steps change attributes only
            self._add()
        return 0, 0.0, False, len(nodes) >= 12, {}

    def get_graphs(self) -> dict[str, Any]:
        return {"graph": self.graph}

    def is_valid_action(self, action: Any) -> bool:
        return True


def permuted(view: GraphView, order: np.ndarray) -> GraphView:
    """The same graph with its nodes in another order: new node i is old node order[i]."""
    place = np.argsort(order)
    return GraphView(
        view.num_nodes,
        place[view.edges],
        nodes={
            name: column[order] if isinstance(column, np.ndarray) else [column[i] for i in order]
            for name, column in view.nodes.items()
        },
        edge_attributes=view.edge_attributes,
        directed=view.directed,
    )
