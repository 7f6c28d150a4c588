"""Episodes of the ledger's agents on unseen instances, drawn step by step."""

from __future__ import annotations

import io
from collections.abc import Sequence
from statistics import median
from typing import Any

from lagco.agents.agent import Agent
from lagco.agents.bundle import load
from lagco.core.pictures.files import rgb_array
from lagco.core.problem import Problem
from lagco.core.rewards.references import reference_value
from lagco.errors import LagcoError
from lagco.instances import Instance
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.report.blocks import Block, Film, Frame, Grid, Text
from lagco.report.reading import Study, listed
from lagco.results.numbers import significant
from lagco.rollout import snapshots
from lagco.study import Record

#: pictures of an episode at most, the size up to which instances are readable, colours of a picture
_FRAMES, _READABLE, _COLOURS = 8, 40, 48
_SEED = 42


def blocks(study: Study) -> Sequence[Block] | str:
    """One film per problem."""
    if not study.episodes:
        return "Drawing episodes was switched off."
    if not study.settings:
        return "The ledger holds no trained agents, so there is no episode to draw."
    setting = study.settings[0]
    films: list[Block] = []
    reasons: dict[str, list[str]] = {}
    for problem in study.problems_of(setting):
        found = _film(study, setting, problem)
        if isinstance(found, str):
            reasons.setdefault(found, []).append(problem)
        else:
            films.append(found)
    notes = [Text(f"{listed(names)}: {why}", "note") for why, names in reasons.items()]
    if not films:
        return notes
    caption = (
        "The agent with the best scores decides on an unseen instance. It always takes its mode; "
        f"up to {_FRAMES} states from the first to the last. Move the slider to step through an "
        "episode."
    )
    return [Grid(films, caption), *notes]


def _film(study: Study, setting: str, problem: str) -> Film | str:
    cls = _class(study, problem)
    if cls is None:
        return (
            "not one of lagco's problems, and nothing that a file names is imported; "
            f"lagco report --problem {study.spelled(problem)} draws its episodes."
        )
    record = _agent_record(study, setting, problem)
    if record is None:
        return "no trained agent is left in the folder, so there is no episode to draw."
    try:
        agent = load(study.ledger.folder(record), None if problem in ENTRIES else cls)
        index, instance = _instance(study, record)
        frames = _frames(agent, cls, instance)
    except Exception as error:  # whatever a user's problem raises concerns its own film alone
        return f"the episode could not be drawn ({type(error).__name__}: {error})."
    strategy, seed = record.spec["strategy"], record.spec["seed"]
    caption = (
        f"{agent.name}, trained on {strategy} instances with seed {seed}, on the unseen instance "
        f"{index} ({instance.name}, size {instance.size})."
    )
    return Film(problem, frames, caption)


def _class(study: Study, problem: str) -> type[Problem] | None:
    """The class of a problem if it is lagco's own or the user gave it."""
    if problem in ENTRIES:
        return problem_class(problem)
    spelled = study.spelled(problem)
    for given in study.problems:
        cls = problem_class(given)
        if spelled in (given, cls.name, f"{cls.__module__}:{cls.__qualname__}"):
            return cls
    return None


def _agent_record(study: Study, setting: str, problem: str) -> Record | None:
    """The first run, still in the folder, of the best method and strategy on unseen instances."""
    ranked = []
    for (name, method, strategy), row in study.rows[setting].items():
        if name == problem and row["main"] is not None:
            ranked.append((-row["main"]["iqm"], method, strategy))
    for _, method, strategy in sorted(ranked):
        for record in study.runs(setting)[problem, method, strategy]:
            if (study.ledger.folder(record) / "agent.json").exists():
                return record
    return None


def _instance(study: Study, record: Record) -> tuple[int, Instance]:
    """An unseen instance of middle size, or the closest to it that is still readable."""
    unseen = [
        row for row in record.result["instances"] if not row["seen"] and row["refused"] is None
    ]
    if not unseen:
        raise LagcoError("every instance was trained on or refused")
    wanted = min(float(median(row["size"] for row in unseen)), _READABLE)
    chosen = min(unseen, key=lambda row: (abs(row["size"] - wanted), row["index"]))
    return chosen["index"], study.ledger.data(record)[chosen["index"]]


def _frames(agent: Agent, cls: type[Problem], instance: Instance) -> list[Frame]:
    env = cls(instance, features=agent.features)
    episodes = snapshots(env, agent, _FRAMES, seed=_SEED)
    return [_frame(env, len(episode.actions), episode.info) for episode in episodes]


def _frame(env: Problem, step: int, info: dict[str, Any]) -> Frame:
    line = f"Step {step}: objective {significant(float(info['objective']), 4)}"
    if "reason" in info:
        parts = []
        if info["score"] is not None:
            parts.append(f"score {info['score']:.2f}")
        solver = reference_value(env.instance.references, "solver")
        if solver is not None:
            parts.append(f"solver {significant(float(solver), 4)}")
        line += "".join(f", {part}" for part in parts) + f". End: {info['reason']}."
    return Frame(_png(rgb_array(env.draw_on)), line)


def _png(pixels: Any) -> bytes:
    """A small file: a picture of few colours needs few colours."""
    from PIL import Image

    stream = io.BytesIO()
    image = Image.fromarray(pixels).quantize(_COLOURS, dither=Image.Dither.NONE)
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()
