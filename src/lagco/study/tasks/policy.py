"""Plain policies, and the values of the solver, on all instances of a data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lagco.evaluation import evaluate, solver_evaluation
from lagco.study.code import code_version
from lagco.study.scores import summary
from lagco.study.task import Task
from lagco.study.tasks.run import instance_columns
from lagco.study.worker import Context, Outcome


def policy_task(
    problem: str, data: Mapping[str, Any], policy: str, *, instances: int, episodes: int
) -> Task:
    """Task of testing a policy on all instances of a data set."""
    spec = {
        "problem": problem,
        **data,
        "policy": policy,
        "instances": instances,
        "episodes": episodes,
        "code": code_version(problem),
    }
    return Task("policy", f"{problem}-{policy}", spec, needs=(str(data["data"]),))


def do(context: Context) -> Outcome:
    """Test the policy."""
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
            progress=context.watched,
        )
    columns = [instance_columns(index, result) for index, result in enumerate(evaluation.results)]
    return {"instances": columns, "summary": summary(evaluation)}, {}
