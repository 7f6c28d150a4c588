"""Choose nodes of a graph, no two of them neighbours, of the largest total weight.

lagco check examples.independent_set:IndependentSet
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco import Attribute, Graph, GraphView, Max, Mean, Node, Problem
from lagco.instances import Instance


class IndependentSet(Problem):
    """Nodes are chosen one after the other until each is chosen or has a chosen neighbour.

    Instance: ``edges`` (2, E), ``weights`` (n,).
    Objective: the total weight of the chosen nodes, to be maximised.
    """

    name = "independent-set"
    hints = ("preview", "plan")
    maximise = True

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        n = int(rng.integers(15, 26)) if size is None else size
        pairs = np.stack(np.triu_indices(n, 1))
        edges = pairs[:, rng.random(pairs.shape[1]) < rng.uniform(3.0, 6.0) / n]
        weights = rng.integers(10, 100, n).astype(float)
        return Instance("independent-set", "", n, {"edges": edges, "weights": weights})

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Any) -> float:
        chosen, (u, v) = np.asarray(solution, dtype=bool), instance.array("edges")
        if (chosen[u] & chosen[v]).any():
            raise ValueError("two chosen nodes are neighbours")
        return float(instance.array("weights")[chosen].sum())

    def _load(self, instance: Instance) -> None:
        n, edges = instance.size, instance.array("edges")
        self._joined = np.zeros((n, n), dtype=bool)
        self._joined[edges[0], edges[1]] = self._joined[edges[1], edges[0]] = True
        self._weights = instance.array("weights")
        self._chosen = np.zeros(n, dtype=bool)
        self._open = np.zeros(n, dtype=np.int8)
        self._lost = np.zeros(n, dtype=np.float32)
        share = (self._weights / self._weights.max()).astype(np.float32)
        self._graph = GraphView(
            n, edges, nodes={"open": self._open, "weight": share, "lost": self._lost}
        )
        self._node_attributes = {
            "open": Attribute(type="binary"),
            "weight": Attribute(low=0.0, high=1.0, static=True),
            "lost": Attribute(low=0.0),  # weight of the open neighbours
        }
        self._observation_type = {"graph": Graph(poolings=[Mean, Max])}
        self._action_type = {"node": Node(spec={"open": True}, attributes=["weight", "lost"])}
        self.action_space = gym.spaces.Discrete(n)

    def get_graphs(self) -> dict[str, GraphView]:
        return {"graph": self._graph}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        self._chosen[:] = False if isinstance(start, str) else start
        self._look()

    def _apply(self, action: Any) -> None:
        self._chosen[int(action)] = True
        self._look()

    def _look(self) -> None:
        self._free = ~self._chosen & ~self._joined[self._chosen].any(axis=0)
        self._open[:] = self._free
        self._lost[:] = self._joined @ (self._weights * self._free) / self._weights.max()
        self._graph.touch_node("open")
        self._graph.touch_node("lost")

    def objective(self) -> float:
        return float(self._weights[self._chosen].sum())

    def solution(self) -> Any:
        return self._chosen.astype(np.int8)

    def is_complete(self) -> bool:
        return not self._free.any()

    def is_feasible(self) -> bool:
        return self.is_complete()

    def is_valid_action(self, action: Any) -> bool:
        return 0 <= action < len(self._free) and bool(self._free[action])

    def preview(self, actions: Any) -> Any:
        return self._weights[actions]
