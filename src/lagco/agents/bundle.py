"""A trained agent as a folder of plain files, and what it can do."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from lagco.agents.method import Actor, Method
from lagco.agents.methods import method_of
from lagco.agents.network import perceptron
from lagco.agents.scorer import score_with
from lagco.agents.team import Team
from lagco.arrays import Array
from lagco.core.declaration import Declaration, read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.files import readable_json, sha256, write_atomically
from lagco.instances import Instance
from lagco.latent.decoder import Decoder
from lagco.latent.files import load_space, save_space
from lagco.latent.space import LatentSpace
from lagco.problems import problem_class, registered_class
from lagco.search import Metric

FORMAT = "lagco-agent"
VERSION = 1
DESCRIPTION, WEIGHTS, SPACE = "agent.json", "agent.safetensors", "space"
_PACKAGES = ("lagco", "torch", "stable-baselines3", "sb3-contrib", "numpy")


class BundleError(LagcoError):
    """A bundle cannot be read or does not fit; the message names the file."""


@dataclass(frozen=True)
class Solution:
    """The best that an agent found for an instance.

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


class Agent:
    """A trained agent.

    Attributes:
        description: what it is and what it was trained on (``agent.json``).
        problem: the problem class it decides on.
        method: how it decides.
        name: the method's name, as tables show it.
        weights: the arrays that decide.
    """

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
        """What decides in one environment, wrapped or not."""
        env = cast("ContinuousEnv", env.unwrapped)
        facts = self.description["facts"]
        return self.method.actor(env, self.weights, facts, self.space, self._decoder)

    def solve(self, instance: Instance | str | Path, episodes: int = 5, seed: int = 42) -> Solution:
        """Decide on an instance: the first episode takes the mode, the others explore."""
        env = self.problem(instance, features=self.features)
        best: tuple[float, Array] | None = None
        objectives: list[float | None] = []
        for number in range(episodes):
            env.reset(seed=seed + number)
            rng = np.random.default_rng([seed, number])
            ended = False
            while not ended:
                action = self.act(env, rng, explore=number > 0)
                *_, terminated, truncated, info = env.step(action)
                ended = terminated or truncated
            value, solution = info["objective_best"], env.best_solution
            objectives.append(value)
            if value is not None and solution is not None:
                better = best is None or (value > best[0]) == self.problem.maximise
                if better and (best is None or value != best[0]):
                    best = value, solution
        if best is None:
            raise LagcoError(f"{self.name} found no solution of {env.instance.name!r}")
        score, gap = env.score(best[0]), env.gap(best[0])
        return Solution(best[0], best[1], score, gap, tuple(objectives))

    def with_decoder(self, decoder: str, k: int = 10) -> Agent:
        """The same agent with another decoder."""
        if self.name not in ("projection", "soft-projection"):
            raise UsageError(f"decoder={decoder!r}: {self.name} does not decode points")
        values = None
        if decoder == "scored":
            if "scorer.0.weight" not in self.weights:
                raise UsageError(
                    "decoder='scored': this agent was trained without a scorer; train it with "
                    "--decoder scored"
                )
            values = partial(score_with, perceptron(self.weights, "scorer"))
        metric: Metric = "inner" if self.name == "soft-projection" else "cosine"
        chosen = Decoder(decoder, k, metric, values)
        return Agent(self.problem, self.method, self.weights, self.description, self.space, chosen)


def save_bundle(
    folder: str | Path,
    problem: type[Problem],
    method: Method,
    weights: Mapping[str, Array],
    space: LatentSpace | None,
    *,
    config: Mapping[str, Any],
    facts: Mapping[str, Any],
    training: Mapping[str, Any],
) -> None:
    """Write a trained agent; the description comes last, so a folder with it is complete."""
    folder = Path(folder)
    if space is not None:
        save_space(space, folder / SPACE)
    content = save_arrays({k: np.ascontiguousarray(v) for k, v in sorted(weights.items())})
    write_atomically(folder / WEIGHTS, content)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "problem": problem.name,
        "method": method.name,
        "config": dict(config),
        "facts": dict(facts),
        "training": dict(training),
        "features": None if space is None else space.encoder.layout_hash,
        "versions": {"python": platform.python_version()} | {p: _version(p) for p in _PACKAGES},
        "sha256": sha256(content),
    }
    write_atomically(folder / DESCRIPTION, readable_json(description))


def load(
    path: str | Path,
    problem: str | type[Problem] | None = None,
    instance: Instance | None = None,
) -> Agent:
    """Load a trained agent. Nothing in the files is executed.

    Args:
        path: folder of a bundle.
        problem: needed if the problem is not one of lagco's: ``module:Class`` or the class.
        instance: any one of that problem, where it cannot draw instances itself and its actions
            contain objects; declarations are read off it.

    Raises:
        BundleError: the message names the file and what is wrong with it.
    """
    folder = Path(path)
    description = read_description(folder)
    source = str(folder / DESCRIPTION)
    cls = (
        registered_class(str(description["problem"]), source)
        if problem is None
        else problem_class(problem)
    )
    if cls.name != description["problem"]:
        raise BundleError(f"{source}: for {description['problem']!r}, not for {cls.name!r}")
    weights_path = folder / WEIGHTS
    try:
        content = weights_path.read_bytes()
        if sha256(content) != description["sha256"]:
            raise BundleError(f"{weights_path}: damaged, it does not match its checksum")
        weights = load_arrays(content)
    except OSError as error:
        raise BundleError(f"{weights_path}: cannot be read ({error})") from error
    except (SafetensorError, ValueError, TypeError) as error:
        raise BundleError(f"{weights_path}: not a safetensors file ({error})") from error
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise BundleError(f"{weights_path}: {name!r} holds values that are no numbers")
    method = method_of(str(description["method"]))
    try:
        for network in {name.split(".")[0] for name in weights if name.endswith(".weight")}:
            perceptron(weights, network)
    except LagcoError as error:
        raise BundleError(f"{weights_path}: {error}") from error
    space = None
    if method.latent:
        space = load_space(folder / SPACE, _declaration(cls, description, instance))
    agent = Agent(cls, method, weights, description, space)
    decoder = str(description["config"].get("decoder", "nearest"))
    if decoder != "nearest" and agent.name in ("projection", "soft-projection"):
        agent = agent.with_decoder(decoder, int(description["config"].get("k", 10)))
    return agent


def read_description(folder: Path) -> dict[str, Any]:
    """The description of a bundle, checked."""
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_bytes())
    except OSError as error:
        raise BundleError(f"{folder}: not a bundle ({error})") from error
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{path}: damaged, not JSON ({error})") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise BundleError(f"{path}: not the description of an agent (no format {FORMAT!r})")
    if description.get("version") != VERSION:
        raise BundleError(
            f"{path}: bundle version {description.get('version')!r} is not supported, this lagco "
            f"reads version {VERSION}"
        )
    needed = {"problem": str, "method": str, "config": dict, "facts": dict, "training": dict}
    for name, kind in (needed | {"sha256": str}).items():
        if not isinstance(description.get(name), kind):
            raise BundleError(f"{path}: {name!r} is missing or not a {kind.__name__}")
    return description


def _declaration(
    cls: type[Problem], description: Mapping[str, Any], instance: Instance | None
) -> Declaration | None:
    """The declarations of a problem, read off an instance; None if there is none."""
    if instance is None:
        if not cls.defines("draw"):
            return None
        instance = cls.generate(cls.default_size)
    env = cls(instance, features=str(description["config"].get("features", "full")))
    return read_declaration(env, env.graph_views())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
