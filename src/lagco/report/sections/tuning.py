"""Searches for hyper-parameters: their course and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.report.blocks import Block, Folded, Grid, Heading, Plot, Shown
from lagco.report.plots import axis, dots, figure, line, numbers
from lagco.report.reading import Study, grouped
from lagco.report.sections.common import slug
from lagco.report.tables import Cell, Column, Table, plain_columns, table
from lagco.study import Record


def blocks(study: Study) -> Sequence[Block] | str:
    """The course of every search, what it found, and all trials."""
    searches = study.records("tune")
    trials = study.records("trial")
    if not searches and not trials:
        return (
            "The ledger holds no search for hyper-parameters. lagco study tune --out DIR makes one."
        )
    unfinished = _unfinished(searches, trials)
    found: list[Block] = []
    if searches:
        plots = [Plot(_title(record.spec), _course(record)) for record in searches]
        caption = (
            "Value of every trial on the validation instances, in order. The line is the best so "
            "far. Trials that could not be run are left out."
        )
        found += [Grid(plots, caption), Shown(best_trials(searches))]
    if unfinished:
        found += [Heading("Searches that are not finished"), Shown(_progress(unfinished))]
    for record in searches:
        found.append(Folded(f"All trials: {_title(record.spec)}", [Shown(_trials(record))]))
    return found


def _title(spec: Mapping[str, Any]) -> str:
    return f"{spec['problem']}, space {spec['space']}"


def _unfinished(searches: Sequence[Record], trials: Sequence[Record]) -> dict[Any, list[Record]]:
    done = {trial["key"] for search in searches for trial in search.result["trials"]}
    rest = [trial for trial in trials if trial.key not in done]
    return grouped(rest, lambda trial: _title(trial.spec))


def _course(record: Record) -> dict[str, Any]:
    known = [trial for trial in record.result["trials"] if trial["value"] is not None]
    places = [trial["number"] + 1 for trial in known]
    values = [float(trial["value"]) for trial in known]
    best = [max(values[: i + 1]) for i in range(len(values))]
    method = str(record.spec.get("method", ""))
    traces = [
        line(method, places, best, marks=False, name="best so far", hovertemplate="%{y:.3f}"),
        dots(method, places, numbers(values), name="trial", hovertemplate="%{y:.3f}"),
    ]
    traces[0]["line"] |= {"shape": "hv", "dash": "solid"}
    return figure(traces, axis("trial", rangemode="tozero"), axis(_measure(record)))


def _measure(record: Record) -> str:
    return str(record.spec.get("measure", "value")).replace("_", " ")


def best_trials(searches: Sequence[Record]) -> Table:
    """What every search found, by its best trial."""
    columns = (
        *plain_columns("problem", "space", "trials"),
        Column("value", "validation", digits=3),
        Column("test", "test", digits=3),
        Column("params", "best parameters"),
    )
    rows = []
    for record in searches:
        best = record.result["best"]
        rows.append(
            (
                str(record.spec["problem"]),
                str(record.spec["space"]),
                len(record.result["trials"]),
                best["value"],
                _test(record),
                ", ".join(f"{_short(k)} = {v}" for k, v in best["params"].items()),
            )
        )
    caption = (
        "The best trial of every search. It was chosen by its value on the validation instances; "
        "no trial saw the test instances."
    )
    return table("tuning", caption, columns, rows)


def _test(record: Record) -> float | None:
    test = record.result["best"].get("test")
    measure = str(record.spec.get("measure", "score"))
    try:
        value = test["unseen"][measure]["best"]
    except (KeyError, TypeError):
        return None
    return None if value is None else float(value)


def _short(parameter: str) -> str:
    return parameter.partition(".")[2] or parameter


def _progress(unfinished: Mapping[Any, Sequence[Record]]) -> Table:
    columns = (
        *plain_columns("search", trials="trials done"),
        Column("best", "best value", digits=3),
    )
    rows = []
    for title, trials in sorted(unfinished.items()):
        values = [t.result["value"] for t in trials if t.result["value"] is not None]
        rows.append((title, len(trials), max(values, default=None)))
    return table("tuning-unfinished", "Trials of searches without a result yet.", columns, rows)


def _trials(record: Record) -> Table:
    parameters = list(record.spec["domains"])
    columns = [
        Column("number", "trial"),
        Column("value", "value", digits=3),
        *(Column(name, _short(name)) for name in parameters),
    ]
    best = record.result["best"]["number"]
    rows = [
        [
            Cell(trial["number"] + 1),
            Cell(trial["value"], best=trial["number"] == best),
            *(Cell(_value(trial["params"].get(name))) for name in parameters),
        ]
        for trial in record.result["trials"]
    ]
    caption = f"Trials of {_title(record.spec)}; bold: the best. A dash: could not be run."
    return table(f"trials-{slug(record.name)}", caption, columns, rows)


def _value(value: Any) -> str | int | float | None:
    return value if value is None or isinstance(value, str | int | float) else str(value)
