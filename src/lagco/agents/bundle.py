"""A trained agent as a folder of plain files."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from lagco.agents.agent import Agent
from lagco.agents.method import Method
from lagco.agents.network import perceptron
from lagco.agents.registry import method_of
from lagco.arrays import Array
from lagco.core.declaration import Declaration, read_declaration
from lagco.core.problem import Problem
from lagco.errors import LagcoError
from lagco.files import readable_json, sha256, write_atomically
from lagco.instances import Instance
from lagco.latent.files import load_space, save_space
from lagco.latent.space import LatentSpace
from lagco.problems import AnyProblem, problem_class, registered_class

FORMAT = "lagco-agent"
VERSION = 1
DESCRIPTION, WEIGHTS, SPACE = "agent.json", "agent.safetensors", "space"
_PACKAGES = ("lagco", "torch", "stable-baselines3", "sb3-contrib", "numpy")


class BundleError(LagcoError):
    """A bundle cannot be read or does not fit; the message names the file."""


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
    problem: AnyProblem | None = None,
    instance: Instance | None = None,
) -> Agent:
    """Load a trained agent. Nothing in the files is executed.

    Args:
        path: folder of a bundle.
        problem: needed if the problem is not one of lagco's: ``module:Class``, the class, or
            what makes the environment.
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
    if decoder != "nearest" and method.metric is not None:
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
