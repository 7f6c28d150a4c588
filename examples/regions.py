"""A problem whose actions are connected subgraphs: claim regions of a map, and fence them.

lagco check examples.regions:Regions; python examples/regions.py"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import MultiBinary, MultiDiscrete
from scipy.spatial import Delaunay

import lagco
from lagco import Attribute, ContinuousEnv, Graph, GraphView, Max, Mean, SubGraph, Sum

#: most nodes of a region, and regions of an episode
LARGEST, ROUNDS = 5, 4


class Regions(ContinuousEnv):
    """Claim `ROUNDS` connected regions of at most `LARGEST` free places, one after the other.

    A region earns the prizes of its places and pays the length of all roads that leave it. Rewards
    are in units of the map's mean prize.

    Action: the places of the region in ascending order, padded with their number. Regions are never
    listed; of some thousand, the search looks at those that can come near to what a policy
    proposes.
    """

    size_option = "places"
    _node_attributes = {  # noqa: RUF012
        "prize": Attribute(low=0.0, static=True),
        "fence": Attribute(low=0.0, static=True),
        "taken": Attribute(type="binary"),
    }
    _edge_attributes = {"length": Attribute(low=0.0, static=True)}  # noqa: RUF012
    _observation_type = {  # noqa: RUF012
        "map": Graph(poolings=[Mean, Max]),
        "free": Graph(poolings=[Mean, Sum], spec={"taken": False}),
    }
    _action_type = {  # noqa: RUF012
        "region": SubGraph(
            max_size=LARGEST,
            spec={"taken": False},
            attributes=["prize", "fence"],
            pooling=Sum,
        )
    }
    view: GraphView

    def __init__(self, places: int = 24) -> None:
        self.places = places
        self._make_room(places)

    def _make_room(self, n: int) -> None:
        self.action_space, self.observation_space = MultiDiscrete([n + 1] * LARGEST), MultiBinary(n)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Draw a map: places in a square, roads between neighbours, prizes in a few rich areas."""
        super().reset(seed=seed)
        n, rng = (options or {}).get("places", self.places), self.np_random
        at = rng.random((n, 2))
        corners = Delaunay(at).simplices
        roads = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
        roads = np.unique(np.sort(roads, axis=1), axis=0).T
        length = np.linalg.norm(at[roads[0]] - at[roads[1]], axis=1)
        rich = np.linalg.norm(at[:, None] - rng.random((3, 2)), axis=2).min(axis=1)
        fence = np.bincount(roads.ravel(), np.tile(length, 2), n)
        prize = fence * np.exp(-4.0 * rich) * rng.uniform(0.5, 1.5, n)
        self.view = GraphView(
            n,
            roads,
            nodes={"prize": prize, "fence": fence, "taken": np.zeros(n, np.int8)},
            edge_attributes={"length": length},
        )
        self.left = ROUNDS
        self._make_room(n)
        return self.view.nodes["taken"].copy(), {}

    def step(self, action: Any) -> Any:
        """Claim a region."""
        reward = float(self.preview(np.asarray(action)[None])[0])
        region = np.asarray(action)[np.asarray(action) < self.view.num_nodes]
        self.view.set_node("taken", region, 1)
        self.left -= 1
        over = self.left == 0 or bool(self.view.nodes["taken"].all())
        return self.view.nodes["taken"].copy(), reward, over, False, {"objective": reward}

    def get_graphs(self) -> dict[str, GraphView]:
        """The map."""
        return {"map": self.view}

    def is_valid_action(self, action: Any) -> bool:
        """Whether these are free places that hang together."""
        return bool(self.are_valid_actions(np.asarray(action)[None])[0])

    def are_valid_actions(self, actions: Any) -> Any:
        """The same for many."""
        return self._action_type["region"].fits(self.view, actions)

    def preview(self, actions: Any) -> Any:
        """Reward of each of these regions."""
        n, nodes, (tails, heads) = self.view.num_nodes, self.view.nodes, self.view.edges
        inside = np.zeros((len(actions), n + 1), dtype=bool)
        np.put_along_axis(inside, np.asarray(actions), True, axis=1)
        inside = inside[:, :n]
        leaving = inside[:, tails] != inside[:, heads]
        worth = inside @ nodes["prize"] - leaving @ self.view.edge_attributes["length"]
        return worth / nodes["prize"].mean()


if __name__ == "__main__":
    lagco.check_problem(Regions())
    encoder = lagco.pretrain(Regions, seeds=range(20), out="runs/regions/encoder")
    larger = lagco.generate(Regions, 3, sizes=60, out="runs/regions/larger")
    policies: list[Any] = ["random"]
    for method in ("projection", "soft-projection"):
        out = f"runs/regions/{method}"
        training: dict[str, Any] = {"encoder": encoder, "method": method, "steps": 10_240}
        policies.append(lagco.train(Regions, seeds=range(100), out=out, **training))
    for policy in policies:
        found = lagco.evaluate(policy, larger, problem=Regions)
        print(found.policy, found.summary()["episode_return/best"].mean)
