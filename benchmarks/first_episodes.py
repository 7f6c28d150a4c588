"""First episodes of the default agents, without a limit of time, beside greedy.

    python benchmarks/first_episodes.py [FOLDER] [--problems max-cut,ospf,traffic] [--seed 501]

FOLDER holds Gset's graphs and network files, as for ``benchmarks/real_instances.py``; networks
begin with their default routes, and those of more demands than MOST are left out for `traffic`,
where greedy takes minutes. Without a folder graphs like the larger ones of Gset are drawn: a torus,
random pairs and two triangulations laid over each other, weights 1 or +-1; their reference is one
run of the solver. Processor seconds of the episode stand behind every value. Results go to
benchmarks/results/first_episodes.json; nothing is computed twice.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from lagco.agents.shipped import default_agent
from lagco.arrays import Array
from lagco.instances import Instance
from lagco.instances.formats import read
from lagco.policies import GreedyPolicy
from lagco.problems import problem_class
from lagco.rollout import Episode
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "first_episodes.json"
MOST = 1600
SEED = 42


def recorded() -> dict[str, Any]:
    """Rows by their keys."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def torus(rows: int, columns: int) -> Array:
    """Edges (2, E) of a grid that closes on itself both ways."""
    places = np.arange(rows * columns).reshape(rows, columns)
    after = [np.roll(places, -1, axis=axis).reshape(-1) for axis in (0, 1)]
    return np.stack([np.tile(places.reshape(-1), 2), np.concatenate(after)])


def pairs(n: int, count: int, rng: np.random.Generator) -> Array:
    """So many random edges."""
    every = np.stack(np.triu_indices(n, 1))
    return every[:, rng.choice(every.shape[1], count, replace=False)]


def triangulations(n: int, rng: np.random.Generator) -> Array:
    """Edges of two triangulations of random points, the nodes of one of them in another order."""
    layers = [Delaunay(rng.random((n, 2))).simplices for _ in range(2)]
    triangles = np.concatenate([layers[0], rng.permutation(n)[layers[1]]])
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, ::2]]).T


def drawn_graphs(seed: int) -> Iterator[tuple[str, str, Instance]]:
    """Graphs of 800 and 2000 nodes."""
    kinds: dict[str, Any] = {
        "torus 20x40, +-1": (800, lambda rng: torus(20, 40), True),
        "torus 40x50, +-1": (2000, lambda rng: torus(40, 50), True),
        "pairs 800, +-1": (800, lambda rng: pairs(800, 19_176, rng), True),
        "pairs 2000, +-1": (2000, lambda rng: pairs(2000, 19_990, rng), True),
        "pairs 2000": (2000, lambda rng: pairs(2000, 19_990, rng), False),
        "triangulations 800, +-1": (800, lambda rng: triangulations(800, rng), True),
        "triangulations 2000, +-1": (2000, lambda rng: triangulations(2000, rng), True),
        "triangulations 2000": (2000, lambda rng: triangulations(2000, rng), False),
    }
    for name, (n, draw, signed) in kinds.items():
        rng = np.random.default_rng(seed)
        edges = np.unique(np.sort(draw(rng), axis=0), axis=1)
        weights = rng.choice([-1.0, 1.0], edges.shape[1]) if signed else np.ones(edges.shape[1])
        arrays = {"edges": edges, "weights": weights}
        yield f"{name}/{seed}", "max-cut", Instance("max-cut", name, n, arrays)


def files(folder: Path) -> Iterator[tuple[str, str, Instance]]:
    """Instance files, networks once for each problem."""
    for path in sorted(folder.glob("gset/G*")):
        yield path.name, "max-cut", read(path)
    for path in sorted([*folder.glob("sndlib/*.txt"), *folder.glob("topology_zoo/*.graphml")]):
        for problem in ("ospf", "traffic"):
            instance = read(path, problem)
            if problem == "ospf" or instance.size <= MOST:
                yield f"{path.name}/{problem}", problem, instance


def first_episode(policy: Any, instance: Instance, problem: str) -> dict[str, float]:
    """Best objective of an episode, its steps and processor seconds."""
    start = {} if problem == "max-cut" else {"start": "default"}
    env = problem_class(problem)(instance, features="full", **start)
    began = time.process_time()
    episode = Episode(env, SEED, explore=False).run(policy)
    seconds = time.process_time() - began
    assert env.best_objective is not None
    return {
        "objective": float(env.best_objective),
        "steps": len(episode.actions),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--problems", default="max-cut,ospf,traffic")
    parser.add_argument("--seed", type=int, default=501)
    arguments = parser.parse_args()
    known = recorded()
    found = files(arguments.folder) if arguments.folder else drawn_graphs(arguments.seed)
    for key, problem, instance in found:
        if problem not in arguments.problems.split(","):
            continue
        row = known.get(key, {})
        if not arguments.folder and "solver" not in row:
            solved = problem_class(problem).solve(instance, 0).solver
            assert solved is not None
            row["solver"] = solved.value
        if "agent" not in row:
            first_episode(default_agent(problem), problem_class(problem).generate(12), problem)
            row["agent"] = first_episode(default_agent(problem), instance, problem)
        if "greedy" not in row:
            row["greedy"] = first_episode(GreedyPolicy(), instance, problem)
        known = recorded() | {key: row}  # other runs may have gone on
        write_atomically(RESULTS, readable_json(known))
        values = {name: value for name, value in row.items() if isinstance(value, dict)}
        shown = [f"{n} {v['objective']:.6g} ({v['seconds']:.1f} s)" for n, v in values.items()]
        if "solver" in row:
            shown.append(f"solver {row['solver']:.6g}")
        print(f"{key}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
