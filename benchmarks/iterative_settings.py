"""`iterative` by our settings and by the paper's: which of the differences matters.

    python -m benchmarks.iterative_settings [PROBLEM …]

From our settings, one difference at a time is set as in the paper: the features, the vectors of
actions as the encoder gives them, the target network; then all three at once, and the whole preset.
Runs are on 20 instances, tests on 30 others; results go to
benchmarks/results/iterative_settings.json after every run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import lagco
from benchmarks.masked_discrete import EPISODES, UNSEEN, Run, instances_of, score
from lagco.results.statistics import bootstrap_interval, mean
from lagco.runtime.one_thread import one_thread
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "iterative_settings.json"
SIZES = {"tsp": 20, "max-cut": 20, "min-vertex": 20, "placement": 10, "ospf": 10}
STEPS, SEEDS = 50_000, (42, 100)
TARGET = {"tau": 0.05, "target_every": 10_000}
VARIANTS: dict[str, dict[str, Any]] = {
    "ours": {},
    "features as in the paper": {"features": "paper"},
    "vectors not standardised": {"standardised": False},
    "target network as in the paper": TARGET,
    "all three": {"features": "paper", "standardised": False, **TARGET},
    "the paper's settings": {"preset": "paper"},
}


def measured(problem: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Scores of the best of the episodes on unseen instances, by seed."""
    run = Run(problem, SIZES[problem])
    seen, unseen = instances_of(run, 0, run.instances), instances_of(run, 1000, UNSEEN)
    means, best = [], []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            agent = lagco.train(
                problem,
                seen,
                folder,
                method="iterative",
                steps=STEPS,
                seed=seed,
                progress=False,
                **settings,
            )
            found = lagco.evaluate(agent, unseen, episodes=EPISODES, progress=False)
        means.append(score(found)["mean"])
        best.append([max(e.score or 0.0 for e in result.episodes) for result in found.results])
    over_instances = [mean(values) for values in zip(*best, strict=True)]
    low, high = bootstrap_interval(over_instances, mean)
    return {
        "mean": mean(means),
        "best": [mean(values) for values in best],
        "interval": [low, high],
    }


def main() -> None:
    """Make the runs of the problems that are named, or all that have no results yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problems", nargs="*", help=f"of {list(SIZES)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for problem in parser.parse_args().problems or SIZES:
        for name, settings in VARIANTS.items():
            if name in results.get(problem, {}):
                continue
            with one_thread():
                found = measured(problem, settings)
            results.setdefault(problem, {})[name] = found
            print(problem, name, found, flush=True)
            write_atomically(RESULTS, readable_json(results))


if __name__ == "__main__":
    main()
