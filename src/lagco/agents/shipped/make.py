"""Train the agents that come with lagco.

    python -m lagco.agents.shipped.make --work runs/shipped [--problems tsp,ospf] [--steps N]

Data sets, encoders and training runs stay in the work folder, so that the command can be stopped
and given again; what decides is copied into the package.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from lagco.agents.bundle import DESCRIPTION, SPACE, WEIGHTS
from lagco.agents.shipped import FOLDER
from lagco.agents.training import train
from lagco.core.problem import Problem
from lagco.generation import generate
from lagco.instances import Instance
from lagco.problems.max_cut.env import MaxCut
from lagco.problems.min_vertex.env import MinVertex
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


class Cuts(MaxCut):
    """Small relatives of Gset's graphs, in every other instance: weights 1 or +-1 on a torus, on
    random pairs, or on two triangulations laid over each other.
    """

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `max-cut`, the edges and weights of which may be others."""
        instance = super().draw(rng, size)
        n, kind = instance.size, int(rng.integers(6))
        if kind < 3 or n < 16:
            return instance
        if kind == 3:
            rows = int(rng.integers(4, n // 4, endpoint=True))
            places = np.arange(rows * (n // rows)).reshape(rows, -1)
            shifted = [np.roll(places, -1, axis=axis).reshape(-1) for axis in (0, 1)]
            n = places.size
            edges = np.stack([np.tile(places.reshape(-1), 2), np.concatenate(shifted)])
        elif kind == 4:
            pairs = np.stack(np.triu_indices(n, k=1))
            edges = pairs[:, rng.random(pairs.shape[1]) < rng.uniform(0.1, 0.6)]
        else:
            layers = [Delaunay(rng.random((n, 2))).simplices for _ in range(2)]
            triangles = np.concatenate([layers[0], rng.permutation(n)[layers[1]]])
            edges = np.concatenate(
                [triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, ::2]]
            ).T
        edges = np.unique(np.sort(edges, axis=0), axis=1)
        signed = kind == 3 or rng.random() < 0.5
        weights = rng.choice([-1.0, 1.0], edges.shape[1]) if signed else np.ones(edges.shape[1])
        return replace(instance, size=n, arrays={"edges": edges, "weights": weights})


class Covers(MinVertex):
    """Graphs of up to 100 nodes, in three of ten instances."""

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `min-vertex`, which may be larger than the paper's."""
        if size is None and rng.random() < 0.3:
            size = int(rng.integers(10, 100, endpoint=True))
        return super().draw(rng, size)


@dataclass(frozen=True)
class Recipe:
    """How the agent of one problem is trained.

    Attributes:
        instances: number of training instances, of the paper's ranges.
        steps: environment steps.
        source: the class that draws instances, if not the problem's own.
        method: of training.
        settings: of the method, where they differ from its own.
    """

    instances: int = 100
    steps: int = 100_000
    source: type[Problem] | None = None
    method: str = "soft-projection"
    settings: Mapping[str, Any] = field(default_factory=dict)


RECIPES = {
    "tsp": Recipe(instances=500, steps=300_000, source=Maps),
    "max-cut": Recipe(
        instances=100,
        steps=16_384,
        source=Cuts,
        method="taught-projection",
        settings={"rollout": 4096, "epochs": 3, "k": 32, "ranker_width": 32, "ranker_layers": 2},
    ),
    "min-vertex": Recipe(
        instances=200,
        steps=49_152,
        source=Covers,
        method="taught-projection",
        settings={"rollout": 4096, "epochs": 6, "k": 32, "ranker_width": 32, "ranker_layers": 2},
    ),
}
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
        method=recipe.method,
        seed=SEED,
        steps=recipe.steps if steps is None else steps,
        **recipe.settings,
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
