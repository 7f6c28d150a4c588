"""Seconds per instance for the references, at the paper's number of sweeps and at one size.

python benchmarks/references.py [--json]
"""

from __future__ import annotations

import argparse
import json
import time

from lagco.generation import generate_instance
from lagco.problems import problem_class

CASES = (
    ("tsp", 50),
    ("min-vertex", 50),
    ("max-cut", 50),
    ("placement", 30),
    ("ospf", 20),
    ("traffic", 17),
)


def measure(problem: str, size: int, instances: int = 3) -> dict[str, object]:
    """Mean seconds of sweeps and solver over a few instances, compilation apart."""
    cls = problem_class(problem)
    drawn = [generate_instance(problem, size=size, index=index) for index in range(instances + 1)]
    cls.sweep(drawn[0], 2, 0)
    cls.solve(drawn[0], 0)
    seconds = {"sweeps": 0.0, "solver": 0.0}
    for instance in drawn[1:]:
        began = time.perf_counter()
        cls.sweep(instance, None, 0)
        middle = time.perf_counter()
        cls.solve(instance, 0)
        seconds["sweeps"] += (middle - began) / instances
        seconds["solver"] += (time.perf_counter() - middle) / instances
    return {
        "problem": problem,
        "size": size,
        "sweeps_s": round(seconds["sweeps"], 3),
        "solver_s": round(seconds["solver"], 3),
    }


def main() -> None:
    """Print one line per problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    records = [measure(problem, size) for problem, size in CASES]
    if arguments.json:
        print(json.dumps(records, indent=1))
    else:
        for record in records:
            line = "{problem:12} {size:4}  sweeps {sweeps_s:7} s  solver {solver_s:7} s"
            print(line.format(**record))


if __name__ == "__main__":
    main()
