"""Train-test gaps: unseen instances against those that agents were trained on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lagco.report.blocks import Block, Grid, Shown, Text
from lagco.report.palette import label_of, style_of
from lagco.report.plots import axis, dots, figure, named_axis, numbers
from lagco.report.reading import Study
from lagco.report.sections.common import (
    MEASURE_NAMES,
    about_runs,
    by_strategy,
    digits_of,
    file_part,
    plots_by_problem,
    runs_in,
    runs_of,
)
from lagco.report.tables import Cell, Column, Table, table
from lagco.results.measures import RETURN


def blocks(study: Study) -> Sequence[Block] | str:
    """Seen and unseen side by side, and the gaps on both scales."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    def grid(strategy: str) -> Block:
        plots = plots_by_problem(
            study, setting, lambda p: _dumbbells(study, setting, p, strategy), height=230
        )
        if not plots:
            return Text("No run of this strategy scored on both seen and unseen instances.")
        runs = runs_of(study, setting, strategy)
        caption = (
            f"Scores on training instances (open) and on unseen ones (filled). Agents trained on "
            f"{strategy} instances, best test episode, interquartile means over {runs_in(runs)} "
            "per method. The shorter the line, the better the transfer."
        )
        return Grid(plots, caption)

    return [by_strategy(study, setting, grid), Shown(_table(study, setting))]


def _dumbbells(study: Study, setting: str, problem: str, strategy: str) -> dict[str, Any] | None:
    traces: list[dict[str, Any]] = []
    methods: list[str] = []
    measure = study.measure_of(problem)
    for method in reversed(study.methods_of(setting)):
        row = study.rows[setting].get((problem, method, strategy))
        if row is None or row["main"] is None or row["delta"][measure] is None:
            continue
        unseen = row["main"]["iqm"]
        x, y = numbers([unseen - row["delta"][measure], unseen]), [len(methods)] * 2
        methods.append(method)
        colour = style_of(method).colour
        mark = {
            "symbol": ["circle-open", "circle"],
            "size": 9,
            "color": colour,
            "line": {"width": 2, "color": colour},
        }
        traces.append(
            dots(
                method,
                x,
                y,
                mode="lines+markers",
                marker=mark,
                line={"color": colour, "width": 2},
                hovertemplate="%{x:.3f}",
            )
        )
    if not traces:
        return None
    y_axis = named_axis([label_of(method) for method in methods])
    return figure(traces, axis(MEASURE_NAMES[measure], rangemode="tozero"), y_axis)


def _table(study: Study, setting: str) -> Table:
    columns = [Column("problem", "problem"), Column("method", "method")]
    strategies = study.strategies_of(setting)
    wanted = ("score", "solver_score", RETURN)
    measures = [measure for measure in study.measures_of(setting) if measure in wanted]
    for measure in measures:
        columns += [
            Column(s, s, MEASURE_NAMES[measure], digits_of(measure), signed=True)
            for s in strategies
        ]
    rows = []
    for problem in study.problems_of(setting):
        for method in study.methods_of(setting):
            cells = [Cell(problem), Cell(method)]
            for measure in measures:
                for strategy in strategies:
                    place = (problem, method, strategy)
                    cells.append(Cell(study.transfer(setting, place, measure)))
            rows.append(cells)
    caption = (
        "Unseen minus seen instances, on both scales. Interquartile mean of the best episode on "
        "unseen instances minus that on training instances; negative: worse on unseen ones."
    )
    return table(f"gaps{file_part(study, setting)}", caption, columns, rows)
