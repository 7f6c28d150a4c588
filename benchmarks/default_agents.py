"""Quality of the agents that come with lagco, beside greedy and random, on fresh instances.

    python benchmarks/default_agents.py [--problems tsp,ospf] [--seed 20261] [--instances 20]
        [--sizes paper,54] [--agents runs/seed-8,runs/seed-9] [--teacher] [--publish]

One row per problem and size: the paper's range, three times the largest size that the agent was
trained on, and more for `tsp` and `min-vertex`.
Gaps to the solver in percent (`cyber-path`: share of the hosts that is owned; `placement`: score on
the solver's scale), first episode / best of 5, means over the instances with their standard errors.
Beyond the paper's range references of four problems are cheaper: few sweeps, a hundredth of the
solver's effort, then local search; where episodes take long there is one. `--agents` tests those of
work folders of ``benchmarks/train_default_agents.py`` instead, and says how much they differ with
the seed of their training; `--teacher` tests what the agents imitate: the problem's own search, one
of its actions at random. With `--publish` the rows of the paper's range are what `lagco agents`
shows of the agents of the package. Results go to benchmarks/results/default_agents.json; nothing is
computed twice, so the command can be stopped and given again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.agents.bundle import read_description
from lagco.agents.shipped import FOLDER, default_agent, shipped_problems
from lagco.instances import Instance, References, SolverReference
from lagco.latent.decoder import plain_action
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
#: rows of one episode
ONCE = {("tsp", 10_000), ("placement", 150), ("ospf", 54), ("traffic", 54)}
#: from so many cities on references have this part of the solver's effort
MANY, BRIEF = 10_000, 0.02
CHEAPER = ("min-vertex", "placement", "ospf", "traffic")
FIGURES = FOLDER.parent / "figures.json"
RESULTS = Path(__file__).parent / "results" / "default_agents.json"


def instance_of(problem: str, size: int | None, seed: int, index: int) -> Instance:
    """A fresh instance with references."""
    cls = problem_class(problem)
    cheaper = size is not None and problem in CHEAPER
    effort = SOLVED if cheaper else BRIEF if size is not None and size >= MANY else 1.0
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


def recorded() -> dict[str, dict[str, dict[str, float]]]:
    """Rows by their keys."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


class Advised:
    """Follows the problem's own search, which teaches agents."""

    name = "teacher"

    def act(self, env: Any, rng: np.random.Generator, explore: bool = True) -> Any:
        """One of the actions that it advises."""
        advised = env.advise()
        return plain_action(advised[rng.integers(len(advised))]) if len(advised) else None


def tested(arguments: argparse.Namespace, problem: str, size: int | None) -> dict[str, Any]:
    """Policies by the end of their record's key and by their name."""
    if arguments.agents:
        folders = [Path(folder) for folder in arguments.agents.split(",")]
        return {f"/{folder.name}": {"agent": folder / problem} for folder in folders}
    if arguments.teacher:
        return {"/teacher": {"teacher": Advised()}}
    usual: dict[str, Any] = {"greedy": "greedy", "agent": default_agent(problem)}
    return {"": usual | ({"random": "random"} if size is None else {})}


def publish(problem: str, row: dict[str, dict[str, float]]) -> None:
    """Write the figures that the package shows of its agent."""
    figures = json.loads(FIGURES.read_text())
    units = {"score": "share owned", "solver_score_best": "solver score", "gap": "gap, %"}
    figures[problem] = {
        "sha256": read_description(FOLDER / problem)["sha256"],
        "measure": units[MEASURED.get(problem, "gap")],
        **{
            name: {which: round(row[name][which], 4) for which in ("first", "best")}
            for name in ("random", "greedy", "agent")
        },
    }
    write_atomically(FIGURES, readable_json(figures))


def show_spread(key: str, rows: list[dict[str, float]]) -> None:
    """Print the mean over agents of several training seeds, with its standard error."""
    shown = []
    for which in ("first", "best"):
        values = np.array([row[which] for row in rows])
        shown.append(f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}")
    print(f"{key}: {len(rows)} training seeds: {' / '.join(shown)}", flush=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(shipped_problems()))
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument(
        "--instances", type=int, help="In the paper's range; at most so many in other rows."
    )
    parser.add_argument("--sizes", help="Of the rows, `paper` for its range; by default all.")
    parser.add_argument("--agents", help="Folders with an agent per problem.")
    parser.add_argument("--teacher", action="store_true", help="Test the teacher instead.")
    parser.add_argument("--publish", action="store_true", help="Put figures into the package.")
    arguments = parser.parse_args()
    known = recorded()
    for problem in arguments.problems.split(","):
        measure = MEASURED.get(problem, "gap")
        for size, count in SIZES[problem].items():
            if arguments.instances is not None:
                count = arguments.instances if size is None else min(count, arguments.instances)
            if arguments.sizes and str(size or "paper") not in arguments.sizes.split(","):
                continue
            key = f"{problem}/{size or 'paper'}/{arguments.seed}/{count}"
            policies = tested(arguments, problem, size)
            if not all(key + end in known for end in policies):
                drawn = [instance_of(problem, size, arguments.seed, i) for i in range(count)]
            for end, chosen in policies.items():
                if key + end not in known:
                    episodes = 1 if (problem, size) in ONCE else 5
                    found = {
                        name: measured(policy, drawn, measure, episodes)
                        for name, policy in chosen.items()
                    }
                    known = recorded() | {key + end: found}  # other runs may have gone on
                    write_atomically(RESULTS, readable_json(known))
                shown = ", ".join(
                    f"{name} {row['first']:.3f} / {row['best']:.3f}"
                    for name, row in known[key + end].items()
                )
                print(f"{key}{end}: {shown}", flush=True)
                if arguments.publish and size is None and not end:
                    publish(problem, known[key])
            if len(policies) > 1:
                show_spread(key, [known[key + end]["agent"] for end in policies])


if __name__ == "__main__":
    main()
