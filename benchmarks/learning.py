"""Learning is shown: every method trained on 20 instances and tested on 20 unseen ones.

    python benchmarks/learning.py --out runs/learning [--problems tsp] [--methods projection]
    python benchmarks/learning.py --out runs/learning --table
    python benchmarks/learning.py --out runs/learning --problems tsp --sizes 20,50,100
    python benchmarks/learning.py --out runs/learning --methods projection --set anneal=true

The third tests what was trained on 12 fresh instances of each size; the last trains with other
settings than the defaults and gives them rows of their own.
Runs that are there already are not repeated, so the command can be stopped and given again; several
processes may share a folder if they train different methods. Instances are of the paper's ranges.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.agents.registry import METHODS
from lagco.commands.evaluate import solver_evaluation
from lagco.instances import Instance
from lagco.results.evaluation import Evaluation
from lagco.store import readable_json, write_atomically

PROBLEMS = ("tsp", "min-vertex", "max-cut")
STEPS, SEEDS = 100_000, (42, 100)


def data_of(problem: str, out: Path) -> tuple[list[Instance], list[Instance]]:
    """20 training and 20 test instances, made once."""
    data = lagco.generate(problem, 40, out=out / problem / "data", progress=False)
    instances = list(data)
    return instances[:20], instances[20:]


def encoder_of(problem: str, features: str, seed: int, train: list[Instance], out: Path) -> Path:
    """The encoder that all methods of a seed share."""
    folder = out / problem / f"encoder-{features}-{seed}"
    if not (folder / "encoder.json").exists():
        lagco.pretrain(problem, train, folder, features=features, seed=seed, progress=False)
    return folder


def measure(evaluation: Evaluation) -> dict[str, Any]:
    """The figures of a table row; an infinite gap, of instances not solved, has none."""
    found = {key: entry and entry.iqm for key, entry in evaluation.summary().items()}
    return {key: None if value == math.inf else value for key, value in found.items()}


def run(
    problem: str,
    method: str,
    features: str,
    seed: int,
    steps: int,
    out: Path,
    settings: str = "",
) -> None:
    """Train and test once, unless that was done; `settings` is like ``anneal=true,epochs=5``."""
    name = "-".join(filter(None, (method, settings, features, str(seed))))
    folder = out / problem / name
    if (folder / "result.json").exists():
        return
    train, test = data_of(problem, out)
    encoder = None if method.startswith("p-") else encoder_of(problem, features, seed, train, out)
    agent = lagco.train(
        problem,
        train,
        folder,
        encoder=encoder,
        pad_to=test,
        method=method,
        features=features,
        seed=seed,
        steps=steps,
        **tomllib.loads(settings.replace(",", "\n")),
    )
    result = {
        "problem": problem,
        "method": f"{method}, {settings}" if settings else method,
        "features": features,
        "seed": seed,
        "steps": steps,
        "seconds": agent.description["measured"]["seconds"],
        **measure(lagco.evaluate(agent, test)),
    }
    if method in ("projection", "soft-projection"):
        result["preview"] = measure(lagco.evaluate(agent, test, decoder="preview"))
    write_atomically(folder / "result.json", readable_json(result))
    print(json.dumps(result), flush=True)


def table(out: Path, problems: list[str]) -> None:
    """Print one Markdown table per problem, means over seeds."""
    for problem in problems:
        rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for path in sorted((out / problem).glob("*/result.json")):
            found = json.loads(path.read_text())
            rows.setdefault((found["method"], found["features"]), []).append(found)
            if "preview" in found:
                with_preview = found["preview"] | {"seconds": found["seconds"]}
                name = f"{found['method']}, preview of 10"
                rows.setdefault((name, found["features"]), []).append(with_preview)
        _, test = data_of(problem, out)
        for policy in ("random", "greedy"):
            rows[policy, "-"] = [measure(lagco.evaluate(policy, test)) | {"seconds": 0.0}]
        solver = solver_evaluation(test)
        if solver is not None:
            rows["solver", "-"] = [measure(solver) | {"seconds": 0.0}]
        keys = ("score/best", "score_best/best", "solver_score/best", "solver_score_best/best")
        keys += ("gap/best", "gap/first")
        print(f"\n{problem}\n\n| method | features | runs | {' | '.join(keys)} | seconds |")
        print(f"| --- | --- | --- | {' | '.join('---' for _ in keys)} | --- |")
        for (method, features), found in sorted(rows.items()):
            cells = []
            for key in keys:
                values = [f[key] for f in found if f[key] is not None]
                digits = 1 if key.startswith("gap") else 3
                cells.append(f"{np.mean(values):.{digits}f}" if values else "-")
            seconds = np.mean([f["seconds"] for f in found])
            joined = " | ".join(cells)
            print(f"| {method} | {features} | {len(found)} | {joined} | {seconds:.0f} |")


def table_by_size(problem: str, methods: list[str], sizes: list[int], out: Path) -> None:
    """Print the gap to the solver on fresh instances of each size, means over seeds."""
    print(f"\n{problem}, gap of the best of 5 (of the first)\n")
    print(f"| policy | {' | '.join(map(str, sizes))} |")
    print(f"| --- |{' --- |' * len(sizes)}")
    tests = [
        lagco.generate(problem, 12, seed=7000 + n, sizes=n, out=out / problem / f"test-{n}")
        for n in sizes
    ]
    for method in ["random", "greedy", *methods]:
        bundles: list[Any] = sorted((out / problem).glob(f"{method}-full-*/agent.json"))
        policies = [method] if method in ("random", "greedy") else [b.parent for b in bundles]
        if not policies:
            raise SystemExit(f"{out / problem} has no trained {method}; run without --sizes first")
        cells = []
        for test in tests:
            found = [measure(lagco.evaluate(policy, test)) for policy in policies]
            best, first = (np.mean([f[f"gap/{kind}"] for f in found]) for kind in ("best", "first"))
            cells.append(f"{best:.1f} ({first:.1f})")
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Train what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--features", default="full")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--set", default="", metavar="NAME=VALUE,...", help="training settings")
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--sizes", help="only test what was trained, on instances of these sizes")
    arguments = parser.parse_args()
    problems, methods = arguments.problems.split(","), arguments.methods.split(",")
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    if arguments.sizes:
        for problem in problems:
            table_by_size(
                problem, methods, [int(n) for n in arguments.sizes.split(",")], arguments.out
            )
        return
    if not arguments.table:
        for seed, problem, method in itertools.product(seeds, problems, methods):
            features, steps = arguments.features, arguments.steps
            run(problem, method, features, seed, steps, arguments.out, arguments.set)
    table(arguments.out, problems)


if __name__ == "__main__":
    main()
