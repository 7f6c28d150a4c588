"""Train the agents that come with lagco.

    python -m lagco.agents.shipped.make --work runs/shipped [--problems tsp,ospf] [--steps N]

Data sets, encoders and training runs stay in the work folder, so that the command can be stopped
and given again; what decides is copied into the package.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path

from lagco.agents.bundle import DESCRIPTION, SPACE, WEIGHTS
from lagco.agents.shipped import FOLDER
from lagco.agents.training import train
from lagco.generation import generate
from lagco.registration import ENTRIES


@dataclass(frozen=True)
class Recipe:
    """How the agent of one problem is trained.

    Attributes:
        instances: number of training instances.
        sizes: of them; the paper's range by default.
        steps: environment steps.
    """

    instances: int = 200
    sizes: str | None = None
    steps: int = 300_000


RECIPES = {"tsp": Recipe(instances=500, steps=600_000)}
SEED = 7


def make(problem: str, work: Path, steps: int | None = None) -> None:
    """Train the agent of a problem and put it into the package."""
    recipe = RECIPES.get(problem, Recipe())
    data = generate(
        problem, recipe.instances, seed=SEED, sizes=recipe.sizes, out=work / problem / "data"
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
    parser.add_argument("--problems", default=",".join(entry.name for entry in ENTRIES))
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    for problem in arguments.problems.split(","):
        make(problem, arguments.work, arguments.steps)


if __name__ == "__main__":
    main()
