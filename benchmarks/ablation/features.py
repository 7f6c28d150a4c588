"""Reinforcement alone: `soft-projection` trained with groups of its features taken away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.ablation.agents import instances_of
from benchmarks.ablation.encoders import encoder_of
from benchmarks.ablation.records import ABLATION, Record, measured, once
from lagco.agents.training.trainer import train
from lagco.core.problem import Problem
from lagco.core.spec import Graph
from lagco.embedding.encoder import Encoder
from lagco.instances import Instance, References
from lagco.problems import problem_class

PROBLEMS = ("tsp", "min-vertex", "max-cut")
STEPS, SEEDS, INSTANCES, TRAINING_SEED, SWEEPS, TESTED = 12_288, (42,), 20, 20283, 200, 10
#: attributes of actions that say what a short search or the past of the episode knows
AHEAD = {
    "tsp": ("to_centre", "nearest_left", "share_left"),
    "min-vertex": ("leaves", "lowest"),
    "max-cut": ("recent",),
}
GROUPS = ("all", "no embeddings", "no attributes", "no look ahead", "no groups", "paper")


def without(problem: type[Problem], group: str) -> type[Problem]:
    """A problem the agents of which do not see a group of features.

    - no attributes: actions are embeddings alone.
    - no look ahead: actions are without the attributes of `AHEAD`.
    - no groups: observations are without poolings over groups of nodes and numbers of the state.
    """

    if group not in ("no attributes", "no look ahead", "no groups"):
        return problem

    def observed(given: Mapping[str, Any]) -> dict[str, Any]:
        return {name: part for name, part in given.items() if _shared(name, part)}

    def acted(given: Mapping[str, Any]) -> dict[str, Any]:
        hidden = AHEAD[problem.name] if group == "no look ahead" else None
        return {name: _less(part, hidden) for name, part in given.items()}

    declared = "_observation_type" if group == "no groups" else "_action_type"
    less = observed if group == "no groups" else acted

    # problems declare anew with every instance, so what they assign is changed, not what they have
    def kept(self: Any) -> Any:
        return self.__dict__[declared]

    def keep(self: Any, given: Mapping[str, Any]) -> None:
        self.__dict__[declared] = less(given)

    changed = {declared: property(kept, keep), "__doc__": problem.__doc__}
    return type(problem.__name__, (problem,), changed)


def _shared(name: str, part: Any) -> bool:
    """Whether a part is of those that every observation has: a whole view, or its descriptors."""
    return "." in name or (isinstance(part, Graph) and not part.spec)


def _less(part: Any, hidden: tuple[str, ...] | None) -> Any:
    """A component of actions without some of its attributes; None: without any."""
    attributes = getattr(part, "attributes", None)
    if not attributes:
        return part
    kept = [] if hidden is None else [name for name in attributes if name not in hidden]
    return replace(part, attributes=kept)


@cache
def training_of(problem: str) -> list[Instance]:
    """Training instances with the sweeps that scale rewards, and what a teacher needs."""
    cls, found = problem_class(problem), []
    for index in range(INSTANCES):
        instance = cls.generate(None, seed=TRAINING_SEED, index=index)
        sweeps = cls.sweep(instance, SWEEPS, 0).sweeps
        solver = cls.solve(instance, 0).solver if cls.teacher == "solver" else None
        found.append(instance.with_references(References(sweeps=sweeps, solver=solver)))
    return found


def kept_encoder(
    kind: str, problem: str, seed: int, features: str, work: Path, instances: list[Instance]
) -> Encoder:
    """An encoder that is made once for all who share it."""
    folder = work / "encoders" / f"{problem}-{kind}-{features}-{seed}"
    if not (folder / "encoder.json").exists():
        encoder_of(kind, problem_class(problem), instances, seed, features).save(folder)
    return Encoder.load(folder)


def measure(problem: str, seed: int, work: Path) -> None:
    """All groups of a problem with one seed."""
    instances = training_of(problem)
    tests = instances_of(problem, work)[:TESTED]

    def made(group: str) -> Record:
        cls = without(problem_class(problem), group)
        features = "paper" if group == "paper" else "full"
        kind = "zero" if group == "no embeddings" else "gae"
        encoder = kept_encoder(kind, problem, seed, features, work, instances)
        folder = work / "features" / problem / f"{group.replace(' ', '-')}-{seed}"
        agent = train(
            cls, instances, folder, encoder=encoder, method="soft-projection", seed=seed,
            features=features, steps=STEPS, progress=False,
        )  # fmt: skip
        return measured(agent, tests)

    for group in GROUPS:
        once(ABLATION, f"features/{problem}/{group}/{seed}", partial(made, group))
