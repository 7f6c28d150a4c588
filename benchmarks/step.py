"""Time of one `env.step`, array updates included: median and 99th percentile per problem.

python benchmarks/step.py [--json]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from lagco.generation import generate_instance
from lagco.problems import problem_class

CASES = (
    ("tsp", 100),
    ("min-vertex", 50),
    ("max-cut", 100),
    ("placement", 50),
    ("ospf", 20),
    ("traffic", 20),
    ("cyber-path", 20),
)


def measure(problem: str, size: int, steps: int = 4000) -> dict[str, object]:
    """Microseconds of a step over whole random episodes on one instance."""
    instance = generate_instance(problem, size=size, references="sweeps", sweeps=20)
    env = problem_class(problem)(instance)
    rng = np.random.default_rng(0)
    times: list[float] = []
    while len(times) < steps:
        env.reset(seed=len(times))
        ended = False
        while not ended:
            action = env.sample_valid_action(rng)
            began = time.perf_counter()
            *_, terminated, truncated, _ = env.step(action)
            times.append(1e6 * (time.perf_counter() - began))
            ended = terminated or truncated
    return {
        "problem": problem,
        "size": size,
        "step_us": round(float(np.median(times)), 2),
        "step_p99_us": round(float(np.percentile(times, 99)), 2),
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
            print("{problem:12} {size:4}  {step_us:7} us  99th {step_p99_us:7} us".format(**record))


if __name__ == "__main__":
    main()
