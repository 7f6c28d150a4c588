"""Trained agents: decisions, episodes and answers."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lagco.agents.inference.perceptron import perceptron, score_with
from lagco.agents.method import Actor, Method
from lagco.agents.team import Team
from lagco.arrays import Array
from lagco.core.declaring.declaration import read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.pooling import spelled_pooling
from lagco.core.problem import Problem
from lagco.core.spec import Function, Graph
from lagco.errors import LagcoError, UsageError
from lagco.instances import Instance
from lagco.latent.candidates import SeenColumns, ranker_on
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace
from lagco.results.described import SelfDescribing
from lagco.results.measures import improvement
from lagco.results.numbers import of_things
from lagco.rollout import Episode
from lagco.runtime.one_thread import one_thread

if TYPE_CHECKING:
    from lagco.agents.training.comparison import Comparison


@dataclass(frozen=True)
class Solution:
    """The best solution that an agent found for an instance.

    Attributes:
        objective: of the configuration.
        solution: the configuration, in the problem's own form.
        score: against the sweeps' best, None without that reference.
        gap: to the solver's value in percent, None without that reference.
        episodes: objectives of all episodes.
    """

    objective: float
    solution: Array
    score: float | None
    gap: float | None
    episodes: tuple[float | None, ...]


class Agent(SelfDescribing):
    """A trained agent.

    Attributes:
        description: content of ``agent.json``: configuration, facts, training data.
        problem: the problem class.
        method: the method it was trained with.
        name: the method's name, as shown in tables.
        weights: arrays of the policy and, if trained, of ranker and scorer, by name.
        comparison: with greedy and search, where `train` has just made one; else None.
    """

    comparison: Comparison | None = None

    def __init__(
        self,
        problem: type[Problem],
        method: Method,
        weights: Mapping[str, Array],
        description: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None = None,
    ) -> None:
        self.problem = problem
        self.method = method
        self.description = description
        self.name = method.name
        self.space = space
        self.weights = weights
        self._decoder = decoder
        self._actor: tuple[ContinuousEnv, Actor] | None = None

    def facts(self) -> dict[str, object]:
        """Method, problem, training data and decoder, for display."""
        training = self.description["training"]
        found: dict[str, object] = {"method": self.name, "problem": self.problem.name}
        if "steps" in training:
            instances = of_things(len(training["instances"]), "instances")
            found["trained"] = f"{of_things(training['steps'], 'steps')} on {instances}"
        if training.get("sizes"):
            found["sizes"] = f"{min(training['sizes'])} to {max(training['sizes'])}"
        decoder = self.description["config"].get("decoder")
        return found | ({"decoder": decoder} if self.method.metric is not None else {})

    def sees(self) -> dict[str, Any]:
        """Its inputs by name: attributes per view, poolings, and columns of candidates."""
        env = self.problem(self.problem.generate(self.problem.default_size), features=self.features)
        declared = read_declaration(env, env.graph_views())
        found: dict[str, Any] = {
            "nodes": {view: list(names) for view, names in declared.node_attributes.items()},
            "edges": {view: list(names) for view, names in declared.edge_attributes.items()},
            "observation": {n: _spelled(part) for n, part in declared.observation.items()},
        }
        if self.space is not None:
            found["actions"] = [spelled_pooling(pooling) for pooling in self.space.summary]
        columns = SeenColumns.from_facts(self.description["facts"])
        columns = columns or SeenColumns.of(self.problem, self.features)
        if "ranker.mean" in self.weights and columns is not None:
            found |= columns.described(self.problem)
        return found

    @property
    def features(self) -> str:
        """The feature set it was trained with."""
        return str(self.description["config"]["features"])

    @property
    def trained_on(self) -> frozenset[str]:
        """Checksums of its training instances."""
        return frozenset(self.description["training"]["instances"])

    def act(
        self, env: ContinuousEnv, rng: np.random.Generator | None = None, explore: bool = False
    ) -> Any:
        """A raw action for the present state of an environment; by default the mode."""
        env = cast("ContinuousEnv", env.unwrapped)
        if self._actor is None or self._actor[0] is not env:
            self._actor = (env, self.actor(env))
        return self._actor[1].act(rng or np.random.default_rng(0), explore)

    def team(self, envs: Sequence[ContinuousEnv]) -> Team:
        """The agent in several environments at once."""
        return Team([self.actor(env) for env in envs])

    def actor(self, env: ContinuousEnv) -> Actor:
        """Actor that decides in one environment, wrapped or not."""
        env = cast("ContinuousEnv", env.unwrapped)
        facts = self.description["facts"]
        return self.method.actor(env, self.weights, facts, self.space, self._decoder)

    @one_thread()
    def solve(self, instance: Instance | str | Path, episodes: int = 5, seed: int = 42) -> Solution:
        """Decide on an instance: the first episode takes the mode, the others explore."""
        env = self.problem(instance, features=self.features)
        best: tuple[float, Array] | None = None
        objectives: list[float | None] = []
        for number in range(episodes):
            episode = Episode(env, seed + number, explore=number > 0)
            env.rewards = env.is_feasible()  # else it is built up: only complete states count
            episode.run(self)
            value, solution = env.best_objective, env.best_solution
            objectives.append(value)
            if value is None or solution is None:
                continue
            if best is None or improvement(value, best[0], maximise=env.maximise) > 0:
                best = value, solution
        if best is None:
            raise LagcoError(f"{self.name} found no solution of {env.instance.name!r}")
        score, gap = env.score(best[0]), env.gap(best[0])
        return Solution(best[0], best[1], score, gap, tuple(objectives))

    def configured(self, decoder: str | None = None) -> Agent:
        """The same agent with that decoder, or with the one of its configuration."""
        config = self.description["config"]
        chosen = config.get("decoder", "nearest") if decoder is None else decoder
        if decoder is None and chosen == "ranked" and "ranker.mean" not in self.weights:
            chosen = "nearest"  # a ranker learns from the second round on
        if chosen == "nearest" or self.method.metric is None:
            return self
        return self.with_decoder(chosen, config.get("k", 10))

    def save(self, path: str | Path) -> None:
        """Write the agent to a folder, from which :func:`lagco.load` reads it."""
        from lagco.agents.bundle import save_bundle

        described = self.description
        save_bundle(
            path,
            self.problem,
            self.method,
            self.weights,
            self.space,
            config=described["config"],
            facts=described["facts"],
            training=described["training"],
            measured=described["measured"],
        )

    def export(self, path: str | Path, instance: Instance | None = None) -> None:
        """Write the agent for use without this library.

        Args:
            path: a file ``….onnx`` for the policy network alone, or a folder that holds everything
                that decides, for numpy alone.
            instance: any one of the problem, where that cannot draw instances; for a folder.

        Raises:
            UsageError: names what the folder could not do.
        """
        from lagco.agents.export import export_onnx, export_runtime

        if Path(path).suffix == ".onnx":
            export_onnx(self, path)
        else:
            export_runtime(self, path, instance)

    def with_decoder(self, decoder: str, k: int = 10) -> Agent:
        """The same agent with another decoder."""
        metric = self.method.metric
        if metric is None:
            raise UsageError(f"decoder={decoder!r}: {self.name} does not decode points")
        values, ranker = None, None
        if decoder == "ranked":
            if "ranker.mean" not in self.weights:
                raise UsageError(
                    "decoder='ranked': this agent was trained without a ranker; train one with "
                    "--method taught-projection"
                )
            # by name, so that the code version of other methods does not depend on the ranker
            inference = importlib.import_module("lagco.agents.inference.ranker")
            made = inference.make_ranker(self.weights)
            columns = SeenColumns.from_facts(self.description["facts"])
            ranker = ranker_on(made, self.problem, columns, self.features)
        if decoder == "scored":
            if "scorer.0.weight" not in self.weights:
                raise UsageError(
                    "decoder='scored': this agent was trained without a scorer; train it with "
                    "--decoder scored"
                )
            values = partial(score_with, perceptron(self.weights, "scorer"))
        temperature = float(self.description["config"].get("temperature", 1.0))
        chosen = Decoder(decoder, k, metric, values, ranker, temperature)
        return Agent(self.problem, self.method, self.weights, self.description, self.space, chosen)


def _spelled(part: Graph | Function) -> str:
    """A part of an observation: its poolings and the elements they pool, or how many numbers."""
    if isinstance(part, Function):
        return f"{part.size} numbers" if part.size > 1 else "a number"
    poolings = ", ".join(spelled_pooling(pooling) for pooling in part.poolings)
    where = " and ".join(f"{name} = {value}" for name, value in part.spec.items())
    return f"{poolings} of nodes with {where}" if where else poolings
