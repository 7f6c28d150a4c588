"""The generalisation study: train on few instances, test on all the others."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lagco.agents.config import train_config
from lagco.agents.training import CURVE, train
from lagco.evaluation import evaluate, solver_evaluation
from lagco.results.evaluation import InstanceResult
from lagco.results.measures import MEASURES
from lagco.study.ledger import rounded, significant
from lagco.study.making import chosen, load_encoder
from lagco.study.scores import summary
from lagco.study.work import Context, Outcome

#: points of a learning curve that a record keeps at most
_POINTS = 64
_PER_EPISODE = ("steps", *MEASURES, "objective", "objective_best")


def train_and_test(context: Context) -> Outcome:
    """Do a `run` task: train on some instances, test on all, keep seen and unseen apart."""
    spec = context.spec
    data = context.ledger.data(context.task)
    config = train_config(**spec["config"])
    agent = train(
        spec["problem"],
        chosen(data, spec["train"]),
        context.folder,
        config=config,
        encoder=load_encoder(context.ledger, spec["encoder"]),
        pad_to=data,
        report=context.report,
        keep_checkpoint=False,
    )
    began = time.perf_counter()
    evaluation = evaluate(
        agent,
        data,
        episodes=spec["episodes"],
        problem=spec["problem"],
        progress=_watched(context),
    )
    evaluate_s = time.perf_counter() - began
    rows = list(csv.DictReader(io.StringIO((context.folder / CURVE).read_text())))
    train_s = _seconds(rows)
    training = agent.description["training"]
    result = {
        "instances": [_columns(index, r) for index, r in enumerate(evaluation.results)],
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


def test_policy(context: Context) -> Outcome:
    """Do a `policy` task: a plain policy, or what the solver reached, on all instances."""
    spec = context.spec
    data = context.ledger.data(context.task)
    if spec["policy"] == "solver":
        evaluation = solver_evaluation(data, spec["problem"])
        if evaluation is None:
            return {"instances": [], "summary": None}, {}
    else:
        evaluation = evaluate(
            spec["policy"],
            data,
            episodes=spec["episodes"],
            problem=spec["problem"],
            progress=_watched(context),
        )
    columns = [_columns(index, result) for index, result in enumerate(evaluation.results)]
    return {"instances": columns, "summary": summary(evaluation)}, {}


def _watched(context: Context) -> Callable[[Any], Any]:
    def progress(instances: Any) -> Any:
        for instance in instances:
            context.report({})
            yield instance

    return progress


def _columns(index: int, result: InstanceResult) -> dict[str, Any]:
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


def _seconds(rows: Sequence[Mapping[str, str]]) -> float:
    """Time of training over all sessions: the clock starts anew where a run was resumed."""
    total = last = 0.0
    for row in rows:
        now = float(row["seconds"])
        total += now - last if now >= last else now
        last = now
    return total
