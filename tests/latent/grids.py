"""A small problem with every kind of component, for the tests of action sets."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from lagco import (
    Attribute,
    Concat,
    ContinuousEnv,
    Edge,
    Graph,
    GraphView,
    Max,
    Mean,
    Node,
    Object,
    Path,
    SubGraph,
    Sum,
)


class Grid(ContinuousEnv):
    """A 2 x n grid whose nodes carry a load and a list of tools; anything may be chosen."""

    def __init__(self, action_type, columns: int = 4, directed: bool = False) -> None:
        n = 2 * columns
        edges = [(i, i + 1) for i in range(n) if (i + 1) % columns]
        edges += [(i, i + columns) for i in range(columns)]
        self.view = GraphView(
            n,
            np.array(edges).T,
            nodes={
                "load": np.zeros(n, dtype=np.float32),
                "busy": np.zeros(n, dtype=np.int8),
                "tools": [["saw"] * (i % 3) + ["axe"] for i in range(n)],
                "wear": np.zeros((n, 3), dtype=np.float32),
                "fit": np.zeros((n, 3, 2), dtype=np.float32),
            },
            edge_attributes={"length": np.linspace(0, 1, len(edges)).astype(np.float32)},
            directed=directed,
        )
        self.demands = GraphView(
            n,
            np.array([[0, 1, 2], [n - 1, 0, 3]]),
            nodes={"load": np.zeros(n, dtype=np.float32)},
            edge_attributes={"volume": np.array([1.0, 2.0, 3.0], dtype=np.float32)},
            directed=True,
        )
        self._node_attributes = {
            "load": Attribute(low=0.0),
            "busy": Attribute(type="binary", graph="grid"),
        }
        self._edge_attributes = {
            "length": Attribute(graph="grid"),
            "volume": Attribute(graph="demands"),
        }
        self._observation_type = {"grid": Graph(poolings=[Mean, Sum], graph="grid")}
        self._action_type = action_type
        self.action_space = gym.spaces.MultiDiscrete([100] * 12)
        self.observation_space = gym.spaces.Box(0, np.inf, (n,), np.float32)
        self.forbidden: set[tuple[int, ...]] = set()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        self.shake()
        return self.view.nodes["load"].copy(), {}

    def shake(self):
        n = self.view.num_nodes
        self.view.set_node("load", None, self.np_random.random(n).astype(np.float32))
        self.view.set_node("busy", None, (self.np_random.random(n) < 0.3).astype(np.int8))
        mixed = self.view.nodes["load"][:, None] * np.arange(17, 26, dtype=np.float32) % 1.0
        self.view.set_node("wear", None, mixed[:, :3])
        self.view.set_node("fit", None, mixed[:, 3:].reshape(n, 3, 2))

    def step(self, action):
        self.steps += 1
        self.shake()
        return self.view.nodes["load"].copy(), 0.0, self.steps >= 6, False, {}

    def get_graphs(self):
        return {"grid": self.view, "demands": self.demands}

    def is_valid_action(self, action):
        return tuple(int(a) for a in np.ravel(action)) not in self.forbidden

    def sample_valid_action(self, rng=None):
        return np.zeros(12, dtype=np.int64)


PAIR = {
    "source": Node(graph="grid", spec={"busy": False}),
    "target": Node(graph="grid", attributes=["load"], different_from="source"),
}
TOOL = {
    "who": Node(graph="grid", spec={"busy": False}),
    "tool": Object(extractor="onehot", reference="who", key="tools"),
    "how": Object(choices=(-1.0, 0.0, 1.0)),
}
APART_TOOL = {
    "who": Node(graph="grid", spec={"busy": False}),
    "how": Object(choices=(-1.0, 0.0, 1.0)),
    "tool": Object(extractor="onehot", reference="who", key="tools"),
}
WORN_TOOL = {
    "who": Node(graph="grid", spec={"busy": False}),
    "tool": Object(extractor="onehot", reference="who", key="tools", attributes=["wear", "fit"]),
}
LINK = {
    "link": Edge(graph="grid", pooling=Concat, attributes=["length"]),
    "change": Object(extractor="onehot", choices=(-1, 0, 1)),
}
MEAN_LINK = {"link": Edge(graph="grid", pooling=Mean)}
ROUTE = {
    "demand": Edge(graph="demands", attributes=["volume"]),
    "way": Path(graph="grid", ends="demand", max_len=4),
}
MEAN_ROUTE = {
    "demand": Edge(graph="demands"),
    "way": Path(graph="grid", ends="demand", max_len=4, pooling=Mean),
}
LED_ROUTE = {
    "demand": Edge(graph="demands"),
    "way": Path(graph="grid", ends="demand", max_len=4),
    "gear": Object(choices=(0.0, 1.0)),
}
ANY_ROUTE = {"way": Path(graph="grid", max_len=2)}


def spread(vectors):
    """A pooling of a user's own."""
    return vectors.max(axis=0) - vectors.min(axis=0)


AREA = {
    "area": SubGraph(
        graph="grid",
        pooling=Mean,
        attributes=["load"],
        candidates=lambda view: [[0, 1], [2, 3, 4], list(range(view.num_nodes))],
    )
}
#: kinds that are never listed at once: paths and connected subgraphs
WALKED = (
    *("route", "mean route", "led route", "any route"),
    *("region", "sum region", "max region", "slotted region", "own region"),
)
ALL = {
    "region": {
        "area": SubGraph(graph="grid", max_size=3, attributes=["load"], spec={"busy": False})
    },
    "sum region": {
        "area": SubGraph(graph="grid", max_size=3, pooling=Sum),
        "who": Node(graph="grid", spec={"busy": False}),
        "tool": Object(extractor="onehot", reference="who", key="tools"),
    },
    "max region": {"area": SubGraph(graph="grid", max_size=4, pooling=Max)},
    "slotted region": {
        "area": SubGraph(graph="grid", max_size=3, pooling=Concat, attributes=["load"])
    },
    "own region": {"area": SubGraph(graph="grid", max_size=3, pooling=spread)},
    "pair": PAIR,
    "tool": TOOL,
    "apart tool": APART_TOOL,
    "worn tool": WORN_TOOL,
    "link": LINK,
    "mean link": MEAN_LINK,
    "route": ROUTE,
    "mean route": MEAN_ROUTE,
    "led route": LED_ROUTE,
    "any route": ANY_ROUTE,
    "area": AREA,
}
