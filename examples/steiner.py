"""Join the terminals of a network by a tree of the least total length.

lagco check examples.steiner:Steiner
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

from lagco import Attribute, Concat, Edge, Graph, GraphView, Max, Mean, Problem
from lagco.instances import Instance


class Steiner(Problem):
    """A tree grows from the first terminal, edge by edge, until it reaches the last one.

    Instance: ``edges`` (2, E) of a connected graph, ``lengths`` (E,), ``terminals`` (k,).
    Objective: the length of the tree, and the distance to it of terminals that it does not reach.
    """

    name = "steiner"
    hints = ("preview", "plan")

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        n = int(rng.integers(18, 31)) if size is None else size
        places = rng.random((n, 2))
        ways = np.linalg.norm(places[:, None] - places, axis=2)
        near = np.argsort(ways, axis=1)[:, 1:5]
        tree = np.stack(minimum_spanning_tree(ways).nonzero())
        pairs = np.concatenate([np.stack([np.repeat(np.arange(n), 4), near.ravel()]), tree], axis=1)
        edges = np.unique(np.sort(pairs, axis=0), axis=1)
        lengths = ways[edges[0], edges[1]] * rng.uniform(0.8, 1.2, edges.shape[1])
        terminals = rng.permutation(n)[: max(3, n // 4)]
        return Instance(
            "steiner", "", n, {"edges": edges, "lengths": lengths, "terminals": terminals}
        )

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Any) -> float:
        chosen, edges = np.asarray(solution, dtype=bool), instance.array("edges")
        terminals, lengths = instance.array("terminals"), instance.array("lengths")
        graph = coo_matrix((lengths[chosen], edges[:, chosen]), shape=(instance.size,) * 2)
        if not np.isfinite(dijkstra(graph, False, int(terminals[0]))[terminals]).all():
            raise ValueError("a terminal is not joined to the others")
        return float(lengths[chosen].sum())

    def _load(self, instance: Instance) -> None:
        n, self._edges = instance.size, instance.array("edges")
        self._lengths, self._terminals = instance.array("lengths"), instance.array("terminals")
        graph = coo_matrix((self._lengths, self._edges), shape=(n, n))
        self._ways = dijkstra(graph, directed=False)
        self._mean_length = float(self._lengths.mean())
        self._reached = np.zeros(n, dtype=np.int8)
        self._wanted = np.zeros(n, dtype=np.int8)
        self._away = np.zeros(n, dtype=np.float32)  # to the nearest terminal that is not reached
        self._open = np.zeros(len(self._lengths), dtype=np.int8)
        self._cost = np.zeros(len(self._lengths), dtype=np.float32)  # with the way from its end
        self._graph = GraphView(
            n,
            self._edges,
            nodes={"reached": self._reached, "wanted": self._wanted, "away": self._away},
            edge_attributes={
                "open": self._open,
                "length": (self._lengths / self._mean_length).astype(np.float32),
                "cost": self._cost,
            },
        )
        flag, amount = Attribute(type="binary"), Attribute(low=0.0)
        self._node_attributes = {"reached": flag, "wanted": flag, "away": amount}
        self._edge_attributes = {
            "open": flag,
            "length": Attribute(low=0.0, static=True),
            "cost": amount,
        }
        self._observation_type = {"graph": Graph(poolings=[Mean, Max])}
        self._action_type = {
            "edge": Edge(spec={"open": True}, pooling=Concat, attributes=["length", "cost"])
        }
        self.action_space = gym.spaces.Discrete(len(self._lengths))

    def get_graphs(self) -> dict[str, GraphView]:
        return {"graph": self._graph}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        self._chosen = np.zeros(len(self._lengths), dtype=bool)
        self._reached[:] = 0
        self._reached[self._terminals[0]] = 1
        if not isinstance(start, str):
            self._chosen |= np.asarray(start, dtype=bool)
            self._reached[self._edges[:, self._chosen].ravel()] = 1
        self._look()

    def _apply(self, action: Any) -> None:
        self._chosen[int(action)] = True
        self._reached[self._edges[:, int(action)]] = 1
        self._look()

    def _look(self) -> None:
        reached = self._reached.astype(bool)
        missing = self._terminals[~reached[self._terminals]]
        self._wanted[:] = 0
        self._wanted[missing] = 1
        self._goals = missing
        self._missing = self._ways[reached][:, missing].min(axis=0)
        self._away[:] = (
            self._ways[:, missing].min(axis=1) / self._mean_length if len(missing) else 0.0
        )
        self._open[:] = reached[self._edges[0]] != reached[self._edges[1]]
        self._outer = np.where(reached[self._edges[0]], self._edges[1], self._edges[0])
        self._cost[:] = self._lengths / self._mean_length + self._away[self._outer]
        for name in ("reached", "wanted", "away"):
            self._graph.touch_node(name)
        for name in ("open", "cost"):
            self._graph.touch_edge(name)

    def objective(self) -> float:
        return float(self._lengths[self._chosen].sum() + self._missing.sum())

    def solution(self) -> Any:
        return self._chosen.astype(np.int8)

    def is_complete(self) -> bool:
        return len(self._goals) == 0

    def is_feasible(self) -> bool:
        return self.is_complete()

    def is_valid_action(self, action: Any) -> bool:
        return 0 <= action < len(self._open) and bool(self._open[action])

    def preview(self, actions: Any) -> Any:
        """The edge, and the ways that would then be left to the terminals."""
        left = np.minimum(self._missing, self._ways[self._outer[actions]][:, self._goals])
        return -self._lengths[actions] - left.sum(axis=1)
