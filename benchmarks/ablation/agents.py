"""The agents that come with lagco, beside what is left of them without their parts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lagco
from benchmarks.ablation.encoders import encoder_of
from benchmarks.ablation.policies import OneColumn, Rule, best_column, shuffled
from benchmarks.ablation.records import ABLATION, MEASURED, Record, measured, once
from benchmarks.default_agents import Advised
from benchmarks.train_default_agents import RECIPES, SEED, training_instances
from lagco.agents.shipped import default_agent
from lagco.agents.training.trainer import train
from lagco.instances import Instance
from lagco.problems import problem_class

#: fresh instances, and those on which a column is chosen
TESTS, VALIDATION = (20281, 20), (20282, 6)
SWEEPS = 1000
PROBLEMS = ("max-cut", "min-vertex", "cyber-path", "placement", "ospf", "traffic", "tsp")
#: columns of what a plan, or another search of the problem's own, says of a candidate
AHEAD = {
    "ospf": "planned,against_plan,promised,plan_distance",
    "placement": "planned,at_plan,promised,plan_distance",
    "max-cut": "planned,against_plan,promised,plan_distance",
    "min-vertex": "completed_behind,completed_best,own_behind,completed_share,votes,most_votes",
    "traffic": "far_gain,far_rank,best_far",
    "tsp": "priced_detour,price,share,priced_degree,start_share,pair.share,pair.priced",
}
SHUFFLES = (1, 2)
#: problems that suggest actions
SUGGESTING = ("ospf", "placement", "max-cut", "traffic")
PARTS = ("plain", "column", "shuffles", "linear", "plan", "embeddings")


def instances_of(problem: str, work: Path, given: tuple[int, int] = TESTS) -> list[Instance]:
    """Fresh instances of the paper's range with references, made once."""
    seed, count = given
    data = lagco.generate(
        problem, count, seed=seed, out=work / f"test-{seed}" / problem, sweeps=SWEEPS, workers=1,
        progress=False,
    )  # fmt: skip
    return list(data)


def trained(problem: str, work: Path, name: str, **changes: Any) -> Callable[[], Any]:
    """Trains an agent as the default one is, but for some settings; once."""

    def make() -> Any:
        instances = training_instances(problem)
        settings = {**RECIPES[problem].settings, **changes}
        cls, encoder = problem_class(problem), None
        if settings.pop("encoder", None) == "zero":
            encoder = encoder_of("zero", cls, instances, SEED, "full")
        return train(
            problem, instances, work / "agents" / problem / name, encoder=encoder, seed=SEED,
            method="taught-projection", progress=False, **settings,
        )  # fmt: skip

    return make


def rows_of(problem: str, part: str, work: Path) -> dict[str, Callable[[], Any]]:
    """Rows of a part by name, and what makes the policy of each."""
    if part == "linear":
        return {"linear": trained(problem, work, "linear", ranker_layers=0)}
    if part == "plan":
        dropped = AHEAD.get(problem)
        make = trained(problem, work, "no-plan", drop_columns=dropped)
        return {} if dropped is None else {"no plan": make}
    if part == "column":
        return {"column": partial(chosen_column, problem, work)}
    if part == "shuffles":
        agent = default_agent(problem)
        return {f"shuffled {number}": partial(shuffled, agent, number) for number in SHUFFLES}
    if part == "embeddings":
        return {"no embeddings": trained(problem, work, "no-embeddings", encoder="zero")}
    found: dict[str, Callable[[], Any]] = {
        "agent": lambda: default_agent(problem),
        "greedy": lambda: "greedy",
    }
    if problem_class(problem).defines("advise"):
        found["teacher"] = Advised
    if problem in SUGGESTING:
        found["rule"] = Rule
    return found


def chosen_column(problem: str, work: Path) -> OneColumn:
    """The rule of the column that does best on validation instances."""
    validation = instances_of(problem, work, VALIDATION)
    return best_column(problem, validation, MEASURED.get(problem, "gap"))


def measure(problem: str, part: str, work: Path) -> None:
    """The rows of a part that are missing."""

    def found(make: Callable[[], Any]) -> Record:
        began = time.process_time()
        policy = make()
        told = {"made_in": round(time.process_time() - began, 1)}
        told["by"] = getattr(policy, "name", str(policy))
        if name == "agent":
            told["sha256"] = policy.description["sha256"]
        return measured(policy, instances_of(problem, work), **told)

    for name, make in rows_of(problem, part, work).items():
        once(ABLATION, f"{problem}/{name}", partial(found, make))
