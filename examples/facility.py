"""An environment of your own: serve clients from sites, each of which costs something to open.

lagco check examples.facility:Facility; python examples/facility.py"""

import subprocess
import sys

import gymnasium as gym
import networkx as nx
import numpy as np
from gymnasium.spaces import MultiBinary, MultiDiscrete
from stable_baselines3 import PPO

import lagco
from lagco import Attribute, ContinuousEnv, Graph, Max, Mean, Min, Node


class FacilityEnv(gym.Env):
    """An action (client, site) serves a client; the first client of a site opens it."""

    action_space, observation_space = MultiDiscrete([12, 4]), MultiBinary(12)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        n = (options or {}).get("clients", 12)
        places, sites = self.np_random.random((n, 2)), self.np_random.random((m := n // 3, 2))
        self.way = np.linalg.norm(places[:, None] - sites, axis=2)
        self.price = self.np_random.uniform(0.5, 1.5, m)
        self.open, self.served = np.zeros(m, dtype=bool), np.zeros(n, dtype=bool)
        self.near = nx.Graph((i, j) for i in range(n) for j in self.nearest(places, places[i])[1:4])
        self.sites = nx.Graph((i, j) for i in range(m) for j in self.nearest(sites, sites[i])[1:4])
        self.action_space, self.observation_space = MultiDiscrete([n, m]), MultiBinary(n)
        return self.look(), {}

    def step(self, action):
        client, site = action
        cost = self.way[client, site] + (0.0 if self.open[site] else self.price[site])
        self.open[site] = self.served[client] = True
        return self.look(), -cost, bool(self.served.all()), False, {}

    def look(self):
        price, waiting = np.where(self.open, 0.0, self.price), ~self.served
        away = self.way[waiting].mean(axis=0) if waiting.any() else np.zeros(len(price))
        best = (self.way + price).min(axis=1)
        for i, values in self.near.nodes.items():
            values.update(served=self.served[i], best=best[i])
        for j, values in self.sites.nodes.items():
            values.update(price=price[j], away=away[j])
        return self.served.astype(np.int8)

    def nearest(self, places, place):
        return np.argsort(np.linalg.norm(places - place, axis=1)).tolist()


class Facility(FacilityEnv, ContinuousEnv):
    """The same, with what lagco needs to know."""

    size_option = "clients"
    hints = ("preview", "plan")
    _node_attributes = {  # noqa: RUF012
        "served": Attribute(type="binary", graph="clients"),
        "best": Attribute(low=0.0, graph="clients"),
        **{name: Attribute(low=0.0, graph="sites") for name in ("price", "away")},
    }
    _observation_type = {g: Graph(poolings=[Mean, Max, Min], graph=g) for g in ("clients", "sites")}  # noqa: RUF012
    _action_type = {  # noqa: RUF012
        "client": Node(graph="clients", spec={"served": False}, attributes=["best"]),
        "site": Node(graph="sites", attributes=["price", "away"]),
    }

    def get_graphs(self):
        return {"clients": self.near, "sites": self.sites}

    def is_valid_action(self, action):
        return not self.served[action[0]]

    def preview(self, actions):
        clients, sites = np.asarray(actions).T
        return -self.way[clients, sites] - np.where(self.open[sites], 0.0, self.price[sites])


if __name__ == "__main__":
    lagco.check_problem(Facility())
    larger = lagco.generate(Facility, 3, sizes=120, out="runs/facility/larger")
    if sys.argv[1:] != ["evaluate"]:
        encoder = lagco.pretrain(Facility, seeds=range(20), out="runs/facility/encoder")
        training = {"encoder": encoder, "method": "soft-projection", "steps": 20_480}
        lagco.train(Facility, seeds=range(100), out="runs/facility/agent", **training)
        PPO("MlpPolicy", lagco.wrap(Facility(), encoder), n_steps=256).learn(512)
        subprocess.run([sys.executable, __file__, "evaluate"], check=True)  # in a new process
    else:
        agent = lagco.load("runs/facility/agent", Facility)
        for found in (lagco.evaluate(p, larger, problem=Facility) for p in ("random", agent)):
            print(found.policy, found.summary()["episode_return/best"].mean)
        print("solve", lagco.solve(larger[0], agent=agent).objective)
