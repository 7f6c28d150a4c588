"""Overview: finished, failed and missing tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lagco.report.blocks import Block, Folded, Heading, Preformatted, Shown, Text, Tiles
from lagco.report.palette import label_of, methods_in_order, problems_in_order
from lagco.report.reading import Study, count_of, grouped
from lagco.report.tables import Column, Value, plain_columns, table
from lagco.results.numbers import significant

_WHAT = {
    "data": "data sets",
    "encoder": "encoders",
    "policy": "plain policies",
    "run": "training runs",
    "training": "timed training runs",
    "throughput": "measured rates",
    "latency": "timed decisions",
    "embedding": "measured action spaces",
    "trial": "tuning trials",
    "tune": "searches",
}


def blocks(study: Study) -> Sequence[Block]:
    """Counts, coverage and failures."""
    found: list[Block] = [Tiles(_facts(study)), _kinds(study)]
    if study.records("run"):
        found.append(_coverage(study))
    if study.failures:
        found += _failures(study)
    return found


def _facts(study: Study) -> list[tuple[str, str]]:
    planned = planned_runs(study)
    runs = study.records("run")
    done = str(len(runs))
    if planned is not None:
        missing = _missing(study)
        done = f"{planned - missing} of {planned}" if missing else done
    seconds = sum(float(record.measured.get("seconds") or 0.0) for record in study.records())
    facts = [
        ("problems", str(len({str(record.spec["problem"]) for record in study.records()}))),
        ("training runs", done),
        ("failed tasks", str(len(study.failures))),
        ("computing time", duration(seconds)),
    ]
    cpu = sum(float(record.measured.get("cpu_s") or 0.0) for record in study.records())
    if cpu:
        facts.append(("processor time", duration(cpu)))
    versions = sorted({str(record.spec["code"]["version"]) for record in study.records()})
    return [*facts, ("lagco", ", ".join(versions))]


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{significant(seconds / length)}\u00a0{unit}"
    return f"{significant(seconds)}\u00a0s"


def _kinds(study: Study) -> Block:
    failed = grouped_failures(study)
    kinds = [kind for kind in _WHAT if study.records(kind) or kind in failed]
    rows = []
    for kind in kinds:
        records = study.records(kind)
        seconds = sum(float(record.measured.get("seconds") or 0.0) for record in records)
        missing = _missing(study) if kind == "run" and planned_runs(study) is not None else None
        rows.append((_WHAT[kind], len(records), failed.get(kind, 0), missing, duration(seconds)))
    columns = plain_columns("what", "done", "failed", "missing", time="time spent")
    caption = (
        "Tasks by kind. Missing: planned training runs without a record, including failed ones; a "
        "dash if that is not known."
    )
    return Shown(table("tasks", caption, columns, rows))


def grouped_failures(study: Study) -> dict[str, int]:
    """Failures per kind."""
    counts: dict[str, int] = {}
    for failure in study.failures:
        kind = str(failure.get("kind"))
        counts[kind] = counts.get(kind, 0) + 1
    return counts


_PARTS = ("problems", "methods", "strategies", "seeds", "features", "steps")


def planned_runs(study: Study) -> int | None:
    """Runs that the study was last started with; None where that is not known."""
    settings = study.planned.get("generalization")
    if settings is None or not all(isinstance(settings.get(p), list) for p in _PARTS):
        return None
    return math.prod(len(settings[part]) for part in _PARTS)


def _missing(study: Study) -> int:
    """Planned runs without a record."""
    settings = study.planned["generalization"]
    planned = set(itertools.product(*(settings[part] for part in _PARTS)))
    done = {
        (
            record.spec["problem"],
            *(record.spec["config"][name] for name in ("method", "strategy", "seed")),
            *(record.spec["config"][name] for name in ("features", "steps")),
        )
        for record in study.records("run")
        if record.spec["instances"] == settings.get("instances")
        and record.spec["config"]["preset"] == settings.get("training")
    }
    return len(planned - done)


def _coverage(study: Study) -> Block:
    counts = grouped(
        study.records("run"), lambda r: (str(r.spec["problem"]), str(r.spec["config"]["method"]))
    )
    methods = methods_in_order(method for _, method in counts)
    problems = problems_in_order(problem for problem, _ in counts)
    columns = (Column("problem", "problem"), *(Column(m, label_of(m)) for m in methods))
    rows: list[list[Value]] = [
        [problem, *(len(counts.get((problem, method), ())) for method in methods)]
        for problem in problems
    ]
    caption = "Training runs that are done, per problem and method, over all strategies and seeds."
    return Shown(table("runs-done", caption, columns, rows))


def _failures(study: Study) -> list[Block]:
    columns = plain_columns("kind", name="task", attempts="attempts", error="error")
    rows: list[tuple[Value, ...]] = [
        (
            str(failure.get("kind")),
            str(failure.get("name")),
            _count(failure.get("attempts")),
            _short(str(failure.get("error"))),
        )
        for failure in study.failures
    ]
    caption = "What failed and was not done since; the same command tries it again."
    first = study.failures[:20]
    tracebacks: list[Block] = []
    for failure in first:
        tracebacks += [Text(str(failure.get("name"))), Preformatted(_end(failure))]
    more = len(study.failures) - len(first)
    if more:
        tracebacks.append(Text(f"{count_of(more, 'more traceback')} in the folder failures."))
    return [
        Heading("Failures"),
        Shown(table("failures", caption, columns, rows)),
        Folded("Tracebacks", tracebacks),
    ]


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _short(text: str) -> str:
    return text if len(text) <= 200 else text[:199] + "…"


def _end(failure: Mapping[str, Any]) -> str:
    return str(failure.get("traceback") or failure.get("error"))[-3000:]
