"""Trials of a search for hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.agents.config import TrainConfig
from lagco.commands.evaluate import evaluate
from lagco.errors import UsageError
from lagco.study.results.scores import summary
from lagco.study.running.code import TRAINING, code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.data import chosen
from lagco.study.tasks.run import train_agent


def trial_task(
    problem: str,
    data: Mapping[str, Any],
    config: TrainConfig,
    encoder: Task | None,
    *,
    space: str,
    params: Mapping[str, Any],
    train: Sequence[int],
    validation: Sequence[int],
    episodes: int,
    measure: str,
) -> Task:
    """Task of training with chosen parameters and judging them on validation instances."""
    spec = {
        "problem": problem,
        **data,
        "space": space,
        "params": dict(params),
        "config": config.as_dict(),
        "encoder": None if encoder is None else encoder.key,
        "train": list(train),
        "validation": list(validation),
        "episodes": episodes,
        "measure": measure,
        "code": code_version(problem, TRAINING, config.method),
    }
    needs = (str(data["data"]), *([] if encoder is None else [encoder.key]))
    return Task("trial", f"{problem}-{space}-{config.features}", spec, needs)


def do(context: Context) -> Outcome:
    """Train with the chosen parameters, test on the validation instances."""
    spec = context.spec
    data = context.ledger.data(context.task)  # damaged data is no fault of the choice
    try:
        agent, _ = train_agent(context)
    except (UsageError, FloatingPointError, ValueError) as error:  # a choice that cannot work
        return {"value": None, "summary": None, "error": str(error)}, {}
    evaluation = evaluate(
        agent,
        chosen(data, spec["validation"]),
        episodes=spec["episodes"],
        problem=spec["problem"],
        progress=False,
    )
    found = summary(evaluation)
    value = found["unseen"][spec["measure"]]["best"]
    return {"value": value, "summary": found, "error": None}, {}
