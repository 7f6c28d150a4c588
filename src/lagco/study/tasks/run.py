"""Runs: an agent is trained on some instances and tested on all."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.agents.config import TrainConfig, train_config
from lagco.evaluation import evaluate
from lagco.results.evaluation import InstanceResult
from lagco.results.measures import MEASURES
from lagco.study.code import code_version
from lagco.study.ledger import rounded, significant
from lagco.study.scores import summary
from lagco.study.task import Task
from lagco.study.tasks.data import chosen
from lagco.study.tasks.encoder import load_encoder
from lagco.study.worker import Context, Outcome

if TYPE_CHECKING:
    from lagco.agents.agent import Agent

#: points of a learning curve that a record keeps at most
_POINTS = 64
_PER_EPISODE = ("steps", *MEASURES, "objective", "objective_best")


def agent_task(
    kind: str,
    problem: str,
    data: Mapping[str, Any],
    train: Sequence[int],
    config: TrainConfig,
    encoder: Task | None,
    **more: Any,
) -> Task:
    """Task of a kind that trains an agent.

    Args:
        kind: ``run`` or ``training``.
        problem: as the user typed it.
        data: entries that name the data set.
        train: indices of the training instances.
        config: of the training.
        encoder: task that makes the encoder; None for a method without one.
        more: further entries of the specification.
    """
    spec = {
        "problem": problem,
        **data,
        "strategy": config.strategy,
        "seed": config.seed,
        "train": list(train),
        "config": config.as_dict(),
        "encoder": None if encoder is None else encoder.key,
        "code": code_version(problem, config.method),
        **more,
    }
    needs = (str(data["data"]), *([] if encoder is None else [encoder.key]))
    name = f"{problem}-{config.method}-{config.strategy}-{config.seed}"
    return Task(kind, name, spec, needs)


def do(context: Context) -> Outcome:
    """Train the agent and test it on every instance, seen or not."""
    spec = context.spec
    agent, rows = train_agent(context)
    began = time.perf_counter()
    evaluation = evaluate(
        agent,
        context.ledger.data(context.task),
        episodes=spec["episodes"],
        problem=spec["problem"],
        progress=context.watched,
    )
    evaluate_s = time.perf_counter() - began
    training = agent.description["training"]
    train_s = float(rows[-1]["seconds"])
    result = {
        "instances": [instance_columns(index, r) for index, r in enumerate(evaluation.results)],
        "summary": summary(evaluation),
        "curve": _curve(rows),
        "training": {name: training[name] for name in ("steps", "instances", "sizes")},
        "weights": agent.description["sha256"],
    }
    measured = {
        "train_s": round(train_s, 2),
        "evaluate_s": round(evaluate_s, 2),
        "steps_per_s": significant(training["steps"] / train_s if train_s else None, 4),
        "curve_s": [float(row["seconds"]) for row in _thinned(rows)],
    }
    return result, measured


def train_agent(context: Context) -> tuple[Agent, list[dict[str, str]]]:
    """Agent of a task, trained or trained on, and the rows of its learning curve."""
    from lagco.agents.training import CURVE, train

    spec = context.spec
    data = context.ledger.data(context.task)
    agent = train(
        spec["problem"],
        chosen(data, spec["train"]),
        context.folder,
        config=train_config(**spec["config"]),
        encoder=load_encoder(context.ledger, spec["encoder"]),
        pad_to=data,
        report=context.report,
    )
    return agent, list(csv.DictReader(io.StringIO((context.folder / CURVE).read_text())))


def instance_columns(index: int, result: InstanceResult) -> dict[str, Any]:
    """Entry of a record about one instance: a list over the test episodes per figure."""
    columns: dict[str, Any] = {
        "index": index,
        "size": result.size,
        "seen": result.seen,
        "refused": result.refused,
    }
    for name in _PER_EPISODE:
        columns[name] = rounded([getattr(episode, name) for episode in result.episodes])
    return columns


def _thinned(rows: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    if len(rows) <= _POINTS:
        return list(rows)
    places = np.unique(np.linspace(0, len(rows) - 1, _POINTS).round().astype(int))
    return [rows[place] for place in places]


def _curve(rows: Sequence[Mapping[str, str]]) -> dict[str, list[float | None]]:
    names = ("steps", "episodes", "score", "score_best", "return", "length")
    thinned = _thinned(rows)
    return {
        name: [float(row[name]) if row[name] != "" else None for row in thinned] for name in names
    }
