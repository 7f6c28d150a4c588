"""Timing answers: ours in this warm process, those of others each in a process of its own.

Seconds are those of the processor for both. Programs that stop by the clock see one that counts
their processor time (`solvers/processor_clock.c`).
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lagco
from benchmarks.outside.cases import Case, Comparison
from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems import problem_class
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).resolve().parents[1] / "results" / "outside.json"
SOLVERS = Path(__file__).parent / "solvers"
SECONDS = (0.1, 1.0, 10.0)
#: our answers: `solve` as it comes
OURS = "lagco"
#: how long a program may stay beyond its limit, in seconds by the clock
_PATIENCE = 1200.0

Record = dict[str, Any]
Records = dict[str, Record]


def recorded() -> Records:
    """All records so far."""
    return json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}


def key(comparison: Comparison, case: Case, who: str, seconds: float) -> str:
    """Name of a record; 0 seconds of a solver that stops by itself."""
    return f"{comparison.problem}/{case.group}/{case.name}/{who}/{seconds:g}"


def measure(
    comparison: Comparison,
    folder: Path | None,
    interpreters: Mapping[str, str],
    seconds_of: Sequence[float] = SECONDS,
    only: str = "",
) -> None:
    """Answer what is not in the records yet.

    Args:
        comparison: who is compared.
        folder: of instance files.
        interpreters: of the solvers by others, by name; of all others under "".
        seconds_of: limits of time.
        only: beginning of the names of the groups.
    """
    records, warmed = recorded(), False
    for case in comparison.cases(folder):
        if not case.group.startswith(only):
            continue
        wanted = [(who, 0.0) for who in comparison.whole]
        wanted += [(who, s) for s in seconds_of for who in (OURS, *comparison.limited)]
        for who, seconds in wanted:
            name = key(comparison, case, who, seconds)
            if name in records or who in case.skipped:
                continue
            if who == OURS:
                if not warmed:
                    warm(comparison)
                    warmed = True
                records[name] = our_answer(case.instance, seconds)
            else:
                python = interpreters.get(who, interpreters[""])
                records[name] = outside_answer(comparison, case, who, seconds, python)
            print(name, records[name], flush=True)
            write_atomically(RESULTS, readable_json(records))


def warm(comparison: Comparison) -> None:
    """Compile and load everything, on another instance."""
    instance = comparison.warm()
    for _ in range(2):
        lagco.solve(instance, seconds=1.0, progress=False)


def our_answer(instance: Instance, seconds: float) -> Record:
    """The value of an answer of ours, from scratch."""
    began = time.perf_counter()
    found = lagco.solve(instance, seconds=seconds, progress=False)
    took = time.perf_counter() - began
    value = checked(instance, found.solution)
    kept = {"objective": value, "took": round(took, 3)}
    return kept if found.bound is None else kept | {"bound": found.bound}


def checked(instance: Instance, solution: Array) -> float:
    """The value of a solution by our own rules, which refuse what is not valid."""
    return float(problem_class(instance.problem).evaluate_solution(instance, solution))


def outside_answer(
    comparison: Comparison, case: Case, who: str, seconds: float, python: str
) -> Record:
    """The value of an answer by others, from scratch, and the bound or proof that comes with it."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "instance.json", Path(folder) / "answer.json"
        given.write_text(json.dumps({k: v.tolist() for k, v in case.given.items()}), "utf-8")
        words = [python, str(SOLVERS / comparison.script), who, str(given), str(seconds), str(out)]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            env=os.environ | {"LD_PRELOAD": str(processor_clock()), "OMP_NUM_THREADS": "1"},
        )
        if done.returncode:
            raise SystemExit(f"{who} on {case.name}: {done.stderr[-2000:]}")
        answer = json.loads(out.read_text("utf-8"))
    answer["took"] = round(answer["took"], 3)
    solution = answer.pop("solution")
    value = None
    if solution is not None:
        value = checked(case.instance, comparison.solution(case.instance, solution))
    return {"objective": value, **answer}


@functools.cache
def processor_clock() -> Path:
    """The library that is loaded before the C library, built anew."""
    built = Path(tempfile.mkdtemp(prefix="processor-clock-")) / "processor_clock.so"
    source = SOLVERS / "processor_clock.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(built), str(source)], check=True)
    return built


def as_numbers(**arrays: Any) -> dict[str, Array]:
    """Arrays to be given to others."""
    return {name: np.asarray(values) for name, values in arrays.items()}
