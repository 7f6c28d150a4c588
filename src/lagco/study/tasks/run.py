"""Runs: an agent is trained on some instances and tested on all."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.agents.config import TrainConfig, train_config
from lagco.commands.evaluate import evaluate
from lagco.problems import problem_class
from lagco.results.evaluation import Evaluation, InstanceResult
from lagco.results.measures import MEASURES, RETURN, START_SCORE
from lagco.study.records.ledger import rounded, significant
from lagco.study.results.scores import summary
from lagco.study.running.code import TRAINING, code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.data import chosen
from lagco.study.tasks.encoder import load_encoder

if TYPE_CHECKING:
    from lagco.agents.agent import Agent

#: points of a learning curve that a record keeps at most
_POINTS = 64
_PER_EPISODE = ("steps", "objective", "objective_best")


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
        "code": code_version(problem, TRAINING, config.method),
        **more,
    }
    needs = (str(data["data"]), *([] if encoder is None else [encoder.key]))
    name = f"{problem}-{config.method}-{config.strategy}-{config.seed}"
    return Task(kind, name, spec, needs)


def do(context: Context) -> Outcome:
    """Train the agent and test it on every instance, seen or not."""
    began = time.process_time()
    agent, rows = train_agent(context)
    train_cpu_s = time.process_time() - began
    tested, seconds = tested_policy(context, agent)
    training = agent.description["training"]
    train_s = float(rows[-1]["seconds"])
    result = {
        **tested,
        "curve": _curve(rows),
        "training": {name: training[name] for name in ("steps", "instances", "sizes")},
        "weights": agent.description["sha256"],
    }
    measured = {
        "train_s": round(train_s, 2),
        "train_cpu_s": round(train_cpu_s, 2),
        "evaluate_s": round(sum(seconds), 2),
        "instance_s": rounded(seconds, 4),
        "steps_per_s": significant(training["steps"] / train_s if train_s else None, 4),
        "curve_s": [float(row["seconds"]) for row in _thinned(rows)],
    }
    return result, measured


def train_agent(context: Context) -> tuple[Agent, list[dict[str, str]]]:
    """Agent of a task, trained or trained on, and the rows of its learning curve."""
    from lagco.agents.training.trainer import CURVE, train

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
        progress=False,
        keep_checkpoint=False,
    )
    return agent, list(csv.DictReader(io.StringIO((context.folder / CURVE).read_text())))


def tested_policy(context: Context, policy: Any) -> tuple[dict[str, Any], list[float]]:
    """Results of a policy on all instances of the data, and the seconds that each took.

    Where the problem names a start to compare from, episodes from there are tested too.
    """
    spec, data, seconds = context.spec, context.ledger.data(context.task), []

    def timed(instances: Iterable[Any]) -> Iterator[Any]:
        for instance in context.watched(instances):
            began = time.perf_counter()
            yield instance
            seconds.append(time.perf_counter() - began)

    arguments = {"episodes": spec["episodes"], "problem": spec["problem"], "progress": False}
    test = partial(evaluate, policy, data, **arguments)
    evaluation = test(each=timed)
    start = problem_class(spec["problem"]).compared_start
    started = None if start is None else test(start=start, each=context.watched)
    return result_of(evaluation, started), seconds


def result_of(evaluation: Evaluation, started: Evaluation | None = None) -> dict[str, Any]:
    """Entries of a record about the tests of a policy.

    Args:
        evaluation: from the problem's usual start.
        started: from its `compared_start`, where it has one.
    """
    columns = [instance_columns(index, r) for index, r in enumerate(evaluation.results)]
    for entry, result in zip(columns, () if started is None else started.results, strict=False):
        entry["measures"].append(START_SCORE)
        entry[START_SCORE] = rounded([e.solver_score_best for e in result.episodes])
    return {"instances": columns, "summary": summary(evaluation)}


def instance_columns(index: int, result: InstanceResult) -> dict[str, Any]:
    """Entry of a record about one instance: a list over the test episodes per figure."""
    columns: dict[str, Any] = {
        "index": index,
        "size": result.size,
        "seen": result.seen,
        "refused": result.refused,
        "measures": list(result.measures),
    }
    returned = [RETURN] if RETURN in result.measures else []
    for name in (*_PER_EPISODE, *MEASURES, *returned):
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
