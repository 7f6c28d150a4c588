"""How long training takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.report.blocks import Block, Grid, Heading, Plot, Shown, Together
from lagco.report.palette import methods_in_order, problems_in_order
from lagco.report.plots import axis, dots, figure, log_axis, named_axis, numbers
from lagco.report.reading import Study
from lagco.report.sections.common import by_setting, by_strategy, file_part, runs_in
from lagco.report.tables import Cell, Column, Table, mark_best, table
from lagco.study import Record, paper_tables


def blocks(study: Study) -> Sequence[Block] | str:
    """Seconds of the runs, and rates where they were measured apart."""
    rates = study.records("throughput")
    if not study.settings and not rates:
        return (
            "The ledger holds neither training runs nor measured rates. lagco study training-time "
            "--out DIR measures them."
        )
    found: list[Block] = []
    if study.settings:
        found += by_setting(study, lambda setting: _of_setting(study, setting))
    if rates:
        found += [Heading("Rates, measured one at a time"), Shown(_rates(rates))]
    return found


def _of_setting(study: Study, setting: str) -> list[Block]:
    def both(strategy: str) -> Block:
        plots = [
            Plot(problem, _seconds(study, setting, problem, strategy), height=220)
            for problem in study.problems_of(setting)
        ]
        runs = [r for (_, _, s), r in study.runs(setting).items() if s == strategy]
        caption = (
            f"Seconds of training, one mark per run ({runs_in(runs)} per method), agents trained "
            f"on {strategy} instances; pre-training of the encoder, which methods share, not "
            "included. Runs side by side on one machine slow each other down."
        )
        return Together([Grid(plots, caption), Shown(_table(study, setting, strategy))])

    return [by_strategy(study, setting, both)]


def _train_seconds(records: Sequence[Record]) -> list[float]:
    values = (record.measured.get("train_s") for record in records)
    return [float(value) for value in values if value is not None]


def _seconds(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any]:
    methods = list(reversed(study.methods_of(setting)))
    traces, all_seconds = [], []
    for place, method in enumerate(methods):
        values = _train_seconds(study.runs(setting).get((problem, method, strategy), ()))
        all_seconds += values
        if values:
            y = [place] * len(values)
            traces.append(dots(method, numbers(values), y, hovertemplate="%{x:.4g} s"))
    wide = bool(all_seconds) and min(all_seconds) > 0 and max(all_seconds) > 8 * min(all_seconds)
    plain = axis("seconds", rangemode="tozero", nticks=6)
    return figure(traces, log_axis("seconds", all_seconds) if wide else plain, named_axis(methods))


def _table(study: Study, setting: str, strategy: str) -> Table:
    methods = study.methods_of(setting)
    paper = paper_tables()["training_time"]
    columns = [Column("problem", "problem"), *(Column(method, method) for method in methods)]
    rows = []
    for problem in study.problems_of(setting):
        known = problem == paper["problem"] and strategy == paper["strategy"]
        cells = []
        for method in methods:
            values = _train_seconds(study.runs(setting).get((problem, method, strategy), ()))
            theirs = paper["seconds"].get(method) if known else None
            cells.append(_mean(values, theirs))
        rows.append([Cell(problem), *mark_best(cells, columns[1:], smallest=True)])
    caption = (
        f"Seconds of training, agents trained on {strategy} instances: mean over runs, and the "
        "least to the most. Bold: the shortest. Where the paper reports the same, the mean of its "
        "five runs on its own machine."
    )
    name = f"training-times-{strategy}{file_part(study, setting)}"
    return table(name, caption, columns, rows, "range")


def _mean(values: Sequence[float], paper: Sequence[float] | None) -> Cell:
    theirs = None if paper is None else float(np.mean(paper))
    if not values:
        return Cell(paper=theirs)
    mean = float(np.mean(values))
    return Cell(mean, min(values), max(values), theirs) if len(values) > 1 else Cell(mean)


def _rates(records: Sequence[Record]) -> Table:
    columns = (
        Column("problem", "problem"),
        Column("method", "method"),
        Column("features", "features"),
        Column("steps_per_s", "training, steps/s"),
        Column("cartpole_steps_per_s", "CartPole, steps/s"),
        Column("share", "share", digits=2, hint="training over CartPole"),
        Column("decisions_per_s", "testing, steps/s"),
        Column("space_s", "fitting the space, s"),
    )
    problems = problems_in_order(str(record.spec["problem"]) for record in records)
    methods = methods_in_order(str(record.spec["method"]) for record in records)
    order = sorted(
        records,
        key=lambda r: (
            problems.index(str(r.spec["problem"])),
            methods.index(str(r.spec["method"])),
            str(r.spec["features"]),
        ),
    )
    rows = []
    for record in order:
        measured = record.measured
        rate, floor = measured.get("steps_per_s"), measured.get("cartpole_steps_per_s")
        rows.append(
            (
                str(record.spec["problem"]),
                str(record.spec["method"]),
                str(record.spec["features"]),
                rate,
                floor,
                rate / floor if rate and floor else None,
                measured.get("decisions_per_s"),
                measured.get("space_s") if record.spec.get("encoder") else None,
            )
        )
    caption = (
        "Environment steps per second with nothing else running: in training (rollouts and "
        "updates), of PPO on CartPole with the same networks and batches in the same session (what "
        "an environment that costs nothing would reach), and in testing."
    )
    return table("rates", caption, columns, rows)
