"""Training times: full runs timed one at a time, the runs of the study, and rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from lagco.report.blocks import Block, Grid, Heading, Shown, Together, switch
from lagco.report.palette import label_of, methods_in_order, problems_in_order
from lagco.report.plots import axis, dots, figure, log_axis, named_axis, numbers
from lagco.report.reading import Study
from lagco.report.sections.common import (
    by_setting,
    by_strategy,
    file_part,
    plots_by_problem,
    runs_in,
    runs_of,
    slug,
)
from lagco.report.tables import Cell, Column, Table, mark_best, plain_columns, table
from lagco.study import Record, training_times


def blocks(study: Study) -> Sequence[Block] | str:
    """Seconds of full runs as in the paper, those of all runs, and rates."""
    timed, rates = training_times(study.ledger), study.records("throughput")
    if not study.settings and not timed and not rates:
        return (
            "The ledger holds neither training runs nor measured rates. lagco study training-time "
            "--out DIR times full runs, lagco study throughput --out DIR measures rates."
        )
    found: list[Block] = []
    if timed:
        found += [Heading("Full runs, timed one at a time"), _timed(timed)]
    if study.settings:
        found.append(Heading("Runs of the generalisation study"))
        found += by_setting(study, lambda setting: _of_setting(study, setting))
    if rates:
        found += [Heading("Rates, measured one at a time"), Shown(_rates(rates))]
    return found


def _timed(rows: Sequence[Mapping[str, Any]]) -> Block:
    """One table per setting, laid out as the paper's."""
    settings = list(dict.fromkeys(str(row["setting"]) for row in rows))
    tables = {}
    for setting in settings:
        suffix = f"-{slug(setting)}" if len(settings) > 1 else ""
        tables[setting] = Shown(_timed_table([r for r in rows if r["setting"] == setting], suffix))
    return switch("Runs with", tables)


def _timed_table(rows: Sequence[Mapping[str, Any]], suffix: str) -> Table:
    runs = max(len(row["seconds"]) for row in rows)
    columns = [
        *plain_columns("problem", "method"),
        *(Column(f"run {i}", str(i), "seconds of run") for i in range(1, runs + 1)),
        Column("mean", "mean", "all runs"),
        Column("std", "std", "all runs", hint="standard deviation"),
        Column("cpu", "processor", hint="processor seconds, mean over the runs"),
        Column("encoder", "encoder", hint="seconds of pre-training, mean over the runs"),
    ]
    filled = []
    for row in rows:
        ours, theirs = row["seconds"], row["paper"] or ()
        both = zip_longest(range(runs), ours, theirs[:runs])
        cells = [Cell(value, paper=paper) for _, value, paper in both]
        cells += [Cell(_mean(ours), paper=_mean(theirs)), Cell(_std(ours), paper=_std(theirs))]
        cells += [Cell(_mean(row["cpu_s"])), Cell(_mean(row["encoder_s"]))]
        filled.append([Cell(row["problem"]), Cell(row["method"]), *cells])
    about = {(row["instances"], row["steps"]) for row in rows}
    listed = " or ".join(f"{steps} steps on {n} varied instances" for n, steps in sorted(about))
    caption = (
        "Seconds of full training runs, one at a time on one thread. Runs of "
        f"{listed}; pre-training of the encoder apart. The paper's figures, of its own machine, "
        "stand below where its protocol was followed."
    )
    return table(f"training-time{suffix}", caption, columns, filled)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def _std(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _of_setting(study: Study, setting: str) -> list[Block]:
    def both(strategy: str) -> Block:
        plots = plots_by_problem(
            study, setting, lambda p: _seconds(study, setting, p, strategy), height=220
        )
        runs = runs_of(study, setting, strategy)
        caption = (
            f"{_unit(study).capitalize()} of training on {strategy} instances. One mark per run, "
            f"{runs_in(runs)} per method; without pre-training the encoder, which methods share. "
            "Runs that share a machine slow each other down."
        )
        return Together([Grid(plots, caption), Shown(_table(study, setting, strategy))])

    return [by_strategy(study, setting, both)]


def _measured(study: Study) -> str:
    """Processor seconds where all runs have them: those by the clock depend on what else ran."""
    whole = all("train_cpu_s" in record.measured for record in study.records("run"))
    return "train_cpu_s" if whole else "train_s"


def _unit(study: Study) -> str:
    return "processor seconds" if _measured(study) == "train_cpu_s" else "seconds"


def _train_seconds(study: Study, records: Sequence[Record]) -> list[float]:
    values = (record.measured.get(_measured(study)) for record in records)
    return [float(value) for value in values if value is not None]


def _seconds(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any]:
    methods = list(reversed(study.methods_of(setting)))
    traces, all_seconds = [], []
    for place, method in enumerate(methods):
        values = _train_seconds(study, study.runs(setting).get((problem, method, strategy), ()))
        all_seconds += values
        if values:
            y = [place] * len(values)
            traces.append(dots(method, numbers(values), y, hovertemplate="%{x:.4g} s"))
    wide = bool(all_seconds) and min(all_seconds) > 0 and max(all_seconds) > 8 * min(all_seconds)
    plain = axis(_unit(study), rangemode="tozero", nticks=6)
    x_axis = log_axis(_unit(study), all_seconds) if wide else plain
    return figure(traces, x_axis, named_axis([label_of(method) for method in methods]))


def _table(study: Study, setting: str, strategy: str) -> Table:
    methods = study.methods_of(setting)
    columns = [Column("problem", "problem"), *(Column(m, label_of(m)) for m in methods)]
    rows = []
    for problem in study.problems_of(setting):
        cells = []
        for method in methods:
            values = _train_seconds(study, study.runs(setting).get((problem, method, strategy), ()))
            ends = (min(values), max(values)) if len(values) > 1 else ()
            cells.append(Cell(_mean(values), *ends))
        rows.append([Cell(problem), *mark_best(cells, columns[1:], smallest=True)])
    caption = (
        f"{_unit(study).capitalize()} of training on {strategy} instances. Means over runs, below "
        "them the range. Bold: the shortest."
    )
    name = f"training-times-{strategy}{file_part(study, setting)}"
    return table(name, caption, columns, rows, "range")


def _rates(records: Sequence[Record]) -> Table:
    columns = (
        *plain_columns(
            "problem",
            "method",
            "features",
            steps_per_s="training, steps/s",
            cartpole_steps_per_s="CartPole, steps/s",
        ),
        Column("share", "share", digits=2, hint="training over CartPole"),
        *plain_columns(decisions_per_s="testing, steps/s", space_s="fitting the space, s"),
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
        "Environment steps per second with nothing else running. Training means rollouts and "
        "updates; CartPole is PPO with the same networks and batches in the same session, on an "
        "environment that costs almost nothing."
    )
    return table("rates", caption, columns, rows)
