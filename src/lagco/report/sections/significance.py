"""Significance and normality of the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lagco.report.blocks import Block, Grid, Heading, Plot, Shown, Text, switch
from lagco.report.palette import label_of
from lagco.report.plots import figure, label, numbers
from lagco.report.reading import Study, count_of
from lagco.report.sections.common import (
    MEASURE_NAMES,
    about_runs,
    episodes_of,
    file_part,
    slug,
)
from lagco.report.tables import Cell, Column, Table, plain_columns, table
from lagco.results.statistics import mean
from lagco.study import improvement_table
from lagco.study.scores import Comparison, compare, holm, instance_scores

_LEVEL = 0.05


def blocks(study: Study) -> Sequence[Block] | str:
    """Statistics of every entry, the best method against the next, pairwise comparisons."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    found: list[Block] = [
        Heading("Statistics of every entry"),
        _normality(study, setting),
        switch(
            "Problem",
            {p: Shown(_statistics(study, setting, p)) for p in study.problems_of(setting)},
        ),
    ]
    leaders = _leaders(study, setting)
    if leaders.rows:
        found += [Heading("The best method against the next"), Shown(leaders)]
    plots = _improvement(study, setting)
    if plots:
        caption = (
            "Probability that the method of the row does better than the method of the column on a "
            "random unseen instance (ties count half), over all strategies and runs; 0.5 means no "
            "difference."
        )
        found += [Heading("Pairwise comparisons"), Grid(plots, caption, wide=True)]
    return found


def _normality(study: Study, setting: str) -> Block:
    tested = [
        row["main"]["shapiro_p"]
        for row in study.rows[setting].values()
        if row["main"] is not None and row["main"]["shapiro_p"] is not None
    ]
    if not tested:
        return Text("There are too few scores per entry to test whether they are normal.")
    rejected = sum(p < _LEVEL for p in tested)
    return Text(
        f"The Shapiro–Wilk test rejects normality at the 5 % level for {rejected} of "
        f"{count_of(len(tested), 'sample')} of scores. This is why tables show interquartile means "
        "and percentiles, and why intervals come from the bootstrap, which assumes no distribution."
    )


def _statistics(study: Study, setting: str, problem: str) -> Table:
    columns = (
        *plain_columns("strategy", "method", "runs", "scores"),
        Column("iqm", "IQM", digits=3, hint="interquartile mean, 95 % bootstrap interval"),
        Column("mean", "mean", digits=3, hint="95 % bootstrap interval"),
        Column("p16", "p16", digits=3, hint="16th percentile"),
        Column("p84", "p84", digits=3, hint="84th percentile"),
        Column("shapiro_p", "p (normal)", digits=3, floor=0.001, hint="Shapiro–Wilk"),
    )
    rows = []
    for strategy in study.strategies_of(setting):
        for method in study.methods_of(setting):
            row = study.rows[setting].get((problem, method, strategy))
            if row is None or row["main"] is None:
                continue
            summary, paper = row["main"], row["paper"] or {}
            theirs = paper.get("mean")
            ends: tuple[float | None, float | None] = (None, None)
            if theirs is not None:
                ends = theirs - paper["low"], theirs + paper["high"]
            rows.append(
                (
                    strategy,
                    method,
                    row["runs"],
                    summary["count"],
                    _interval_cell(summary, "iqm", paper),
                    _interval_cell(summary, "mean", paper),
                    Cell(summary["p16"], paper=ends[0]),
                    Cell(summary["p84"], paper=ends[1]),
                    Cell(summary["shapiro_p"], paper=paper.get("p")),
                )
            )
    caption = (
        f"{problem}: {MEASURE_NAMES[study.measure_of(problem)]} on unseen instances (best of "
        f"{episodes_of(study, setting)} episodes, final state), as in the paper's extended tables"
        f"{'' if study.departures(setting) else ', whose figures are in the last line'}. Below "
        "IQM and mean are their 95 % bootstrap intervals. A small p is evidence against a normal "
        "distribution; there is no p if all values are equal."
    )
    name = f"statistics-{slug(problem)}{file_part(study, setting)}"
    return table(name, caption, columns, rows, "95 %")


def _interval_cell(summary: Mapping[str, Any], name: str, paper: Mapping[str, Any]) -> Cell:
    low, high = summary[f"{name}_interval"]
    return Cell(summary[name], low, high, paper.get(name))


# -- the leader against the next


def _leaders(study: Study, setting: str) -> Table:
    columns = (
        *plain_columns("problem", "strategy", "best", second="next", instances="instances"),
        Column("difference", "difference", digits=3, signed=True),
        Column(
            "p",
            "p (Holm)",
            digits=3,
            floor=0.001,
            hint="Wilcoxon signed-rank test, Holm's correction",
        ),
    )
    pairs = []
    for problem in study.problems_of(setting):
        for strategy in study.strategies_of(setting):
            found = _leading_pair(study, setting, problem, strategy)
            if found is not None:
                pairs.append((problem, strategy, *found))
    corrected = holm([compared.p for *_, compared in pairs])
    rows = []
    for (problem, strategy, first, second, compared), p in zip(pairs, corrected, strict=True):
        cell = Cell(compared.difference, compared.low, compared.high)
        rows.append((problem, strategy, first, second, compared.instances, cell, p))
    caption = (
        "The method with the largest mean score over instances against the next one, on the unseen "
        "instances that both were tested on: mean difference of the scores with its 95 % bootstrap "
        "interval, and p of the Wilcoxon signed-rank test, corrected for the number of rows. "
        "Instances are the sample; runs on the same instance are averaged first, so differences "
        "between training seeds are not part of the test."
    )
    name = f"leaders{file_part(study, setting)}"
    return table(name, caption, columns, rows, "95 %")


def _leading_pair(
    study: Study, setting: str, problem: str, strategy: str
) -> tuple[str, str, Comparison] | None:
    ranked, measure = [], study.measure_of(problem)
    for method in study.methods_of(setting):
        row = study.rows[setting].get((problem, method, strategy))
        if row is not None and row["main"] is not None:
            values = instance_scores(study.runs(setting)[problem, method, strategy], measure)
            ranked.append((-mean(list(values.values())), method, values))
    if len(ranked) < 2:
        return None
    (_, first, ours), (_, second, theirs) = sorted(ranked, key=lambda entry: entry[:2])[:2]
    compared = compare(ours, theirs)
    if compared is not None and compared.difference < 0:  # they were not tested on the same
        first, second, compared = second, first, compare(theirs, ours)
    return None if compared is None else (first, second, compared)


# -- who beats whom


def _improvement(study: Study, setting: str) -> list[Block]:
    rows = [row for row in improvement_table(study.ledger) if row["setting"] == setting]
    found: list[Block] = []
    for problem in study.problems_of(setting):
        known = {
            (r["first"], r["second"]): r["probability"] for r in rows if r["problem"] == problem
        }
        methods = [m for m in study.methods_of(setting) if any(m in pair for pair in known)]
        if known:
            found.append(Plot(problem, _matrix(methods, known), height=300))
    return found


def _matrix(methods: Sequence[str], known: dict[tuple[str, str], float]) -> dict[str, Any]:
    rows = list(reversed(methods))
    values = [numbers([known.get((a, b)) for b in methods], 2) for a in rows]
    names = [label(label_of(method)) for method in methods]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names[::-1],
        "z": values,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "#d98d3f"], [0.5, "#f4f4f2"], [1, "#3f7fb5"]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "texttemplate": "%{z:.2f}",
        "textfont": {"size": 10, "color": "#1c2127"},
        "hovertemplate": "%{y} over %{x}: %{z:.2f}<extra></extra>",
    }
    x_axis = {"type": "category", "side": "top", "tickangle": -40, "showgrid": False, "ticks": ""}
    y_axis = {"type": "category", "showgrid": False, "ticks": ""}
    return figure([trace], x_axis, y_axis)
