"""Learning curves: mean over seeds and a band around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lagco.report.blocks import Block, Grid, Legend, Shown, Text
from lagco.report.palette import label_of
from lagco.report.plots import axis, band, figure, line
from lagco.report.reading import Study
from lagco.report.sections.common import (
    MEASURE_NAMES,
    about_runs,
    by_strategy,
    file_part,
    plots_by_problem,
    runs_in,
    runs_of,
)
from lagco.report.tables import Cell, Column, Table, mark_best, plain_columns, table
from lagco.study import Record

_POINTS = 48


def blocks(study: Study) -> Sequence[Block] | str:
    """One figure per problem."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    def grid(strategy: str) -> Block:
        plots = plots_by_problem(study, setting, lambda p: _curves(study, setting, p, strategy))
        if not plots:
            return Text("No episode of these runs ended in training, so there is no curve.")
        runs = runs_of(study, setting, strategy)
        caption = (
            f"Score of training episodes over environment steps, on {strategy} instances. Each "
            f"point is a mean of the last episodes. Line: mean over {runs_in(runs)}"
        )
        if max(map(len, runs)) > 1:
            caption += "; band: their 16th to 84th percentile"
        caption += "."
        return Grid(plots, caption)

    found: list[Block] = [Legend(study.methods_of(setting)), by_strategy(study, setting, grid)]
    found.append(Shown(_ends(study, setting)))
    return found


def _curves(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any] | None:
    bands: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for method in study.methods_of(setting):
        found = _together(study.runs(setting).get((problem, method, strategy), ()))
        if found is None:
            continue
        steps, values = found
        if len(values) > 1:
            low, high = np.percentile(values, [16, 84], axis=0)
            bands.append(band(method, steps.tolist(), low.tolist(), high.tolist()))
        mean = values.mean(axis=0)
        lines.append(line(method, steps.tolist(), mean.tolist(), hovertemplate="%{y:.3f}"))
    if not lines:
        return None
    x_axis = axis("environment steps", rangemode="tozero", exponentformat="SI", nticks=6)
    return figure([*bands, *lines], x_axis, axis(MEASURE_NAMES[study.measure_of(problem)]))


def _together(records: Sequence[Record]) -> tuple[Any, Any] | None:
    """Steps that all curves reach, and the scores there (runs, steps)."""
    curves = []
    for record in records:
        curve = record.result["curve"]
        scored = any(score is not None for score in curve["score"])
        values = curve["score" if scored else "return"]  # a problem without a score has returns
        known = [
            (step, value)
            for step, value in zip(curve["steps"], values, strict=True)
            if value is not None
        ]
        if known:
            curves.append(np.array(known, dtype=float).T)
    if not curves:
        return None
    first, last = max(c[0, 0] for c in curves), min(c[0, -1] for c in curves)
    if first > last:
        return None
    if len(curves) == 1 or all(np.array_equal(c[0], curves[0][0]) for c in curves):
        steps = curves[0][0]
    else:
        steps = np.linspace(first, last, _POINTS)
    return steps, np.array([np.interp(steps, *curve) for curve in curves])


def _ends(study: Study, setting: str) -> Table:
    methods = study.methods_of(setting)
    columns = [
        *plain_columns("problem", "strategy"),
        *(Column(method, label_of(method), digits=2) for method in methods),
    ]
    rows = []
    for problem in study.problems_of(setting):
        for strategy in study.strategies_of(setting):
            cells = [Cell(problem), Cell(strategy)]
            for method in methods:
                found = _together(study.runs(setting).get((problem, method, strategy), ()))
                ends = None if found is None else found[1][:, -1]
                cells.append(Cell() if ends is None else _spread(ends))
            rows.append([*cells[:2], *mark_best(cells[2:], columns[2:])])
    caption = (
        "Score of training episodes at the end of training. Mean over runs, and the 16th to the "
        "84th percentile. Bold: the largest of the row. These are training instances; they say "
        "nothing about unseen ones."
    )
    name = f"training-scores{file_part(study, setting)}"
    return table(name, caption, columns, rows, "16–84 %")


def _spread(values: Any) -> Cell:
    if len(values) == 1:
        return Cell(float(values[0]))
    low, high = np.percentile(values, [16, 84])
    return Cell(float(values.mean()), float(low), float(high))
