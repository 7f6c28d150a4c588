"""Train the live agents that come with lagco.

    python -m benchmarks.train_live_agents [--problems ospf,traffic,placement]

Every agent imitates a search that previews all moves, on synthetic days of random networks and
clouds. How many moves it previews itself is chosen on validation days, at equal numbers of
previews, or of states where previews cost little.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.rescheduling import ONLY
from benchmarks.sparse_networks import sparse_network
from lagco.instances import Instance
from lagco.live import live
from lagco.live.agents import FOLDER, LiveAgent, days, train_live_agent
from lagco.problems import problem_class
from lagco.problems.placement import Placement

SEED = 7
#: previews of a decision in validation
PREVIEWS = 240
#: decisions of a validation day
ROUNDS = 8


@dataclass(frozen=True)
class Recipe:
    """Training of the live agent of one problem.

    Attributes:
        instances: number of networks to train on.
        sizes: smallest and largest of them.
        sparse: whether every other one is as sparse as real networks are, and demands all pairs.
        validation: number of networks to choose on.
        changes: most changes of a decision in validation.
        proposals: numbers of moves to preview from a state that are tried.
        turns: states of a decision in validation; by default so many that previews are equal.
        settings: of the training.
    """

    instances: int
    sizes: tuple[int, int]
    sparse: bool = False
    validation: int = 8
    changes: int = 3
    proposals: tuple[int, ...] = (8, 12, 16, 24)
    turns: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


RECIPES = {
    "ospf": Recipe(120, (10, 40), sparse=True),
    "traffic": Recipe(80, (10, 30)),
    "placement": Recipe(
        48,
        (40, 160),
        changes=10,
        proposals=(8, 24, 64, 128),  # previews cost next to nothing
        turns=40,
        settings={"rounds": 5, "budgets": (2, 3, 5, 10, 10), "width": 3, "steps": 800},
    ),
}


def networks(problem: str, recipe: Recipe, count: int, seed: int) -> list[Instance]:
    """Random instances of a recipe."""
    cls, rng = problem_class(problem), np.random.default_rng([seed, 3])
    found = []
    for index in range(count):
        size = int(rng.integers(*recipe.sizes, endpoint=True))
        if problem == Placement.name:
            found.append(cloud(size, seed, index, rng))
        elif recipe.sparse and index % 2:
            links, share = rng.uniform(1.4, 2.2), rng.choice([0.3, 1.0])
            found.append(sparse_network(size, seed + 1000 * index, links, share))
        else:
            found.append(cls.generate(size, seed=seed, index=index))
    return found


def cloud(size: int, seed: int, index: int, rng: np.random.Generator) -> Instance:
    """A cluster in use whose fragments count; every third time a cloud with all other aims."""
    if index % 3 == 2:
        return Placement.generate(size, seed=seed, index=index)
    drawn = Placement.generate(size, seed=seed, index=index, load=rng.uniform(0.8, 0.95))
    return Placement.with_aims(drawn, ONLY)


def validated(agent: LiveAgent, problem: str, recipe: Recipe) -> tuple[LiveAgent, float]:
    """The agent with the best number of proposals, and its mean over that of greedy."""
    cls, best = problem_class(problem), None
    instances = networks(problem, recipe, recipe.validation, SEED + 1)
    for proposals in recipe.proposals:
        tried = LiveAgent(cls, agent.scorer, proposals, agent.training)
        means = []
        for timeline in days(cls, instances, SEED + 1):
            result = live(
                timeline,
                problem=problem,
                controllers="greedy,agent",
                agent=tried,
                turns=recipe.turns or PREVIEWS // proposals,
                max_changes=recipe.changes,
                rounds=ROUNDS,
                progress=False,
            )
            by = {row.by: row.mean for row in result.table()}
            ratio = by["agent"] / by["greedy"]
            means.append(1.0 / ratio if cls.maximise else ratio)
        mean = float(np.mean(means))
        print(f"{problem}: {proposals} proposals, {mean:.4f} of greedy", flush=True)
        if best is None or mean < best[1]:
            best = tried, mean
    assert best is not None
    return best


def make(problem: str) -> None:
    """Train the live agent of a problem and put it into the package."""
    began, recipe = time.process_time(), RECIPES[problem]
    cls = problem_class(problem)
    timelines = days(cls, networks(problem, recipe, recipe.instances, SEED), SEED)
    agent = train_live_agent(problem, timelines, seed=SEED, report=print, **recipe.settings)
    agent, _ = validated(agent, problem, recipe)
    agent.save(FOLDER / problem)
    print(f"{problem}: {time.process_time() - began:.0f} processor seconds", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(RECIPES))
    for problem in parser.parse_args().problems.split(","):
        make(problem)


if __name__ == "__main__":
    main()
