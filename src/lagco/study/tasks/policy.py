"""Plain policies, values of the solver, and searches at equal time, on all instances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lagco.commands.evaluate import solver_evaluation
from lagco.core.env import Previews
from lagco.policies import POLICIES, plain_policy
from lagco.problems import problem_class
from lagco.study.running.code import code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.settings import TIMED
from lagco.study.task import Task
from lagco.study.tasks.run import result_of, tested_policy

#: what tests of policies call, and what searches at equal time do
_TESTS = ("lagco.commands.evaluate", "lagco.policies")
_SEARCHES = ("lagco.study.running.equal_time", "lagco.solving", *_TESTS)


def policy_task(
    problem: str,
    data: Mapping[str, Any],
    policy: str,
    *,
    instances: int,
    episodes: int,
    pace: Task | None = None,
) -> Task:
    """Task of testing a policy on all instances of a data set.

    Args:
        problem: as the user typed it.
        data: entries that name the data set.
        policy: its name.
        instances: of the data set.
        episodes: per instance.
        pace: run whose test time per instance a search at equal time gets.
    """
    spec = {
        "problem": problem,
        **data,
        "policy": policy,
        "instances": instances,
        "episodes": episodes,
        "code": code_version(problem, _SEARCHES if policy in TIMED else _TESTS),
    }
    needs = [str(data["data"])]
    if policy in TIMED:
        assert pace is not None
        spec |= {"pace": pace.key, "paced_by": pace.spec["config"]["method"]}
        needs.append(pace.key)
    return Task("policy", f"{problem}-{policy}", spec, tuple(needs))


def do(context: Context) -> Outcome:
    """Test the policy."""
    spec = context.spec
    cls = problem_class(spec["problem"])
    if spec["policy"] == "greedy" and not issubclass(cls, Previews):
        return {"instances": [], "summary": None}, {}
    if spec["policy"] in POLICIES:
        tested, seconds = tested_policy(context, plain_policy(spec["policy"]))
        return tested, {"evaluate_s": round(sum(seconds), 2)}
    if spec["policy"] in TIMED:
        from lagco.study.running.equal_time import searched_in_time

        return searched_in_time(context)
    data, start = context.ledger.data(context.task), cls.compared_start
    evaluation = solver_evaluation(data, spec["problem"])
    if evaluation is None:
        return {"instances": [], "summary": None}, {}
    started = None if start is None else solver_evaluation(data, spec["problem"], start)
    return result_of(evaluation, started), {}
