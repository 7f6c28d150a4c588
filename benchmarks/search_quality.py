"""Quality of answers against time: searches of an agent, the solver, and the portfolio of both.

    python benchmarks/search_quality.py [--problems tsp,ospf] [--seconds 0.5,2,10] [--instances 3]
                                        [--runs sample,auto,solver,portfolio]

Fresh instances of one or two sizes per problem, one core. A cell is the mean over them of how far
the answer is behind the best value that any of the runs found, in percent of that value. The agents
are those that come with lagco; what they load is in memory before the time begins. Seconds are
those of the processor, which are the clock's where nothing else runs. Results go to
benchmarks/results/search_quality.json; nothing is computed twice, so the command can be stopped and
given again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import fmean
from typing import Any

time.perf_counter = time.process_time  # before lagco takes its clock

import lagco  # noqa: E402
from lagco.agents.shipped import default_agent, shipped_problems  # noqa: E402
from lagco.commands.generate import generate_instance  # noqa: E402
from lagco.instances import Instance  # noqa: E402
from lagco.problems import problem_class  # noqa: E402
from lagco.results.measures import gap  # noqa: E402
from lagco.store import readable_json, write_atomically  # noqa: E402

SIZES = {
    "tsp": (100,),
    "min-vertex": (150, 400),
    "max-cut": (100,),
    "placement": (50,),
    "ospf": (20,),
    "traffic": (17, 40),
    "cyber-path": (30, 120),
}
RUNS: dict[str, dict[str, Any]] = {
    **{
        f"agent, {search}": {"by": "agent", "search": search}
        for search in ("sample", "beam", "reconstruct", "auto")
    },
    "solver": {"by": "solver"},
    "portfolio": {"by": "portfolio"},
}
SEED = 20262
RESULTS = Path(__file__).parent / "results" / "search_quality.json"


def instance_of(problem: str, size: int, index: int) -> Instance:
    """A fresh instance, with the sweeps that its objective may be scaled by."""
    cls = problem_class(problem)
    references = ["sweeps"] if cls.scaled_by_sweeps else []
    options = {"size": size, "seed": SEED, "index": index}
    return generate_instance(problem, references=references, sweeps=200, **options)


def cases(problems: list[str]) -> list[tuple[str, int]]:
    """Problems and sizes."""
    return [(problem, size) for problem in problems for size in SIZES[problem]]


def table(known: dict[str, float], problems: list[str], seconds: list[float]) -> list[str]:
    """Rows of the table, from what was measured."""
    header = ["problem, size", "seconds", *RUNS]
    rows = [header, ["---"] * len(header)]
    for problem, size in cases(problems):
        about = f"{problem}/{size}/"
        found = {key: value for key, value in known.items() if key.startswith(about)}
        maximise = problem_class(problem).maximise
        best: dict[str, float] = {}
        for key, value in found.items():
            index = key.split("/")[2]
            best[index] = (max if maximise else min)(value, best.get(index, value))
        for limit in seconds:
            cells = []
            for run in RUNS:
                gaps = [
                    gap(value, best[index], maximise=maximise) or 0.0
                    for index in best
                    if (value := found.get(f"{about}{index}/{limit:g}/{run}")) is not None
                ]
                cells.append(f"{fmean(gaps):.2f}" if gaps else "-")
            rows.append([f"`{problem}`, {size}", f"{limit:g}", *cells])
    return [f"| {' | '.join(row)} |" for row in rows]


def main() -> None:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(shipped_problems()))
    parser.add_argument("--seconds", default="0.5,2,10")
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--runs", default=",".join(RUNS), help="Ends of columns' names.")
    arguments = parser.parse_args()
    runs = [run for run in RUNS if run.endswith(tuple(arguments.runs.split(",")))]
    problems = arguments.problems.split(",")
    seconds = [float(limit) for limit in arguments.seconds.split(",")]
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for problem, size in cases(problems):
        agent = default_agent(problem)
        for index in range(arguments.instances):
            instance = instance_of(problem, size, index)
            loaded = False
            for limit in seconds:
                for run in runs:
                    key = f"{problem}/{size}/{index}/{limit:g}/{run}"
                    if key in known:
                        continue
                    if not loaded:
                        for by in ("agent", "portfolio"):
                            lagco.solve(instance, by=by, agent=agent, seconds=1.0)
                        loaded = True
                    given = {} if run == "solver" else {"agent": agent}
                    answer = lagco.solve(instance, seconds=limit, **RUNS[run], **given)
                    assert answer.valid
                    known[key] = answer.objective
                    write_atomically(RESULTS, readable_json(known))
    print("\n".join(table(known, problems, seconds)))


if __name__ == "__main__":
    main()
