"""Maximum independent set: choose nodes, no two of them joined."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco import Attribute, Graph, GraphView, Max, Mean, Node, Problem
from lagco.instances import Instance, References, SweepReference


class IndependentSet(Problem):
    """Choose one node after the other; its neighbours are then no longer free.

    Instance: ``edges`` (2, E) over `size` nodes. Objective: chosen nodes, to be maximised.
    """

    name = "independent-set"
    maximise = True
    default_size = 12

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        n = int(rng.integers(10, 16)) if size is None else size
        pairs = np.argwhere(np.triu(rng.random((n, n)) < 0.3, 1))
        return Instance(cls.name, "", n, {"edges": pairs.T.copy()}, {})

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        rng = np.random.default_rng(seed)
        joined = matrix(instance)
        found = []
        for _ in range(sweeps or 50):
            chosen: list[int] = []
            for node in rng.permutation(instance.size):
                if not joined[node, chosen].any():
                    chosen.append(int(node))
            found.append(sorted(chosen))
        best = max(found, key=len)
        return References(
            sweeps=SweepReference(float(len(best)), 0.0, np.array(best), None, sweeps or 50)
        )

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        edges = instance.array("edges").shape[1]
        return {"nodes": instance.size, "edges": edges, "actions": instance.size}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Any) -> float:
        return float(len(np.asarray(solution)))

    def _load(self, instance: Instance) -> None:
        n = instance.size
        self._joined = matrix(instance)
        self._chosen = np.zeros(n, dtype=np.int8)
        self._free = np.ones(n, dtype=np.int8)
        self._rivals = np.zeros(n, dtype=np.float32)
        self._view = GraphView(
            n,
            instance.array("edges"),
            nodes={"chosen": self._chosen, "free": self._free, "rivals": self._rivals},
        )
        flag = Attribute(type="binary")
        self._node_attributes = {"chosen": flag, "free": flag, "rivals": Attribute(low=0.0)}
        self._edge_attributes = {}
        self._observation_type = {"graph": Graph(poolings=[Mean, Max])}
        self._action_type = {"node": Node(spec={"free": True}, attributes=["rivals"])}
        self.action_space = gym.spaces.Discrete(n)

    def get_graphs(self) -> dict[str, GraphView]:
        return {"graph": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        self._chosen[:], self._free[:] = 0, 1
        self._count()

    def _apply(self, action: Any) -> None:
        node = int(action)
        self._chosen[node] = 1
        self._free[node] = 0
        self._free[self._joined[node]] = 0
        self._count()

    def _count(self) -> None:
        self._rivals[:] = self._joined @ self._free / len(self._free)
        for name in ("chosen", "free", "rivals"):
            self._view.touch_node(name)

    def objective(self) -> float:
        return float(self._chosen.sum())

    def solution(self) -> Any:
        return np.flatnonzero(self._chosen)

    def is_complete(self) -> bool:
        return not self._free.any()

    def is_valid_action(self, action: Any) -> bool:
        return 0 <= action < len(self._free) and bool(self._free[action])

    def preview(self, actions: Any) -> Any:
        return np.full(len(actions), self.objective() + 1.0)


def matrix(instance: Instance) -> Any:
    """Which nodes are joined: bool (n, n)."""
    joined = np.zeros((instance.size, instance.size), dtype=bool)
    first, second = instance.array("edges")
    joined[first, second] = joined[second, first] = True
    return joined
