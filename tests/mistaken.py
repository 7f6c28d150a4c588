"""Environments and problems with one plausible mistake each; see ``test_mistakes``."""

from __future__ import annotations

from dataclasses import replace

import gymnasium as gym
import networkx as nx
import numpy as np

import lagco
from examples.depots import Depots
from examples.facility import Facility, FacilityEnv
from lagco import Attribute, ContinuousEnv, Node, Problem
from lagco.instances import Instance, References


class WithArguments(Facility):
    def __init__(self, clients):
        super().__init__()


class Tsp(Facility):
    pass


ENVIRONMENT = Facility()
NUMBER = 7


class Unranked(FacilityEnv, ContinuousEnv):
    """The facility example without `preview`, and without what rests on it."""

    size_option = Facility.size_option
    _node_attributes = Facility._node_attributes
    _observation_type = Facility._observation_type
    _action_type = Facility._action_type
    get_graphs = Facility.get_graphs
    is_valid_action = Facility.is_valid_action


class Undrawn(Depots):
    draw_on = Problem.draw_on


class NoAction(Facility):
    _action_type = {}


class UnknownAttribute(Facility):
    _action_type = {**Facility._action_type, "client": Node(graph="clients", spec={"servd": False})}


class UnknownView(Facility):
    _action_type = {**Facility._action_type, "client": Node(graph="client")}


class NoView(Facility):
    _action_type = {**Facility._action_type, "client": Node()}


class WrongGraph(Facility):
    def get_graphs(self):
        return {"clients": [(0, 1)], "sites": self.sites}


class ForgottenNode(Facility):
    def get_graphs(self):
        clients = nx.Graph(self.near)
        clients.add_node(99)
        return {"clients": clients, "sites": self.sites}


class TextAttribute(Facility):
    def get_graphs(self):
        clients = nx.Graph(self.near)
        nx.set_node_attributes(clients, "near", "best")
        return {"clients": clients, "sites": self.sites}


class NotANumber(Facility):
    """Only late in an episode."""

    def get_graphs(self):
        if self.served.sum() > 3:
            self.sites.nodes[1]["away"] = float("nan")
        return super().get_graphs()


class NoReward(Facility):
    def step(self, action):
        observation, _, *rest = super().step(action)
        return observation, None, *rest


class Crashing(Facility):
    def is_valid_action(self, action):
        return self.served[action[0] + 12]


class SamplesInvalid(Facility):
    def sample_valid_action(self, rng=None):
        return np.array([0, 0])


class SmallSpace(Facility):
    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed, options=options)
        self.action_space = gym.spaces.MultiDiscrete([11, 4])
        return found


class OwnPooling(Facility):
    _observation_type = {
        "waiting": lagco.Graph(
            poolings=[lambda x: np.asarray(x).mean(axis=0)], graph="clients", spec={"served": False}
        )
    }


class NoSizes(Facility):
    size_option = None


class DrawsNothing(Depots):
    @classmethod
    def draw(cls, rng, size=None):
        return None


class NoObjective(Depots):
    def objective(self):
        return None


class Reversed(Depots):
    maximise = True


class MissingParameter(Depots):
    def is_complete(self):
        return int(self._open.sum()) == self.instance.params["k"]


class ArraysInParams(Depots):
    @classmethod
    def draw(cls, rng, size=None):
        return Instance("depots", "", 3, {}, {"where": rng.random(3)})


class OtherSolution(Depots):
    @classmethod
    def evaluate_solution(cls, instance, solution):
        return 1.0


class SeedIgnored(Depots):
    @classmethod
    def draw(cls, rng, size=None):
        return super().draw(np.random.default_rng(), size)


class EmptySweep(Depots):
    @classmethod
    def sweep(cls, instance, sweeps, seed):
        return References()


class InfiniteSweep(Depots):
    @classmethod
    def sweep(cls, instance, sweeps, seed):
        found = super().sweep(instance, 2, seed).sweeps
        return References(sweeps=replace(found, worst=float("inf")))


def misspelled():
    """A declaration that is refused where it is written."""
    return Attribute(type="binry")


PlainEnv = FacilityEnv
