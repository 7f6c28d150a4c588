"""Linear rankers beside the default agents on instances beyond the range of both trainings."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import lagco
from benchmarks.ablation.agents import trained
from benchmarks.ablation.records import ABLATION, Record, once
from benchmarks.first_episodes import drawn_graphs
from lagco.agents.shipped import default_agent
from lagco.instances import Instance
from lagco.problems import problem_class

#: where a linear ranker is not behind within the range, and sizes beyond it
PROBLEMS = ("cyber-path", "min-vertex", "max-cut")
SIZES = {"cyber-path": (30, 60), "min-vertex": (150, 400), "max-cut": (150, 300)}
SEED, COUNT, EPISODES = 20284, 10, 3


def instances_of(problem: str) -> dict[str, list[Instance]]:
    """Fresh instances by what they are called in the table."""
    cls = problem_class(problem)
    found = {
        f"{size}": [cls.generate(size, seed=SEED, index=index) for index in range(COUNT)]
        for size in SIZES[problem]
    }
    if problem == "max-cut":
        found["800 and 2000, as Gset's"] = [instance for _, _, instance in drawn_graphs(SEED)]
    return found


def measure(problem: str, work: Path) -> None:
    """Both rankers on all sizes."""
    larger = problem_class(problem).maximise
    made = {
        "agent": lambda: default_agent(problem),
        "linear": trained(problem, work, "linear", ranker_layers=0),
    }
    for size, instances in instances_of(problem).items():
        for name, make in made.items():
            key = f"sizes/{problem}/{size}/{name}"
            once(ABLATION, key, partial(_measured, make, instances, larger=larger))


def _measured(make: Any, instances: list[Instance], *, larger: bool) -> Record:
    """Objective of the best state of the first episode, and of all of them."""
    policy = make()
    began = time.process_time()
    found = lagco.evaluate(policy, instances, episodes=EPISODES, progress=False)
    seconds = time.process_time() - began
    return {
        "first": [result.first("objective_best") for result in found.results],
        "best": [result.best("objective_best", maximise=larger) for result in found.results],
        "seconds": round(seconds, 2),
    }
