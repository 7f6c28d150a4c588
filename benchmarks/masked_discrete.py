"""Masked discrete agents against random play: what they learn, and where it ends.

    python -m benchmarks.masked_discrete [NAME …]

Short runs by our defaults: on one instance and on many, longer, with wider padding, with the
paper's features; and on one `cyber-path` network of 10 hosts, as it is, always from the same host,
and with everything in sight. Results go to benchmarks/results/masked_discrete.json after every run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import lagco
from lagco.commands.generate import generate_instance
from lagco.instances import Instance
from lagco.problems.cyber_path.env import CyberPath
from lagco.results.evaluation import Evaluation
from lagco.runtime.one_thread import one_thread
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "masked_discrete.json"
#: seed of the instances, instances that are only tested on, test episodes
SEED, UNSEEN, EPISODES = 4242, 30, 10


@dataclass(frozen=True)
class Run:
    """A training run.

    Attributes:
        problem: name.
        size: of all instances.
        instances: number of training instances.
        method: name.
        steps: of training.
        pad_to: size of an instance that room is reserved for; None for the size.
        features: feature set.
        sight: of a network: ``generated``, ``one start``, ``everything`` (one start, all hosts
            and all that they run visible from the start).
    """

    problem: str = "tsp"
    size: int = 20
    instances: int = 20
    method: str = "p-discrete-m"
    steps: int = 100_000
    pad_to: int | None = None
    features: str = "full"
    sight: str = "generated"


_HOSTS = Run("cyber-path", 10, 1)
RUNS = {
    "tsp, p-discrete-m, one instance": Run(instances=1),
    "tsp, p-discrete-m, 20 instances": Run(),
    "tsp, p-discrete-m, 20 instances, 300000 steps": Run(steps=300_000),
    "tsp, p-discrete-m, 20 instances, padded to 100": Run(pad_to=100),
    "tsp, p-discrete-m, 20 instances, paper features": Run(features="paper"),
    "tsp, g-discrete-m, 20 instances": Run(method="g-discrete-m"),
    "tsp, projection, 20 instances": Run(method="projection"),
    "cyber-path, p-discrete-m, generated": _HOSTS,
    "cyber-path, p-discrete-m, one start": replace(_HOSTS, sight="one start"),
    "cyber-path, p-discrete-m, everything": replace(_HOSTS, sight="everything"),
    "cyber-path, g-discrete-m, everything": replace(
        _HOSTS, method="g-discrete-m", sight="everything"
    ),
}


class FromOneHost(CyberPath):
    """`cyber-path` with episodes that all begin on the host that the instance names."""

    def __init__(self, *arguments: Any, start: Any = "current", **options: Any) -> None:
        super().__init__(*arguments, start=start, **options)


def instances_of(run: Run, first: int, count: int, size: int | None = None) -> list[Instance]:
    """Instances with the sweeps' values, numbered from `first`."""
    found = [
        generate_instance(
            run.problem,
            seed=SEED,
            index=index,
            size=size or run.size,
            references=("sweeps",),
            sweeps=1000,
        )
        for index in range(first, first + count)
    ]
    return [_in_sight(instance, run.sight) for instance in found]


def _in_sight(instance: Instance, sight: str) -> Instance:
    changed: dict[str, Any] = {}
    if sight != "generated":
        changed = {"start": 0}
    if sight == "everything":
        changed |= {"p_recon": 1.0, "p_feature_visible": 1.0}
    return replace(instance, params={**instance.params, **changed}) if changed else instance


def score(evaluation: Evaluation) -> dict[str, float]:
    """Mean over instances of the mean over episodes, and of the best of them."""
    found = [[e.score or 0.0 for e in result.episodes] for result in evaluation.results]
    return {"mean": fmean(map(fmean, found)), "best": fmean(map(max, found))}


def measured(run: Run) -> dict[str, Any]:
    """The agent and random play on the training instances, and on others."""
    seen = instances_of(run, 0, run.instances)
    unseen = instances_of(run, 1000, UNSEEN) if run.sight == "generated" else []
    wide = [] if run.pad_to is None else instances_of(run, 5000, 1, run.pad_to)
    curve: list[float | None] = []
    problem: Any = run.problem if run.sight == "generated" else FromOneHost
    with tempfile.TemporaryDirectory() as folder:
        agent = lagco.train(
            problem,
            seen,
            folder,
            method=run.method,
            steps=run.steps,
            features=run.features,
            pad_to=[*seen, *wide],
            progress=False,
            report=lambda row: curve.append(row["score"]),
        )
        return {
            "curve": [value for value in curve if isinstance(value, float)][:: len(curve) // 24],
            "seen": _played(run, problem, agent, seen),
            "unseen": _played(run, problem, agent, unseen),
            "random, seen": _played(run, problem, "random", seen),
            "random, unseen": _played(run, problem, "random", unseen),
        }


def _played(
    run: Run, problem: Any, policy: Any, instances: Sequence[Instance]
) -> dict[str, float] | None:
    if not instances:
        return None
    start = None if run.sight == "generated" else "current"
    evaluation = lagco.evaluate(
        policy, instances, problem=problem, episodes=EPISODES, start=start, progress=False
    )
    return score(evaluation)


def main() -> None:
    """Make the runs that are named, or all that have no results yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {list(RUNS)}")
    names = parser.parse_args().names
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or [name for name in RUNS if name not in results]:
        with one_thread():
            results[name] = measured(RUNS[name])
        print(name, {k: v for k, v in results[name].items() if k != "curve"}, flush=True)
        ordered = {known: results[known] for known in RUNS if known in results}
        write_atomically(RESULTS, readable_json(ordered))


if __name__ == "__main__":
    main()
