"""The generalisation table, laid out as in the paper, with the paper's figures next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lagco.report.blocks import Block, Folded, Grid, Heading, Legend, Plot, Shown, Switch, Text
from lagco.report.palette import LETTERS, label_of, methods_in_order, style_of
from lagco.report.plots import axis, dots, error_bars, figure, label, line, named_axis, numbers
from lagco.report.reading import Place, Study, count_of, listed
from lagco.report.sections.common import (
    CLEARLY_BEST,
    MEASURE_MEANINGS,
    MEASURE_NAMES,
    about_runs,
    digits_of,
    episodes_of,
    file_part,
    measured_cell,
    policies_said,
    runs_in,
    selection_names,
)
from lagco.report.tables import Cell, Column, Table, plain_columns, table
from lagco.results.measures import SELECTIONS, maximised
from lagco.results.resampling import Scores
from lagco.study.results.aggregates import clearly_best
from lagco.study.results.scores import middle, scores_of, values_of
from lagco.study.settings import ANNEALING, TIMED_SOLVER


def blocks(study: Study) -> Sequence[Block] | str:
    """Tables for every measure and selection, then ours next to the paper's."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    names = selection_names(episodes_of(study, setting))
    variants: dict[tuple[str, ...], Block] = {
        (MEASURE_NAMES[measure], names[selection]): Shown(
            _table(study, setting, measure, selection), by_group=True
        )
        for measure in study.measures_of(setting)
        for selection in SELECTIONS
    }
    choices = [
        ("Measure", [MEASURE_NAMES[measure] for measure in study.measures_of(setting)]),
        ("Test episodes", [names[selection] for selection in SELECTIONS]),
    ]
    about = Text(
        f"Runs with {setting}. Every agent is tested on the instances that it was not trained on. "
        "It is trained on one small (S), medium (M) or large (L) instance, or on a varied fifth of "
        "them (V)."
    )
    found: list[Block] = [about, Switch(choices, variants)]
    return found + _by_strategy(study, setting)


def _table(study: Study, setting: str, measure: str, selection: str) -> Table:
    methods = study.methods_of(setting)
    strategies = study.strategies_of(setting)
    paper = measure == "score" and selection == "best"
    columns = [Column("method", "method")]
    digits = digits_of(measure)
    problems = [p for p in study.problems_of(setting) if measure in study.measures_of(setting, p)]
    for problem in problems:
        columns += [
            Column(strategy, LETTERS.get(strategy, strategy), problem, digits, hint=strategy)
            for strategy in strategies
        ]
        if selection == "best":
            hint = "unseen minus seen, mean over strategies"
            columns.append(Column("delta", "Δ", problem, digits, signed=True, hint=hint))
    runs = study.runs(setting)
    filled: list[list[Cell]] = []
    for method in methods:
        cells = [Cell(method)]
        for problem in problems:
            places = [(problem, method, strategy) for strategy in strategies]
            for place in places:
                theirs = study.paper(setting, place) if paper else None
                figure = theirs["iqm"] if theirs else None
                cells.append(measured_cell(runs.get(place, ()), measure, selection, figure))
            if selection == "best":
                cells.append(_delta(study, setting, places, measure))
        filled.append(cells)
    best = _best(study, setting, measure, selection)
    filled = [
        [
            replace(cell, best=best.get((column.group, column.key)) == row[0].value)
            for cell, column in zip(row, columns, strict=True)
        ]
        for row in filled
    ]
    filled += _policies(study, setting, problems, measure, selection)
    name = f"generalization-{measure}-{selection}{file_part(study, setting)}"
    caption = _caption(study, setting, measure, selection)
    return table(name, caption, columns, filled, "16–84 %")


def _best(
    study: Study, setting: str, measure: str, selection: str
) -> dict[tuple[str, str], str | None]:
    """The clearly best method by problem and strategy."""
    samples: dict[tuple[str, str], dict[str, dict[str, Scores]]] = {}
    for (problem, method, strategy), runs in study.runs(setting).items():
        scores = scores_of(runs, measure, selection)
        if len(scores):
            samples.setdefault((problem, strategy), {})[method] = {"": scores}
    smallest = not maximised(measure)
    return {place: clearly_best(found, [""], smallest=smallest) for place, found in samples.items()}


def _delta(study: Study, setting: str, places: Sequence[Place], measure: str) -> Cell:
    """Mean over the strategies, as in the paper."""
    found = [study.transfer(setting, place, measure) for place in places]
    values = [value for value in found if value is not None]
    theirs = study.paper(setting, places[0]) if measure == "score" else None
    mean = sum(values) / len(values) if values else None
    return Cell(mean, paper=theirs["delta"] if theirs and values else None)


def _caption(study: Study, setting: str, measure: str, selection: str) -> str:
    runs = study.runs(setting)
    chosen = {
        "best": f"the best of {episodes_of(study, setting)} test episodes per instance",
        "first": "the first test episode per instance, in which the agent takes its mode",
        "all": "all test episodes, without selection",
    }[selection]
    text = (
        f"{_named(measure)} on unseen instances, by training strategy. This is "
        f"{MEASURE_MEANINGS[measure]}. Interquartile means over instances of {chosen}; "
        f"{runs_in(list(runs.values()))} per entry. Below them, the 16th to the 84th percentile"
    )
    if measure == "score" and selection == "best" and not study.departures(setting):
        text += " and the paper's figure"
    text += f". Bold: {CLEARLY_BEST}."
    if selection == "best":
        text += " Δ: unseen minus seen instances, mean over the strategies."
    refused = sum(row["refused"] for row in study.rows[setting].values())
    if refused:
        text += (
            f" Padded agents refused {count_of(refused, 'instance')} larger than their padding; "
            "these count as score 0 with an infinite gap."
        )
    if not maximised(measure):
        text += " 2/8: only two of eight instances were solved; the others count as infinite."
    return f"{text} {policies_said(study, setting)}"


def _lines_said(study: Study, setting: str) -> str:
    """Explanation of the horizontal lines; empty without any."""
    there = {name for p in study.problems_of(setting) for name in study.policies(setting, p)}
    kinds = {
        "dotted": ("random",),
        "dashed": ("greedy", "solver"),
        "long dashes": (TIMED_SOLVER,),
        "dash-dotted": (ANNEALING,),
    }
    said = [
        f"{kind}: {listed(n for n in names if n in there)}"
        for kind, names in kinds.items()
        if there.intersection(names)
    ]
    if not said:
        return ""
    return f" Horizontal lines: baselines without training ({'; '.join(said)})."


def _named(measure: str) -> str:
    return MEASURE_NAMES[measure].replace(", %", " in percent").capitalize()


def _policies(
    study: Study, setting: str, problems: Sequence[str], measure: str, selection: str
) -> list[list[Cell]]:
    """Rows of baselines; the same figure under every strategy."""
    found = {problem: study.policies(setting, problem) for problem in problems}
    rows = []
    for name in methods_in_order(name for policies in found.values() for name in policies):
        cells = [Cell(name)]
        for problem in problems:
            record = found[problem].get(name)
            cell = Cell() if record is None else measured_cell([record], measure, selection)
            cells += [cell] * len(study.strategies_of(setting))
            cells += [Cell()] if selection == "best" else []
        rows.append(cells)
    return rows


# -- by strategy, beside the paper


def _by_strategy(study: Study, setting: str) -> list[Block]:
    rows = [row for row in study.rows[setting].values() if _compared(row)]
    found: list[Block] = [Heading("By strategy, beside the paper" if rows else "By strategy")]
    if rows:
        close = sum(abs(row["paper"]["difference"]) <= 0.05 for row in rows)
        above = sum(row["paper"]["difference"] > 0.05 for row in rows)
        text = (
            f"Of {count_of(len(rows), 'entry')} that "
            f"the paper also reports, ours are at most 0.05 away in {close}, higher in {above} and "
            f"lower in {len(rows) - close - above}. Instances, features and references are not "
            "the paper's own, so equal figures are not to be expected everywhere."
        )
        found.append(Text(text))
    methods = study.methods_of(setting)
    plots = [Plot(p, _dots(study, setting, p)) for p in study.problems_of(setting)]
    caption = (
        "Scores on unseen instances by training strategy. Interquartile means, best of "
        f"{episodes_of(study, setting)} episodes, with 95 % bootstrap intervals."
        f"{' Short horizontal strokes: the paper.' if rows else ''}{_lines_said(study, setting)}"
    )
    found += [Legend(methods), Grid(plots, caption)]
    if rows:
        found.append(Folded("All differences as a table", [Shown(_differences(study, setting))]))
    return found


def _compared(row: dict[str, Any]) -> bool:
    return row["paper"] is not None and "difference" in row["paper"]


def _dots(study: Study, setting: str, problem: str) -> dict[str, Any]:
    """Strategies side by side, methods next to each other within each."""
    strategies, methods = study.strategies_of(setting), study.methods_of(setting)
    rows = study.rows[setting]
    traces = []
    for name, record in study.policies(setting, problem).items():
        level, _, _ = middle(values_of([record], study.measure_of(problem)))
        if level is not None:
            ends = [-0.5, len(strategies) - 0.5]
            grey = line(name, ends, [level, level], marks=False, hoverinfo="name+y")
            traces.append(grey | {"line": grey["line"] | {"width": 1}})
    for place, method in enumerate(methods):
        shift = 0.8 * ((place + 0.5) / len(methods) - 0.5)
        ours: list[tuple[float, dict[str, Any]]] = []
        theirs: list[tuple[float, float]] = []
        for number, strategy in enumerate(strategies):
            row = rows.get((problem, method, strategy))
            if row is None:
                continue
            if row["main"] is not None:
                ours.append((number + shift, row["main"]))
            if row["paper"] is not None:
                theirs.append((number + shift, row["paper"]["iqm"]))
        if theirs:
            traces.append(_strokes(method, theirs))
        if ours:
            values = [s["iqm"] for _, s in ours]
            low, high = ([s["iqm_interval"][i] for _, s in ours] for i in (0, 1))
            bars = error_bars(values, low, high) | {"color": style_of(method).colour}
            x = numbers([x for x, _ in ours])
            traces.append(dots(method, x, numbers(values), error_y=bars, hovertemplate="%{y:.3f}"))
    x_axis = named_axis(strategies, showgrid=False)
    title = MEASURE_NAMES[study.measure_of(problem)]
    return figure(traces, x_axis, axis(title, rangemode="tozero"))


def _strokes(method: str, points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    mark = {
        "symbol": "line-ew-open",
        "size": 6,
        "line": {"width": 2},
        "color": style_of(method).colour,
    }
    x, y = zip(*points, strict=True)
    text = f"{label(label_of(method))}, paper"
    return dots(method, numbers(x), numbers(y), marker=mark, name=text, hovertemplate="%{y:.2f}")


def _differences(study: Study, setting: str) -> Table:
    columns = (
        *plain_columns("problem", "method", "strategy", "runs"),
        Column("iqm", "ours", digits=2, hint="IQM with 95 % bootstrap interval"),
        Column("paper", "paper", digits=2),
        Column("difference", "difference", digits=2, signed=True),
    )
    rows = []
    for (problem, method, strategy), row in study.rows[setting].items():
        if not _compared(row):
            continue
        ours = row["score/best"]
        low, high = ours["iqm_interval"]
        paper = row["paper"]
        rows.append(
            (
                problem,
                method,
                strategy,
                row["runs"],
                Cell(ours["iqm"], low, high),
                paper["iqm"],
                paper["difference"],
            )
        )
    caption = (
        "Our scores beside the paper's. Interquartile means (best episode, final state) with 95 % "
        "bootstrap intervals."
    )
    return table(f"beside-paper{file_part(study, setting)}", caption, columns, rows, "95 %")
