"""Speed of decisions, steps and references beside the authors' code, of training beside CartPole.

python -m benchmarks.speed [--parts decisions,steps,references,training] [--publish]

Prints Markdown tables. With --publish the records go to benchmarks/results/speed.json, and in
README.md and the pages on speed what stands between ``<!-- speed: NAME -->`` and
``<!-- /speed -->`` is written anew. One thread; give it a core of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lagco.agents import registry
from lagco.bench.decisions import bench_latency
from lagco.bench.training import bench_throughput
from lagco.commands.generate import generate_instance
from lagco.problems import problem_class
from lagco.store import write_atomically

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "results" / "speed.json"
DOCUMENTS = ("README.md", "docs/results/speed.md", "docs/results/training-speed.md")
_BLOCK = re.compile(r"(<!-- speed: ([a-z-]+) -->\n).*?(<!-- /speed -->)", re.S)

#: sizes of the instances that training is timed on
TRAINED = {
    "tsp": 50, "min-vertex": 30, "max-cut": 50, "placement": 30, "ospf": 20, "traffic": 15,
    "cyber-path": 15,
}  # fmt: skip
#: milliseconds of a whole decision of the authors' released implementation (projection, iterative),
#: medians on a machine of the same kind, one thread
THEIR_DECISIONS = {
    ("tsp", 20): (7.9, 7.7),
    ("tsp", 50): (15.2, 15.3),
    ("tsp", 100): (27.8, 27.1),
    ("tsp", 150): (43.2, 41.2),
    ("placement", 10): (10.5, 8.9),
    ("placement", 30): (34.8, 37.0),
    ("placement", 50): (77.2, 86.9),
    ("ospf", 10): (3.7, 3.0),
    ("ospf", 20): (10.0, 8.6),
    ("ospf", 30): (9.3, 9.4),
    ("traffic", 10): (4.6, 3.4),
    ("traffic", 15): (8.4, 7.9),
    ("traffic", 20): (17.7, 17.6),
    ("cyber-path", 15): (48.0, 53.0),
}
METHODS = ("projection", "iterative")
#: seconds of its sweeps per instance
THEIR_SWEEPS = {"tsp": 118, "max-cut": 121, "placement": 129, "ospf": 81, "traffic": 206}
STEPS = {
    "tsp": 100,
    "min-vertex": 50,
    "max-cut": 100,
    "placement": 50,
    "ospf": 20,
    "traffic": 20,
    "cyber-path": 20,
}
SIZES = {"tsp": 50, "min-vertex": 50, "max-cut": 50, "placement": 30, "ospf": 20, "traffic": 17}

Records = Sequence[Mapping[str, Any]]


# -- measuring


def decisions() -> list[dict[str, Any]]:
    """Whole decisions of the two methods that search all actions."""
    found = []
    for (problem, size), theirs in THEIR_DECISIONS.items():
        for method, their_ms in zip(METHODS, theirs, strict=True):
            (record,) = bench_latency(problem_class(problem), [size], method)
            found.append(record | {"their_ms": their_ms})
    return found


def steps(count: int = 4000) -> list[dict[str, Any]]:
    """One `env.step`, array updates included, over whole random episodes on one instance."""
    found = []
    for problem, size in STEPS.items():
        instance = generate_instance(problem, size=size, references="sweeps", sweeps=20)
        env = problem_class(problem)(instance)
        rng = np.random.default_rng(0)
        times: list[float] = []
        while len(times) < count:
            env.reset(seed=len(times))
            ended = False
            while not ended:
                action = env.sample_valid_action(rng)
                began = time.perf_counter()
                *_, terminated, truncated, _ = env.step(action)
                times.append(1e6 * (time.perf_counter() - began))
                ended = terminated or truncated
        found.append(
            {
                "problem": problem,
                "size": size,
                "step_us": round(float(np.median(times)), 1),
                "step_p99_us": round(float(np.percentile(times, 99)), 1),
            }
        )
    return found


def references(instances: int = 3) -> list[dict[str, Any]]:
    """Mean seconds of the paper's sweeps and of the solver, compilation apart."""
    found = []
    for problem, size in SIZES.items():
        cls = problem_class(problem)
        drawn = [generate_instance(problem, size=size, index=i) for i in range(instances + 1)]
        cls.sweep(drawn[0], 2, 0)
        cls.solve(drawn[0], 0)
        seconds = {"sweeps_s": 0.0, "solver_s": 0.0}
        for instance in drawn[1:]:
            began = time.perf_counter()
            cls.sweep(instance, None, 0)
            middle = time.perf_counter()
            cls.solve(instance, 0)
            seconds["sweeps_s"] += (middle - began) / instances
            seconds["solver_s"] += (time.perf_counter() - middle) / instances
        rounded = {name: round(value, 3) for name, value in seconds.items()}
        found.append({"problem": problem, "size": size, **rounded})
    return found


def training() -> list[dict[str, Any]]:
    """Steps per second of training of every method without a teacher, and of CartPole beside it."""
    sizes = {problem_class(name): size for name, size in TRAINED.items()}
    methods = [name for name, method in registry.METHODS.items() if not method.taught]
    return bench_throughput(sizes, methods, steps=4096)


PARTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "decisions": decisions,
    "steps": steps,
    "references": references,
    "training": training,
}


# -- tables


def table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of Markdown: names, then numbers."""
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _named(record: Mapping[str, Any]) -> str:
    return f"`{record['problem']}` {record['size']}"


def _times(record: Mapping[str, Any]) -> str:
    """How many times faster than the authors' implementation."""
    return f"{1000 * record['their_ms'] / record['decision_us']:.0f}"


def _decisions_table(records: Records) -> str:
    titles = ["problem, size", "`projection`, us", "99th percentile", "encode", "observe"]
    titles += ["policy", "search", "authors', us", "times faster", "`iterative`, us"]
    titles += ["authors', us", "times faster", "one torch pass, us"]
    rows = []
    for ours, other in zip(records[::2], records[1::2], strict=True):
        parts = ours["parts_us"]
        rows.append(
            [
                _named(ours),
                f"{ours['decision_us']:.0f}",
                f"{ours['decision_p99_us']:.0f}",
                f"{parts['encode']:.0f}",
                f"{parts['observe'] + parts['actions']:.0f}",  # actions are pooled
                f"{parts['policy']:.0f}",
                f"{parts['search']:.0f}",
                f"{1000 * ours['their_ms']:.0f}",
                _times(ours),
                f"{other['decision_us']:.0f}",
                f"{1000 * other['their_ms']:.0f}",
                _times(other),
                f"{ours['policy_us']:.0f}",
            ]
        )
    return table(titles, rows)


def _short(records: Records) -> str:
    """A sentence of the range of sizes that both were timed on."""
    timed = [record for record in records[::2] if record["their_ms"]]
    times = [record["decision_us"] for record in timed]
    ratios = [1000 * record["their_ms"] / record["decision_us"] for record in timed]
    return (
        f"A whole decision of `projection` takes {min(times):.0f} to {max(times):.0f} us by "
        f"problem and size, {min(ratios):.0f} to {max(ratios):.0f} times less than with "
        "the implementation of the paper's authors.\n"
    )


def _steps_table(records: Records) -> str:
    rows = [[_named(r), f"{r['step_us']:.0f}", f"{r['step_p99_us']:.0f}"] for r in records]
    return table(["problem, size", "step, us", "99th percentile"], rows)


def _references_table(records: Records) -> str:
    titles = ["problem, size", "sweeps, s", "authors' sweeps, s", "times faster", "solver, s"]
    rows = []
    for record in records:
        theirs = THEIR_SWEEPS.get(record["problem"])
        faster = "–" if theirs is None else f"{theirs / record['sweeps_s']:.0f}"
        rows.append([_named(record), record["sweeps_s"], theirs or "–", faster, record["solver_s"]])
    return table(titles, rows)


def _training_table(records: Records) -> str:
    methods = list(dict.fromkeys(record["method"] for record in records))
    rows: dict[str, list[str]] = {}
    for record in records:
        shown = f"{record['steps_per_s']:.0f} ({record['ratio']:.2f})"
        rows.setdefault(_named(record), []).append(shown)
    titles = ["problem", *(f"`{method}`" for method in methods)]
    return table(titles, [[name, *cells] for name, cells in rows.items()])


def _training_parts_table(records: Records) -> str:
    parts = ("environment", "encode", "observe", "search", "network", "update", "other")
    rows = [[f"{_named(r)}, `{r['method']}`", *(r[part] for part in parts)] for r in records]
    return table(["problem, method", *parts], rows)


def _against_base_table(records: Records) -> str:
    """A row per problem, a column per method: times now, and their ratio to the times before."""
    methods = list(dict.fromkeys(record["method"] for record in records))
    rows: dict[str, dict[str, str]] = {}
    for record in records:
        update = f" / {record['new_update_us']:.0f}" if "new_update_us" in record else ""
        shown = f"{record['new_us']:.0f}{update} ({record['ratio']:.2f})"
        rows.setdefault(_named(record), {})[record["method"]] = shown
    titles = ["problem, size", *(f"`{method}`" for method in methods)]
    return table(
        titles, [[name, *(r.get(method, "–") for method in methods)] for name, r in rows.items()]
    )


#: tables of the documents: which records they show, and how
TABLES: dict[str, tuple[str, Callable[[Records], str]]] = {
    "decisions": ("decisions", _decisions_table),
    "short": ("decisions", _short),
    "steps": ("steps", _steps_table),
    "references": ("references", _references_table),
    "training": ("training", _training_table),
    "training-parts": ("training", _training_parts_table),
    "training-against-base": ("training-against-base", _against_base_table),
    "decisions-against-base": ("decisions-against-base", _against_base_table),
}


def filled(text: str, records: Mapping[str, Records]) -> str:
    """A document with everything between marks written anew from the records."""

    def block(match: re.Match[str]) -> str:
        part, show = TABLES[match[2]]
        return f"{match[1]}\n{show(records.get(part, ()))}\n{match[3]}"

    return _BLOCK.sub(block, text)


def publish(records: Mapping[str, Records]) -> None:
    """Write the records, and the documents anew from them."""
    write_atomically(RECORDS, (json.dumps(records, indent=1) + "\n").encode())
    for document in DOCUMENTS:
        path = ROOT / document
        write_atomically(path, filled(path.read_text("utf-8"), records).encode())


def publish_rows(part: str, rows: Records) -> None:
    """Put rows of a part in the place of those of the same problem and method, and publish."""
    records = json.loads(RECORDS.read_text())
    named = {(row["problem"], row["method"]): row for row in [*records.get(part, ()), *rows]}
    publish(records | {part: list(named.values())})


def main() -> None:
    """Measure, print, and publish where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="among " + ", ".join(PARTS))
    parser.add_argument("--publish", action="store_true")
    arguments = parser.parse_args()
    records = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    for part in arguments.parts.split(","):
        records[part] = PARTS[part]()
        print(TABLES[part][1](records[part]))
    if arguments.publish:
        publish(records)


if __name__ == "__main__":
    main()
