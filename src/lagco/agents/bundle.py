"""A trained agent as a folder of plain files."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lagco.agents.agent import Agent
from lagco.agents.config import train_config
from lagco.agents.inference.perceptron import WIDTHS, AgentWeights, NetworkFactory
from lagco.agents.method import Method
from lagco.agents.registry import method_of
from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration, read_declaration
from lagco.core.problem import Problem
from lagco.embedding.encoder import NetworkClass
from lagco.errors import LagcoError, UnknownName, UsageError, suggest
from lagco.instances import Instance
from lagco.latent.files import load_space, save_space
from lagco.latent.space import LatentSpace
from lagco.problem_table import ENTRIES
from lagco.problems import AnyProblem, problem_class, registered_class
from lagco.store import (
    COUNT,
    MAX_WEIGHT,
    SHA256,
    TEXT,
    Described,
    Kind,
    Mismatch,
    array_of,
    check,
    object_of,
)

DESCRIPTION, WEIGHTS, SPACE = "agent.json", "agent.safetensors", "space"
#: file of a training run, which may not have ended with an agent
RUN = "run.json"
_PACKAGES = ("lagco", "torch", "stable-baselines3", "numpy")
_RULE = "rule:"


class BundleError(LagcoError):
    """A bundle cannot be read or does not fit; the message names the file."""


AGENT = Kind(
    format="lagco-agent",
    version=2,
    noun="the description of an agent",
    remedy="train the agent again with this lagco, or take another copy",
    error=BundleError,
    description=DESCRIPTION,
    tensors=WEIGHTS,
    largest=MAX_WEIGHT,
    schema=object_of(
        problem={"type": "string", "maxLength": 500},
        method={"type": "string", "maxLength": 500},
        config={
            "type": "object",
            "required": ["method", "features"],
            "properties": {
                "features": TEXT,
                "decoder": TEXT,
                "k": {"type": "integer"},
            },
        },
        facts={"type": "object"},
        training={
            "type": "object",
            "required": ["instances", "sizes", "steps"],
            "additionalProperties": False,
            "properties": {
                "instances": array_of(SHA256),
                "sizes": array_of(COUNT),
                "steps": COUNT,
                "validation": object_of(value={"type": "number"}, steps=COUNT),
            },
        },
        space={"anyOf": [{"type": "null"}, SHA256]},
    ),
)


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
    measured: Mapping[str, Any] | None = None,
) -> None:
    """Write a trained agent; the description comes last, so a folder with it is complete.

    Args:
        folder: of the bundle.
        problem: the problem class.
        method: the method of the agent.
        weights: arrays that decide, by name.
        space: latent space; None for a method without one.
        config: configuration of the training.
        facts: JSON values that deciding needs in addition to the weights.
        training: checksums and sizes of the instances, steps, and the best validation if any.
        measured: measurements of the training, such as seconds.
    """
    folder = Path(folder)
    content = {
        "problem": problem.name,
        "method": method.name,
        "config": dict(config),
        "facts": dict(facts),
        "training": dict(training),
        "space": None if space is None else save_space(space, folder / SPACE),
    }
    versions = {"python": platform.python_version()} | {p: _version(p) for p in _PACKAGES}
    AGENT.write(folder, content, weights, {**(measured or {}), "versions": versions})


def load(
    path: str | Path,
    problem: AnyProblem | None = None,
    instance: Instance | None = None,
    decoder: str | None = None,
    *,
    policy_class: NetworkFactory | None = None,
    encoder_class: NetworkClass | None = None,
) -> Agent:
    """Load a trained agent. Nothing in the files is executed, and nothing they name is imported.

    Args:
        path: folder of a bundle, or the name of a problem for the agent that comes with lagco;
            ``default`` for that of `problem`.
        problem: needed if the problem is not one of lagco's: ``module:Class``, the class, or
            what makes the environment.
        instance: any one of that problem, where it cannot draw instances itself and its actions
            contain objects; declarations are read off it.
        decoder: of proto-actions; by default the one the agent was trained with. Required if that
            is a rule, ``rule:module:function``, since a file must not name what is imported.
        policy_class: factory of the policy network, if the user gave one in training.
        encoder_class: factory of the encoder module, if the user gave one in pre-training.

    Raises:
        BundleError: the message names the file and what is wrong with it.
    """
    folder = folder_of(path, problem)
    file = _read(folder)
    content, source = file.content, str(file.path)
    name, config = content["problem"], content["config"]
    cls = registered_class(name, source) if problem is None else problem_class(problem)
    if cls.name != name:
        raise BundleError(f"{source}: for {name!r}, not for {cls.name!r}")
    chosen = config.get("decoder", "nearest") if decoder is None else decoder
    if decoder is None and chosen.startswith(_RULE):
        raise BundleError(
            f"{source}: the agent decides by {chosen!r}, and a file must not say what to import; "
            f"give decoder={chosen!r}"
        )
    method = method_of(content["method"])
    if method.latent != (content["space"] is not None):
        needs = "needs a" if method.latent else "has no"
        raise BundleError(f"{source}: {method.name} {needs} latent space; {AGENT.remedy}")
    space = None
    if method.latent:
        declaration = _declaration(cls, content, instance)
        space = load_space(folder / SPACE, declaration, content["space"], encoder_class)
    method.check(file.tensors, content["facts"], space)
    file.tensors.refuse_others()
    weights = AgentWeights(file.tensors)
    if policy_class is not None or f"policy.{WIDTHS}" in weights:
        from lagco.agents.learning.own_network import load_network  # brings torch

        try:
            weights.networks["policy"] = load_network(weights, "policy", policy_class)
        except UsageError as error:
            raise BundleError(f"{folder}: {error}") from error
    return Agent(cls, method, weights, _description(file), space).configured(decoder)


def folder_of(path: str | Path, problem: AnyProblem | None = None) -> Path:
    """Folder of a bundle; for a problem's name or ``default`` that of the shipped agent."""
    folder = Path(path)
    if folder.exists() or not isinstance(path, str):
        return folder
    from lagco.agents.shipped import FOLDER, shipped_problems

    if path == "default":
        if problem is None:
            raise UnknownName(
                "agent 'default': every problem has one of its own; give the name of the problem, "
                "such as 'tsp'"
            )
        path = problem_class(problem).name
    known = shipped_problems()
    if path in known:
        return FOLDER / path
    if path in ENTRIES:
        raise UnknownName(
            f"no agent for {path!r} comes with lagco, only for {', '.join(known)}; train one with "
            f"lagco train {path} --data DATA --out FOLDER, and load the folder"
        )
    raise UnknownName(f"{path}: no such folder, and {suggest('agent', path, known)}")


def read_description(folder: Path) -> dict[str, Any]:
    """The description of a bundle, checked."""
    return _description(_read(folder))


def _read(folder: Path) -> Described:
    """The files of a bundle but its latent space: method, configuration and facts are checked."""
    if (folder / RUN).exists() and not (folder / DESCRIPTION).exists():
        raise BundleError(
            f"{folder}: training has not finished; the same lagco train command continues it"
        )
    file = AGENT.read(folder)
    content = file.content
    try:
        method = method_of(content["method"])
        content["config"] = _checked_config(content["config"], method.name)
        check(content["facts"], method.facts_schema)
    except Mismatch as error:
        raise BundleError(f"{file.path}: facts, {error}; {AGENT.remedy}") from error
    except (LagcoError, TypeError) as error:
        raise BundleError(f"{file.path}: {error}; {AGENT.remedy}") from error
    return file


def _checked_config(config: Mapping[str, Any], method: str) -> dict[str, Any]:
    """The configuration as the method takes it."""
    if config["method"] != method:
        raise BundleError(f"the configuration is that of {config['method']!r}, not of {method!r}")
    decoder = config.get("decoder", "nearest")
    # what a rule names is not imported to check the rest
    plain = {"decoder": "nearest"} if decoder.startswith(_RULE) else {}
    checked = train_config(None, **{**config, **plain})
    return checked.as_dict() | {"decoder": decoder}


def _description(file: Described) -> dict[str, Any]:
    return {**file.content, "measured": file.measured, "sha256": file.checksum}


def _declaration(
    cls: type[Problem], description: Mapping[str, Any], instance: Instance | None
) -> Declaration | None:
    """The declarations of a problem, read off an instance; None if there is none."""
    if instance is None:
        if not cls.defines("draw"):
            return None
        instance = cls.generate(cls.default_size)
    env = cls(instance, features=description["config"]["features"])
    return read_declaration(env, env.graph_views())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
