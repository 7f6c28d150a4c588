"""Results of searches for hyper-parameters: the best trial, tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.commands.evaluate import evaluate
from lagco.errors import LagcoError
from lagco.study.planning.search_space import SearchSpace
from lagco.study.results.scores import summary
from lagco.study.running.code import TRAINING, code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.data import chosen


def tune_task(
    problem: str,
    data: Mapping[str, Any],
    space: SearchSpace,
    trials: Sequence[Mapping[str, Any]],
    *,
    features: str,
    test: Sequence[int],
    **settings: Any,
) -> Task:
    """Task of testing the best of some trials on the instances that none of them saw.

    Args:
        problem: as the user typed it.
        data: entries that name the data set.
        space: that was searched.
        trials: ``number``, ``params``, ``key`` and ``value`` of each.
        features: feature set.
        test: indices of the test instances.
        settings: further entries of the specification, by which the search went.
    """
    spec = {
        "problem": problem,
        **data,
        "space": space.name,
        "method": space.method,
        "features": features,
        "domains": dict(space.domains),
        "trials": list(trials),
        "test": list(test),
        **settings,
        "code": code_version(problem, TRAINING, space.method),
    }
    needs = tuple(sorted({str(trial["key"]) for trial in trials}))
    return Task("tune", f"{problem}-{space.name}-{features}", spec, needs)


def do(context: Context) -> Outcome:
    """Test the agent of the best trial."""
    from lagco.agents.bundle import load

    spec = context.spec
    known = [trial for trial in spec["trials"] if trial["value"] is not None]
    if not known:
        raise LagcoError(f"{context.task.name}: no trial worked; see the records of the trials")
    best = max(known, key=lambda trial: (trial["value"], -trial["number"]))
    trial = context.ledger.find("trial", best["key"])
    own = spec["problem"] if ":" in spec["problem"] else None
    agent = load(context.ledger.folder(trial), own)
    data = context.ledger.data(context.task)
    evaluation = evaluate(
        agent,
        chosen(data, spec["test"]),
        episodes=spec["episodes"],
        problem=spec["problem"],
        progress=False,
    )
    return {"trials": list(spec["trials"]), "best": {**best, "test": summary(evaluation)}}, {}
