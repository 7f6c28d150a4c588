"""Train the agents that come with lagco.

    python -m lagco.agents.shipped.make --work runs/shipped [--problems tsp,ospf] [--steps N]

Data sets, encoders and training runs stay in the work folder, so that the command can be stopped
and given again; what decides is copied into the package.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lagco.agents.bundle import DESCRIPTION, SPACE, WEIGHTS
from lagco.agents.shipped import FOLDER
from lagco.agents.training import train
from lagco.core.problem import Problem
from lagco.generation import generate
from lagco.instances import Instance
from lagco.problems.tsp.env import TSP
from lagco.registration import ENTRIES


class Maps(TSP):
    """Cities as on real maps: in every other instance they gather around a few centres."""

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `tsp`, the cities of which may be pulled together."""
        instance = super().draw(rng, size)
        if rng.random() < 0.5:
            return instance
        cities = instance.array("coordinates")
        centres = cities[rng.integers(len(cities), size=rng.integers(2, 9))]
        nearest = ((cities[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        pull = rng.uniform(0.2, 0.8, size=len(centres))[nearest, None]
        gathered = cities + pull * (centres[nearest] - cities)
        return replace(instance, arrays={**instance.arrays, "coordinates": gathered})


@dataclass(frozen=True)
class Recipe:
    """How the agent of one problem is trained.

    Attributes:
        instances: number of training instances, of the paper's ranges.
        steps: environment steps.
        source: the class that draws instances, if not the problem's own.
    """

    instances: int = 100
    steps: int = 100_000
    source: type[Problem] | None = None


RECIPES = {"tsp": Recipe(instances=500, steps=300_000, source=Maps)}
SEED = 7
#: enough for the scale of the rewards
SWEEPS = 500


def make(problem: str, work: Path, steps: int | None = None) -> None:
    """Train the agent of a problem and put it into the package."""
    recipe = RECIPES.get(problem, Recipe())
    data = generate(
        recipe.source or problem,
        recipe.instances,
        seed=SEED,
        references=("sweeps",),
        sweeps=SWEEPS,
        out=work / problem / "data",
    )
    folder = work / problem / "agent"
    train(
        problem,
        data,
        folder,
        method="soft-projection",
        seed=SEED,
        steps=recipe.steps if steps is None else steps,
    )
    target = FOLDER / problem
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copytree(folder / SPACE, target / SPACE)
    for name in (WEIGHTS, DESCRIPTION):
        shutil.copyfile(folder / name, target / name)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--problems", default=",".join(ENTRIES))
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    for problem in arguments.problems.split(","):
        make(problem, arguments.work, arguments.steps)


if __name__ == "__main__":
    main()
