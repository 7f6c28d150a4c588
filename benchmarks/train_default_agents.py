"""Train the agents that come with lagco.

    python benchmarks/train_default_agents.py --work runs/shipped [--problems tsp,ospf] [--steps N]
        [--seed 8]

Training runs stay in the work folder, so that the command can be stopped and given again; what
decides is copied into the package, unless the seed is another than the package's. Every agent
imitates a teacher (`taught-projection`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from lagco.agents.bundle import DESCRIPTION, SPACE, WEIGHTS
from lagco.agents.shipped import FOLDER
from lagco.agents.training.trainer import train
from lagco.core.problem import Problem
from lagco.instances import Instance, References
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.problems.max_cut.env import MaxCut
from lagco.problems.min_vertex.env import MinVertex
from lagco.problems.ospf.env import OSPF
from lagco.problems.traffic.env import Traffic
from lagco.problems.tsp.env import TSP


class Maps(TSP):
    """Cities as on real maps: in every fourth instance they gather around a few centres.

    Two of five instances have 100 cities, the others 10 to 100.
    """

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `tsp`, the cities of which may be pulled together."""
        if size is None:
            size = 100 if rng.random() < 0.4 else int(rng.integers(10, 101))
        instance = super().draw(rng, size)
        if rng.random() < 0.75:
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


class SmallOSPF(OSPF):
    """Networks of 8 to 18 nodes, on which the search that teaches takes about a millisecond."""

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `ospf`."""
        return super().draw(rng, int(rng.integers(8, 18, endpoint=True)) if size is None else size)


class SmallTraffic(Traffic):
    """Networks of 10 to 18 nodes.

    In every third instance demands are as in files of real networks: between all pairs, volumes in
    proportion to what the two ends send and receive in all, capacities all the same or not.
    """

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """An instance of `traffic`, the demands of which may be others."""
        nodes = int(rng.integers(10, 18, endpoint=True)) if size is None else size
        instance = super().draw(rng, nodes)
        if rng.random() < 2 / 3:
            return instance
        demands = np.stack(np.nonzero(~np.eye(nodes, dtype=bool)))
        amounts = rng.lognormal(sigma=0.7, size=nodes)
        arrays = {
            **instance.arrays,
            "demands": demands.astype(np.int32),
            "volumes": amounts[demands].prod(axis=0),
        }
        if rng.random() < 0.5:
            arrays["capacities"] = np.full_like(instance.array("capacities"), 100.0)
        return replace(instance, size=demands.shape[1], arrays=arrays)


@dataclass(frozen=True)
class Recipe:
    """Training of the agent of one problem.

    Attributes:
        instances: number of training instances.
        source: the class that draws them, if not the problem's own.
        effort: of the solver whose solutions are taught; 0 where they are not.
        sweeps: that scale the objective, where a problem needs them; 0 for none.
        settings: of `taught-projection`.
    """

    instances: int = 100
    source: type[Problem] | None = None
    effort: float = 0.0
    sweeps: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


SEED = 7
RECIPES: dict[str, Recipe] = {
    "tsp": Recipe(
        instances=1000,
        source=Maps,
        effort=0.1,
        settings={"steps": 131_072, "rollout": 4096, "epochs": 4, "temperature": 0.3},
    ),
    "min-vertex": Recipe(
        instances=100,
        source=Covers,
        settings={
            "steps": 16_384,
            "rollout": 4096,
            "epochs": 6,
            "k": 32,
            "ranker_width": 32,
            "ranker_layers": 2,
        },
    ),
    "max-cut": Recipe(
        instances=100,
        source=Cuts,
        settings={
            "steps": 16_384,
            "rollout": 4096,
            "epochs": 3,
            "k": 32,
            "ranker_width": 32,
            "ranker_layers": 2,
        },
    ),
    "placement": Recipe(
        instances=48,
        sweeps=500,
        settings={"steps": 6144, "rollout": 1536, "epochs": 4, "k": 32},
    ),
    "ospf": Recipe(
        instances=60,
        source=SmallOSPF,
        sweeps=500,
        settings={
            "steps": 12_288,
            "rollout": 2048,
            "epochs": 4,
            "k": 24,
            "ranker_width": 32,
            "ranker_layers": 2,
            "temperature": 1.0,
        },
    ),
    "traffic": Recipe(
        instances=60,
        source=SmallTraffic,
        sweeps=500,
        settings={
            "steps": 16_384,
            "rollout": 2048,
            "epochs": 4,
            "k": 48,
            "ranker_width": 32,
            "ranker_layers": 2,
            "temperature": 1.0,
        },
    ),
    "cyber-path": Recipe(
        instances=40,
        settings={"steps": 12_288, "rollout": 4096, "epochs": 4},
    ),
}


def training_instances(problem: str, seed: int = SEED) -> list[Instance]:
    """Instances of a recipe, with what its teacher needs."""
    recipe, cls = RECIPES.get(problem, Recipe()), problem_class(problem)
    source = recipe.source or cls
    found = []
    for index in range(recipe.instances):
        instance = source.generate(None, seed=seed, index=index)
        sweeps = cls.sweep(instance, recipe.sweeps, seed).sweeps if recipe.sweeps else None
        instance = instance.with_references(References(sweeps=sweeps))
        if recipe.effort:
            solver = cls.solve(instance, seed, recipe.effort).solver
            instance = instance.with_references(References(sweeps=sweeps, solver=solver))
        found.append(instance)
    return found


def make(problem: str, work: Path, steps: int | None = None, seed: int = SEED) -> None:
    """Train the agent of a problem and, with the usual seed, put it into the package."""
    settings = dict(RECIPES.get(problem, Recipe()).settings)
    if steps is not None:
        settings["steps"] = steps
    began = time.process_time()
    instances = training_instances(problem, seed)
    taught = time.process_time()
    folder = work / problem
    train(problem, instances, folder, method="taught-projection", seed=seed, **settings)
    seconds = {"instances": taught - began, "training": time.process_time() - taught}
    (folder / "seconds.json").write_text(json.dumps(seconds))
    if seed == SEED:
        _ship(folder, FOLDER / problem)
    shown = ", ".join(f"{name} {value:.0f}" for name, value in seconds.items())
    print(f"{problem}: processor seconds: {shown}", flush=True)


def _ship(folder: Path, target: Path) -> None:
    """Copy what decides."""
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
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    for problem in arguments.problems.split(","):
        make(problem, arguments.work, arguments.steps, arguments.seed)


if __name__ == "__main__":
    main()
