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
from lagco.results.resampling import Estimated
from lagco.results.statistics import mean
from lagco.study import improvement_table
from lagco.study.results.aggregates import mean_difference
from lagco.study.results.scores import Comparison, compare, holm, instance_scores, scores_of

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
            "Probability that the method of the row does better than that of the column. With a "
            "random run of each by the same strategy, on a random unseen instance of both; ties "
            "count half, 0.5 means no difference. Pointing at an entry shows its 95 % bootstrap "
            "interval over runs and instances; entries whose interval holds 0.5 are grey."
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
        f"{problem}: {MEASURE_NAMES[study.measure_of(problem)]} on unseen instances. Best of "
        f"{episodes_of(study, setting)} episodes, final state, as in the paper's extended tables"
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
    for (problem, strategy, first, second, gap, compared), p in zip(pairs, corrected, strict=True):
        cell = Cell(gap.value, gap.low, gap.high)
        rows.append((problem, strategy, first, second, compared.instances, cell, p))
    caption = (
        "The best method against the next one, by mean score over the unseen instances that both "
        "were tested on. Difference of the interquartile means with its 95 % bootstrap interval "
        "over runs and instances; p of the Wilcoxon signed-rank test, corrected for the number of "
        "rows. Instances alone are the sample of the test: runs on the same instance are averaged "
        "first, so differences between training seeds are in the interval and not in p."
    )
    name = f"leaders{file_part(study, setting)}"
    return table(name, caption, columns, rows, "95 %")


def _leading_pair(
    study: Study, setting: str, problem: str, strategy: str
) -> tuple[str, str, Estimated, Comparison] | None:
    ranked, measure = [], study.measure_of(problem)
    for method in study.methods_of(setting):
        row = study.rows[setting].get((problem, method, strategy))
        if row is not None and row["main"] is not None:
            values = instance_scores(study.runs(setting)[problem, method, strategy], measure)
            ranked.append((-mean(list(values.values())), method, values))
    if len(ranked) < 2:
        return None
    (_, first, a), (_, second, b) = sorted(ranked, key=lambda entry: entry[:2])[:2]
    compared = compare(a, b)
    if compared is not None and compared.difference < 0:  # they were not tested on the same
        first, second, compared = second, first, compare(b, a)
    if compared is None:
        return None
    samples = [
        scores_of(study.runs(setting)[problem, m, strategy], measure) for m in (first, second)
    ]
    return first, second, mean_difference({"": samples[0]}, {"": samples[1]}, [""]), compared


# -- who beats whom


def _improvement(study: Study, setting: str) -> list[Block]:
    rows = [row for row in improvement_table(study.ledger) if row["setting"] == setting]
    found: list[Block] = []
    for problem in study.problems_of(setting):
        known = {
            (r["first"], r["second"]): Estimated(r["probability"], r["low"], r["high"])
            for r in rows
            if r["problem"] == problem
        }
        methods = [m for m in study.methods_of(setting) if any(m in pair for pair in known)]
        if known:
            found.append(Plot(problem, _matrix(methods, known), height=300))
    return found


def _shade(found: Estimated) -> float:
    """The probability where it is clear, else that of no difference."""
    return found.value if found.low > 0.5 or found.high < 0.5 else 0.5


def _matrix(methods: Sequence[str], known: dict[tuple[str, str], Estimated]) -> dict[str, Any]:
    rows = list(reversed(methods))
    found = [[known.get((a, b)) for b in methods] for a in rows]
    found = [[known.get((a, b)) for b in methods] for a in rows]
    values = [numbers([None if e is None else e.value for e in row], 2) for row in found]
    shades = [numbers([None if e is None else _shade(e) for e in row], 2) for row in found]
    said = [["" if e is None else str(e) for e in row] for row in found]
    names = [label(label_of(method)) for method in methods]
    trace = {
        "type": "heatmap",
        "x": names,
        "y": names[::-1],
        "z": shades,
        "text": values,
        "customdata": said,
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0, "#d98d3f"], [0.5, "#f4f4f2"], [1, "#3f7fb5"]],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "texttemplate": "%{text:.2f}",
        "textfont": {"size": 10, "color": "#1c2127"},
        "hovertemplate": "%{y} over %{x}: %{customdata}<extra></extra>",
    }
    x_axis = {"type": "category", "side": "top", "tickangle": -40, "showgrid": False, "ticks": ""}
    y_axis = {"type": "category", "showgrid": False, "ticks": ""}
    return figure([trace], x_axis, y_axis)
