"""A problem of your own: open k depots on a map so that customers have short ways.

lagco check examples.depots:Depots
python examples/depots.py
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import lagco
from lagco import Attribute, GraphView, Max, Mean, Min, Node, Problem
from lagco.instances import Instance, References, SweepReference


class Depots(Problem):
    """Open `depots` of the n sites, one after the other; every site is then served by the nearest.

    Instance: ``coordinates`` (n, 2); ``params["depots"]``.
    Objective: the sum of all distances to the nearest open depot; before any is open, to the
    farthest site.
    """

    name = "depots"

    # -- instances and what good and bad solutions are worth

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        n = int(rng.integers(15, 40)) if size is None else size
        coordinates = rng.uniform(0.0, 100.0, (n, 2))
        return Instance("depots", "", n, {"coordinates": coordinates}, {"depots": max(2, n // 8)})

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Best and worst of random choices, each improved by exchanging one depot."""
        rng = np.random.default_rng(seed)
        ways, k = distances(instance), int(instance.params["depots"])
        found = []
        for _ in range(sweeps or 200):
            chosen = rng.permutation(instance.size)[:k]
            found.append((ways[chosen].min(axis=0).sum(), chosen))
            for place in range(k):
                trial = np.repeat(chosen[None], instance.size, axis=0)
                trial[:, place] = np.arange(instance.size)
                lengths = ways[trial].min(axis=1).sum(axis=1)
                chosen = trial[lengths.argmin()]
            found.append((lengths.min(), chosen))
        best, worst = min(found, key=lambda f: f[0]), max(found, key=lambda f: f[0])
        return References(
            sweeps=SweepReference(
                best=float(best[0]),
                worst=float(worst[0]),
                best_solution=np.sort(best[1]),
                worst_solution=np.sort(worst[1]),
                sweeps=sweeps or 200,
            )
        )

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        return {"nodes": instance.size, "edges": 5 * instance.size, "actions": instance.size}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Any) -> float:
        return float(distances(instance)[np.asarray(solution)].min(axis=0).sum())

    # -- the declarations

    def _load(self, instance: Instance) -> None:
        n = instance.size
        self._ways = distances(instance)
        self._farthest = float(self._ways.max()) or 1.0
        near = np.argsort(self._ways, axis=1)[:, 1 : min(6, n)]
        pairs = np.stack([np.repeat(np.arange(n), near.shape[1]), near.reshape(-1)])
        pairs = np.unique(np.sort(pairs, axis=0), axis=1)
        self._open = np.zeros(n, dtype=np.int8)
        self._nearest = np.zeros(n, dtype=np.float32)  # way to the nearest open depot
        self._gain = np.zeros(n, dtype=np.float32)  # what opening a site would save
        self._sites = GraphView(
            n,
            pairs,
            nodes={"open": self._open, "nearest": self._nearest, "gain": self._gain},
            edge_attributes={
                "way": (self._ways[pairs[0], pairs[1]] / self._farthest).astype(np.float32)
            },
        )
        amount = Attribute(low=0.0)
        self._node_attributes = {
            "open": Attribute(type="binary"),
            "nearest": amount,
            "gain": amount,
        }
        self._edge_attributes = {"way": Attribute(low=0.0, static=True)}
        self._observation_type = {"sites": lagco.Graph(poolings=[Mean, Max, Min])}
        self._action_type = {"site": Node(spec={"open": False}, attributes=["gain"])}
        self.action_space = gym.spaces.Discrete(n)

    def get_graphs(self) -> dict[str, GraphView]:
        return {"sites": self._sites}

    # -- the rules

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        self._open[:] = 0
        self._look(np.full(self.instance.size, self._farthest))
        if not isinstance(start, str):  # a solution to show, or to go on from
            for site in start:
                self._apply(site)

    def _apply(self, action: Any) -> None:
        site = int(action)
        self._open[site] = 1
        self._sites.touch_node("open", site)
        self._look(np.minimum(self._served, self._ways[site]))

    def _look(self, served: Any) -> None:
        self._served = served
        self._nearest[:] = served / self._farthest
        saved = np.maximum(served[None] - self._ways, 0.0).sum(axis=1)
        self._gain[:] = saved / (self._farthest * len(served))
        self._sites.touch_node("nearest")
        self._sites.touch_node("gain")

    def objective(self) -> float:
        return float(self._served.sum())

    def solution(self) -> Any:
        return np.flatnonzero(self._open)

    def is_complete(self) -> bool:
        return int(self._open.sum()) == int(self.instance.params["depots"])

    def is_feasible(self) -> bool:
        return self.is_complete()

    def is_valid_action(self, action: Any) -> bool:
        return 0 <= action < len(self._open) and not self._open[action]

    def preview(self, actions: Any) -> Any:
        return -np.minimum(self._served[None], self._ways[actions]).sum(axis=1)

    # -- a picture

    def draw_on(self, axes: Any) -> None:
        x, y = self.instance.array("coordinates").T
        for depot in np.flatnonzero(self._open):
            near = self._ways[depot] == self._served  # the sites that it serves
            axes.plot(*[[c[near], np.full(near.sum(), c[depot])] for c in (x, y)], "C0-", lw=1)
        axes.scatter(x, y, s=15 + 60 * self._open, c=self._open, cmap="coolwarm", zorder=2)


def distances(instance: Instance) -> Any:
    """All distances (n, n)."""
    places = instance.array("coordinates")
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def main() -> None:
    """Train an agent and compare it with the plain policies on larger instances."""
    data = lagco.generate(Depots, 20, out="runs/depots/data", references="sweeps")
    larger = lagco.generate(Depots, 5, out="runs/depots/larger", references="sweeps", sizes=80)
    agent = lagco.train(Depots, data, "runs/depots/agent", method="soft-projection", steps=20_480)
    for policy in ("random", "greedy", agent):
        found = lagco.evaluate(policy, larger, problem=Depots).summary()
        print(found["score/best"])


if __name__ == "__main__":
    main()
