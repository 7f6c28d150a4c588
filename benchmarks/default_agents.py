"""Quality of the agents that come with lagco, beside greedy and random, on fresh instances.

    python benchmarks/default_agents.py [--problems tsp,ospf] [--seed 20261] [--instances 20]
        [--sizes paper,54] [--agents runs/seed-8]

One row per problem and size: the paper's range, three times the largest size that the agent was
trained on, and more for `tsp` and `min-vertex`.
Gaps to the solver in percent (`cyber-path`: share of the hosts that is owned; `placement`: score on
the solver's scale), first episode / best of 5, means over the instances with their standard errors.
Beyond the paper's range references of four problems are cheaper: few sweeps, a hundredth of the
solver's effort, then local search; maps of 10000 cities have one episode. `--agents` tests those of
a work folder of ``python -m lagco.agents.shipped.make`` instead, alone. Results go to
benchmarks/results/default_agents.json; nothing is computed twice, so the command can be stopped and
given again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.agents.shipped import default_agent, shipped_problems
from lagco.instances import Instance, References, SolverReference
from lagco.problems import problem_class
from lagco.store import readable_json, write_atomically

#: sizes beyond the paper's range (None), and how many instances of each
SIZES: dict[str, dict[int | None, int]] = {
    "tsp": {None: 20, 20: 20, 50: 20, 100: 20, 200: 10, 300: 5, 1000: 3, 10_000: 1},
    "min-vertex": {None: 20, 300: 3, 500: 2},
    "max-cut": {None: 20, 300: 5},
    "placement": {None: 20, 150: 2},
    "ospf": {None: 20, 54: 3},
    "traffic": {None: 20, 54: 3},
    "cyber-path": {None: 20, 60: 10},
}
#: what is measured, if not the gap
MEASURED = {"cyber-path": "score", "placement": "solver_score_best"}
SWEEPS = 1000
#: sweeps, and efforts of solver and local search, beyond the paper's range, where the usual ones
#: take minutes per instance
FEWER_SWEEPS, SOLVED, IMPROVED = 200, 0.01, 0.1
#: from so many cities on one episode is tested, with a fiftieth of the solver's effort
ONCE, BRIEF = 10_000, 0.02
CHEAPER = ("min-vertex", "placement", "ospf", "traffic")
RESULTS = Path(__file__).parent / "results" / "default_agents.json"


def instance_of(problem: str, size: int | None, seed: int, index: int) -> Instance:
    """A fresh instance with references."""
    cls = problem_class(problem)
    cheaper = size is not None and problem in CHEAPER
    effort = SOLVED if cheaper else BRIEF if size is not None and size >= ONCE else 1.0
    drawn = cls.generate(size, seed=seed, index=index)
    count = FEWER_SWEEPS if cheaper else SWEEPS
    sweeps = cls.sweep(drawn, count, 0).sweeps if cls.defines("sweep") else None
    scaled = drawn.with_references(References(sweeps=sweeps))
    solver = cls.solve(scaled, 0, effort).solver
    if cheaper and solver is not None:
        best = cls.improve(scaled, solver.solution, 0, IMPROVED)
        value = cls.evaluate_solution(scaled, best)
        solver = SolverReference(value, "best-known", f"{solver.solver}, improved", best)
    return scaled.with_references(References(sweeps=sweeps, solver=solver))


def measured(
    policy: Any, instances: list[Instance], measure: str, episodes: int = 5
) -> dict[str, float]:
    """Means of first and best episode, their standard errors, and processor time."""
    began = time.process_time()
    found = lagco.evaluate(policy, instances, episodes=episodes)
    seconds = time.process_time() - began
    row: dict[str, float] = {"seconds": round(seconds, 2)}
    for which in ("first", "best"):
        values = np.array(found.values(measure, which), dtype=float)
        row[which] = float(values.mean())
        if len(values) > 1:
            row[f"{which}_error"] = float(values.std(ddof=1) / np.sqrt(len(values)))
    return row


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(shipped_problems()))
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument(
        "--instances", type=int, help="In the paper's range; at most so many in other rows."
    )
    parser.add_argument("--sizes", help="Of the rows, `paper` for its range; by default all.")
    parser.add_argument("--agents", type=Path, help="A folder with an agent per problem.")
    arguments = parser.parse_args()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for problem in arguments.problems.split(","):
        measure = MEASURED.get(problem, "gap")
        for size, count in SIZES[problem].items():
            if arguments.instances is not None:
                count = arguments.instances if size is None else min(count, arguments.instances)
            if arguments.sizes and str(size or "paper") not in arguments.sizes.split(","):
                continue
            key = f"{problem}/{size or 'paper'}/{arguments.seed}/{count}"
            if arguments.agents is not None:
                key += f"/{arguments.agents.name}"
            if key not in known:
                instances = [
                    instance_of(problem, size, arguments.seed, index) for index in range(count)
                ]
                policies: dict[str, Any] = {"greedy": "greedy", "agent": default_agent(problem)}
                if size is None:
                    policies["random"] = "random"
                if arguments.agents is not None:
                    policies = {"agent": arguments.agents / problem}
                episodes = 1 if size is not None and size >= ONCE else 5
                known[key] = {
                    name: measured(policy, instances, measure, episodes)
                    for name, policy in policies.items()
                }
                write_atomically(RESULTS, readable_json(known))
            shown = ", ".join(
                f"{name} {row['first']:.3f} / {row['best']:.3f}" for name, row in known[key].items()
            )
            print(f"{key}: {shown}", flush=True)


if __name__ == "__main__":
    main()
