"""Problems that are only declared (`examples/`): generic search, agents and an exact solver.

    python benchmarks/own_problems.py [--problems colouring,steiner] [--work runs/own-problems]
        [--instances 16,8] [--validate] [--without-plan] [--publish]

Training on 200 instances of 15 to 25 nodes, validation on 20 others, testing on fresh instances of
20 nodes and of 100. `taught-projection` is trained with its default settings. `--validate` compares
agents on the validation instances alone, among them those of `--without-plan`, whose ranker sees no
plan; the test looks at test instances, once. Searches have so many seconds of the processor,
the exact solver a deterministic time. Results go to benchmarks/results/own_problems.json,
and with `--publish` into docs/results/own-problems.md; nothing is computed twice, so the command
can be stopped and given again.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from lagco.agents.agent import Agent
from lagco.agents.bundle import DESCRIPTION
from lagco.agents.training.comparison import compare
from lagco.core.problem import Problem
from lagco.heuristics import rules_search
from lagco.instances import Instance
from lagco.problems import problem_class
from lagco.results.statistics import bootstrap_interval, mean
from lagco.store import readable_json, write_atomically

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "own_problems.json"
DOCUMENT = ROOT / "docs" / "results" / "own-problems.md"
PROBLEMS = {
    "colouring": "examples.colouring:Colouring",
    "independent-set": "examples.independent_set:IndependentSet",
    "facility": "examples.facility:Facility",
    "steiner": "examples.steiner:Steiner",
}
#: nodes (of `facility`: clients) in training, in the test, and there five times larger
LEAST, MOST = 15, 25
SIZES = (20, 100)
TRAINING, VALIDATION, EPISODES = 200, 20, 5
SEEDS = {"training": 1, "validation": 2, "test": 3, "verdict": 4}
#: problems whose objectives are so coarse that agent and greedy are compared on more instances, and
#: how many of each size
COARSE, VERDICT = ("colouring",), (64, 12)
SOFT_STEPS = 40_960
SEARCHES = (0.5, 2.0)
#: deterministic time of the exact solver
EFFORT = 10.0
#: rows of the tables, in order
ROWS = (
    "random",
    "greedy",
    "search, 0.5 s",
    "search, 2 s",
    "soft-projection",
    "taught-projection",
    "exact solver",
)
Record = dict[str, Any]


def drawn(problem: type[Problem], part: str, count: int, size: int | None = None) -> list[Instance]:
    """Instances for one purpose: of all training sizes in turn, or of one size."""
    sizes = [LEAST + i % (MOST - LEAST + 1) if size is None else size for i in range(count)]
    return [problem.generate(n, SEEDS[part], i) for i, n in enumerate(sizes)]


def trained(problem: type[Problem], method: str, work: Path, plan: bool = True) -> Agent:
    """The agent of a method, and in records the processor seconds of its training."""
    folder = work / problem.name / (method if plan else f"{method}, no plan")
    if (folder / DESCRIPTION).exists():
        return lagco.load(folder, problem)
    options: dict[str, Any] = {"steps": SOFT_STEPS} if method == "soft-projection" else {}
    key, began = f"{problem.name}/training/{folder.name}", time.process_time()
    hints, problem.hints = problem.hints, problem.hints if plan else ("preview",)
    try:
        agent = lagco.train(
            problem,
            drawn(problem, "training", TRAINING),
            folder,
            method=method,
            validation=drawn(problem, "validation", VALIDATION),
            progress=False,
            cache=False,
            **options,
        )
    finally:
        problem.hints = hints
    if key not in recorded():
        facts = agent.description["facts"]
        found: Record = {
            "seconds": round(time.process_time() - began, 1),
            "steps": agent.description["training"]["steps"],
        }
        record(key, found | {k: facts[k] for k in ("teacher", "teacher_because") if k in facts})
    return agent


def recorded() -> dict[str, Record]:
    """Records by their keys."""
    found: dict[str, Record] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    return found


def record(key: str, found: Record) -> None:
    """Add a record."""
    write_atomically(RECORDS, readable_json(recorded() | {key: found}))


def played(policy: Any, problem: type[Problem], instances: list[Instance]) -> Record:
    """First and best objective of the episodes of every instance."""
    began = time.process_time()
    found = lagco.evaluate(policy, instances, problem=problem, episodes=EPISODES, progress=False)
    seconds = (time.process_time() - began) / len(instances)
    choose: Callable[[list[float]], float] = max if problem.maximise else min
    values = [[e.objective_best for e in result.episodes] for result in found.results]
    assert all(value is not None for row in values for value in row)
    return {
        "first": [row[0] for row in values],
        "best": [choose([v for v in row if v is not None]) for row in values],
        "seconds": round(seconds, 3),
    }


def searched(problem: type[Problem], instances: list[Instance]) -> dict[str, Record]:
    """Objectives of search by the rules after so many seconds."""
    found: dict[str, list[float]] = {f"search, {s:g} s": [] for s in SEARCHES}
    for instance in instances:
        search, spent = rules_search(problem, instance, 42), 0.0
        for seconds in SEARCHES:
            until = time.process_time() + seconds - spent
            best = search.run(1 << 60, lambda until=until: time.process_time() > until)
            spent = seconds
            assert best is not None
            found[f"search, {seconds:g} s"].append(best.objective)
    return {name: {"best": values} for name, values in found.items()}


def exact(problem: type[Problem], instances: list[Instance]) -> Record:
    """Objectives of the exact solver, and which of them are proven optimal."""
    from benchmarks.own_problems_exact import answer

    began = time.process_time()
    answers = [answer(problem, instance, EFFORT) for instance in instances]
    seconds = (time.process_time() - began) / len(instances)
    return {
        "best": [value for value, _ in answers],
        "optimal": sum(proven for _, proven in answers),
        "seconds": round(seconds, 2),
    }


def tested(problem: type[Problem], size: int, count: int, work: Path) -> None:
    """Measure what is missing of one table."""
    start, known = f"{problem.name}/{size}/{count}", recorded()
    missing = [row for row in ROWS if f"{start}/{row}" not in known]
    instances = drawn(problem, "test", count, size) if missing else []
    for row in missing:
        if row in ("random", "greedy"):
            record(f"{start}/{row}", played(row, problem, instances))
        elif row.endswith("projection"):
            record(f"{start}/{row}", played(trained(problem, row, work), problem, instances))
        elif row == "exact solver":
            record(f"{start}/{row}", exact(problem, instances))
        elif f"{start}/{row}" not in recorded():
            for name, found in searched(problem, instances).items():
                record(f"{start}/{name}", found)


def judged(problem: type[Problem], size: int, count: int, work: Path) -> None:
    """Compare the taught agent with greedy on more instances."""
    key = f"{problem.name}/verdict/{size}/{count}"
    if key in recorded():
        return
    instances, found = drawn(problem, "verdict", count, size), {}
    agent = trained(problem, "taught-projection", work)
    for name, policy in (("greedy", "greedy"), ("agent", agent)):
        found[name] = played(policy, problem, instances)
    record(key, found)


def gaps(records: Mapping[str, Record], start: str, row: str, which: str) -> Any:
    """By how many percent the objectives of a row are behind the best that anybody found."""
    best = np.array([found["best"] for r in ROWS if (found := records.get(f"{start}/{r}"))])
    values = np.array(records[f"{start}/{row}"][which])
    maximise = problem_class(PROBLEMS[start.split("/")[0]]).maximise
    known = best.max(axis=0) if maximise else best.min(axis=0)
    return 100.0 * np.abs(values - known) / np.abs(known)


def table(records: Mapping[str, Record], problem: str) -> str:
    """The table of one problem: gaps to the best known, and to greedy, with intervals."""
    starts = sorted({"/".join(key.split("/")[:3]) for key in records if _tests(key, problem)})
    starts.sort(key=lambda start: int(start.split("/")[1]))
    heads = ["| |", "| --- |"]
    rows = [row for row in ROWS if any(f"{start}/{row}" in records for start in starts)]
    lines = {row: f"| {row} |" for row in rows}
    for start in starts:
        _, size, count = start.split("/")
        heads[0] += f" {size} nodes: first | best of {EPISODES} | ahead of greedy |"
        heads[1] += " --- | --- | --- |"
        greedy = gaps(records, start, "greedy", "best")
        for row in rows:
            if f"{start}/{row}" not in records:
                lines[row] += " not measured | | |"
                continue
            plays = "first" in records[f"{start}/{row}"]
            own = gaps(records, start, row, "best")
            first = f"{mean(gaps(records, start, row, 'first')):.2f}" if plays else ""
            ahead, (low, high) = greedy - own, bootstrap_interval(greedy - own, mean)
            cell = f"{mean(ahead):.2f} ({low:.2f} to {high:.2f})" if row != "greedy" else ""
            proven = f", {records[f'{start}/{row}'].get('optimal')}/{count} proven"
            best = f"{mean(own):.2f}{proven if row == 'exact solver' else ''}"
            lines[row] += f" {first} | {best} | {cell} |"
    return "\n".join([*heads, *lines.values()])


def _tests(key: str, problem: str) -> bool:
    return key.startswith(f"{problem}/") and key.split("/")[1].isdigit()


def verdict_table(records: Mapping[str, Record]) -> str:
    """By how many percent of its objective the agent is ahead of greedy, with intervals."""
    lines = [
        "| | nodes | instances | first episode | best of 5 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for problem in COARSE:
        sign = 1.0 if problem_class(PROBLEMS[problem]).maximise else -1.0
        for size, count in zip(SIZES, VERDICT, strict=True):
            found, cells = records[f"{problem}/verdict/{size}/{count}"], []
            for which in ("first", "best"):
                greedy, agent = (np.array(found[who][which]) for who in ("greedy", "agent"))
                ahead = 100.0 * sign * (agent - greedy) / np.abs(greedy).mean()
                low, high = bootstrap_interval(ahead, mean)
                cells.append(f"{mean(ahead):.2f} ({low:.2f} to {high:.2f})")
            lines.append(f"| {problem} | {size} | {count} | {' | '.join(cells)} |")
    return "\n".join(lines)


def validation_table(records: Mapping[str, Record]) -> str:
    """The comparison with which a training ends: by how many percent the agent is ahead."""
    lines = ["| | objective of the agent | greedy | search as long | ahead of greedy | of search |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for key in sorted(records):
        problem, part, *_ = key.split("/")
        if part == "validation":
            means, ahead = records[key]["means"], records[key]["ahead"]
            cells = [f"{means[who]:.5g}" for who in ("agent", "greedy", "search")]
            for other in ("greedy", "search"):
                share, low, high = ahead[other]
                cells.append(f"{share:.2f} ({low:.2f} to {high:.2f})")
            lines.append(f"| {problem} | {' | '.join(cells)} |")
    return "\n".join(lines)


def training_table(records: Mapping[str, Record]) -> str:
    """What the trainings took, and whom they imitated."""
    lines = [
        "| | method | states | processor seconds | teacher |",
        "| --- | --- | --- | --- | --- |",
    ]
    for key in sorted(records):
        problem, part, *method = key.split("/")
        if part == "training":
            found = records[key]
            why = f"{found['teacher']}: {found['teacher_because']}" if "teacher" in found else ""
            lines.append(
                f"| {problem} | {method[0]} | {found['steps']} | {found['seconds']:.0f} | {why} |"
            )
    return "\n".join(lines)


#: tables of all problems, by the name in the document
WHOLE = {
    "training": training_table,
    "validation": validation_table,
    "verdict": verdict_table,
}
_BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->)\n(?:.*?\n)??(<!-- end -->)", re.DOTALL)


def filled(text: str, records: Mapping[str, Record]) -> str:
    """The document with the tables between its marks written anew from the records."""

    def block(match: re.Match[str]) -> str:
        whole = WHOLE.get(match[2])
        shown = table(records, match[2]) if whole is None else whole(records)
        return f"{match[1]}\n{shown}\n{match[3]}"

    return _BLOCK.sub(block, text)


def validated(problem: type[Problem], work: Path, *, without_plan: bool) -> None:
    """Compare the taught agents on validation instances, with greedy and with search as long."""
    instances = drawn(problem, "validation", VALIDATION)
    for plan in (True, False) if without_plan else (True,):
        agent = trained(problem, "taught-projection", work, plan)
        key = f"{problem.name}/validation/{'plan' if plan else 'no plan'}"
        if key not in recorded():
            found = compare(agent, instances)
            record(key, {"means": dict(found.means), "ahead": dict(found.ahead)})
        print(key, recorded()[key], flush=True)


def main() -> None:
    """Measure what is missing, print the tables, publish them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--work", type=Path, default=Path("runs/own-problems"))
    parser.add_argument("--instances", default="16,8", help="Of the two sizes.")
    parser.add_argument("--validate", action="store_true", help="Look at no test instance.")
    parser.add_argument("--without-plan", action="store_true", help="Validate those, too.")
    parser.add_argument("--publish", action="store_true", help="Write the tables of the document.")
    arguments = parser.parse_args()
    for name in arguments.problems.split(","):
        problem = problem_class(PROBLEMS[name])
        if arguments.validate:
            validated(problem, arguments.work, without_plan=arguments.without_plan)
            continue
        for size, count in zip(SIZES, map(int, arguments.instances.split(",")), strict=True):
            tested(problem, size, count, arguments.work)
        for size, count in zip(SIZES, VERDICT if name in COARSE else (), strict=False):
            judged(problem, size, count, arguments.work)
        print(f"{name}\n{table(recorded(), name)}\n", flush=True)
    if arguments.publish:
        text = filled(DOCUMENT.read_text("utf-8"), recorded())
        write_atomically(DOCUMENT, text.encode())


if __name__ == "__main__":
    main()
