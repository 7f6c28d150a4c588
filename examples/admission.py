"""A stochastic problem: requests arrive at random; accept each on a server, or reject it.

lagco check examples.admission:Admission; python examples/admission.py"""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

import lagco
from lagco import Attribute, ContinuousEnv, Graph, GraphView, Max, Mean, Min, Node

#: requests of an episode, and the chance that a running one ends in a round
REQUESTS, ENDING = 60, 0.05


class Admission(ContinuousEnv):
    """Requests of random demand and price; one that is accepted takes room until it ends.

    The instance is the servers' capacities, drawn by `reset`. What happens then (arrivals, ends) is
    drawn in `step` from the same ``self.np_random``, which lagco seeds anew for every episode of a
    stochastic problem. Rejecting is an ordinary action: a node of its own, the last one.

    Reward: the price of an accepted request.
    """

    stochastic = True
    size_option = "servers"
    _node_attributes = {  # noqa: RUF012
        "able": Attribute(type="binary"),
        "rejects": Attribute(type="binary", static=True),
        "free": Attribute(low=0.0),
        "left": Attribute(low=0.0, high=1.0),  # of the free room, were the request put there
        "price": Attribute(low=0.0),  # per unit of demand
    }
    _observation_type = {"servers": Graph(poolings=[Mean, Max, Min])}  # noqa: RUF012
    _action_type = {  # noqa: RUF012
        "server": Node(spec={"able": True}, attributes=["rejects", "free", "left", "price"])
    }

    def __init__(self) -> None:
        self._room_for(6)

    def _room_for(self, servers: int) -> None:
        self.action_space = gym.spaces.Discrete(servers + 1)
        self.observation_space = gym.spaces.Box(0.0, np.inf, (servers + 1,))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Draw the capacities; the servers are empty."""
        super().reset(seed=seed)
        n = (options or {}).get("servers", 6)
        self._room_for(n)
        self.free = self.np_random.uniform(0.5, 1.5, n)
        self.running = np.zeros((0, 2))  # server, demand
        self.left = REQUESTS
        rejects = np.arange(n + 1) == n
        ring = np.stack([np.arange(n + 1), (np.arange(n + 1) + 1) % (n + 1)])
        zeros = {name: np.zeros(n + 1) for name in ("free", "left", "price")}
        able = np.ones(n + 1, dtype=np.int8)
        self.view = GraphView(n + 1, ring, nodes={"able": able, "rejects": rejects, **zeros})
        self._next()
        return self._seen(), {}

    def _next(self) -> None:
        """A request arrives."""
        self.demand, self.price = self.np_random.uniform(0.1, 0.5), self.np_random.exponential()
        free = np.append(self.free, 0.0)
        fits = free >= self.demand
        room = np.where(fits, (free - self.demand) / np.maximum(free, self.demand), 0.0)
        for name, column in (("able", fits), ("free", free), ("left", room), ("price", self.price)):
            self.view.set_node(name, None, column)
        self.view.set_node("able", len(self.free), 1)

    def _seen(self) -> Any:
        return np.append(self.free, self.price).astype(np.float32)

    def step(self, action: Any) -> Any:
        """Accept or reject; then some requests end, and the next one arrives."""
        reward = 0.0
        if action < len(self.free):
            reward = self.demand * self.price
            self.free[action] -= self.demand
            self.running = np.vstack([self.running, [action, self.demand]])
        ends = self.np_random.random(len(self.running)) < ENDING
        np.add.at(self.free, self.running[ends, 0].astype(int), self.running[ends, 1])
        self.running = self.running[~ends]
        self.left -= 1
        self._next()
        return self._seen(), reward, self.left == 0, False, {}

    def get_graphs(self) -> dict[str, GraphView]:
        """The servers, and the node that stands for rejecting."""
        return {"servers": self.view}

    def is_valid_action(self, action: Any) -> bool:
        """Whether there is room; rejecting is always possible."""
        return bool(self.view.nodes["able"][action])

    def preview(self, actions: Any) -> Any:
        """Accept whatever fits, where it leaves least room; reject where nothing fits."""
        nodes = self.view.nodes
        return np.where(nodes["rejects"][actions], -1.0, -nodes["left"][actions])


if __name__ == "__main__":
    unseen = lagco.generate(Admission, seeds=range(100, 105), out="runs/admission/unseen")
    agent = lagco.train(
        Admission,
        seeds=range(20),
        out="runs/admission/agent",
        method="soft-projection",
        steps=40_960,
    )
    for policy in ("random", "greedy", agent):
        found = lagco.evaluate(policy, unseen, problem=Admission, episodes=30)
        summary = found.summary()["episode_return/mean"]
        print(found.policy, summary.mean, summary.mean_interval)
