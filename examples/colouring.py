"""Colour the nodes of a graph so that neighbours differ, with few colours.

lagco check examples.colouring:Colouring
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco import Attribute, Graph, GraphView, Max, Mean, Node, Problem
from lagco.instances import Instance


class Colouring(Problem):
    """Nodes are coloured one after the other, each with the first colour that no neighbour has.

    Instance: ``edges`` (2, E).
    Objective: the number of colours; nodes that have none yet count one each.
    """

    name = "colouring"
    hints = ("preview", "plan")

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        n = int(rng.integers(15, 26)) if size is None else size
        density = rng.uniform(0.3, 0.6) * min(1.0, 20 / n) ** 0.5
        pairs = np.stack(np.triu_indices(n, 1))
        edges = pairs[:, rng.random(pairs.shape[1]) < density]
        return Instance("colouring", "", n, {"edges": edges})

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Any) -> float:
        colours, (u, v) = np.asarray(solution), instance.array("edges")
        if (colours < 0).any() or (colours[u] == colours[v]).any():
            raise ValueError("neighbours with one colour, or nodes without any")
        return float(colours.max() + 1)

    def _load(self, instance: Instance) -> None:
        n, edges = instance.size, instance.array("edges")
        self._joined = np.zeros((n, n), dtype=bool)
        self._joined[edges[0], edges[1]] = self._joined[edges[1], edges[0]] = True
        self._degree = self._joined.sum(axis=1)
        self._colour = np.full(n, -1)
        self._open = np.zeros(n, dtype=np.int8)
        self._columns_of_nodes = np.zeros((3, n), dtype=np.float32)
        near, left, first = self._columns_of_nodes
        self._graph = GraphView(
            n, edges, nodes={"open": self._open, "near": near, "left": left, "first": first}
        )
        share = Attribute(low=0.0, high=1.0)
        self._node_attributes = {
            "open": Attribute(type="binary"),
            "near": share,  # colours among the neighbours
            "left": share,  # neighbours without a colour
            "first": share,  # the colour that it would get
        }
        self._observation_type = {"graph": Graph(poolings=[Mean, Max])}
        self._action_type = {
            "node": Node(spec={"open": True}, attributes=["near", "left", "first"])
        }
        self.action_space = gym.spaces.Discrete(n)

    def get_graphs(self) -> dict[str, GraphView]:
        return {"graph": self._graph}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        self._colour[:] = -1
        self._used = 0
        self._taken = np.zeros((self.instance.size, self.instance.size + 1), dtype=bool)
        if not isinstance(start, str):
            self._colour[:] = start
            self._used = int(self._colour.max()) + 1
        self._look()

    def _apply(self, action: Any) -> None:
        node = int(action)
        colour = int(self._taken[node].argmin())
        self._colour[node] = colour
        self._used = max(self._used, colour + 1)
        self._taken[self._joined[node], colour] = True
        self._look()

    def _look(self) -> None:
        n = self.instance.size
        self._open[:] = self._colour < 0
        near, left, first = self._columns_of_nodes
        near[:] = self._taken.sum(axis=1) / max(1, self._used)
        left[:] = (self._joined & (self._colour < 0)).sum(axis=1) / n
        first[:] = self._taken.argmin(axis=1) / max(1, self._used)
        for name in ("open", "near", "left", "first"):
            self._graph.touch_node(name)

    def objective(self) -> float:
        return float(self._used + (self._colour < 0).sum())

    def solution(self) -> Any:
        return self._colour.copy()

    def is_complete(self) -> bool:
        return bool((self._colour >= 0).all())

    def is_feasible(self) -> bool:
        return self.is_complete()

    def is_valid_action(self, action: Any) -> bool:
        return 0 <= action < len(self._colour) and self._colour[action] < 0

    def preview(self, actions: Any) -> Any:
        """Colours used afterwards; among equals the node with most colours around it."""
        colours = np.maximum(self._taken[actions].argmin(axis=1) + 1, self._used)
        return -colours + self._taken[actions].sum(axis=1) / (self.instance.size + 1)
