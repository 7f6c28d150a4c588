"""The main tables: all problems and methods, as gaps to the solver and on the paper's scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lagco.report.palette import methods_in_order
from lagco.report.reading import Study
from lagco.report.sections.common import (
    CLEARLY_BEST,
    INTERVALS,
    MEASURE_NAMES,
    digits_of,
    episodes_of,
    estimated_cell,
    file_part,
    interval_cell,
    policies_said,
)
from lagco.report.sections.scores.standing import Results, Standing
from lagco.report.tables import Cell, Column, Table, table
from lagco.results.measures import maximised
from lagco.study.results.aggregates import clearly_best
from lagco.study.results.scores import scores_of

#: what the ends of cells are
_SPREAD = "95 %"


def gap_table(
    study: Study, setting: str, strategy: str, methods: Sequence[str] = ()
) -> Table | None:
    """Gaps to the solver, their mean and mean ranks; None where no problem has a solver.

    Args:
        study: of the runs.
        setting: of the runs.
        strategy: of the runs.
        methods: to be shown in addition, though they may have no runs.
    """
    problems = [p for p in study.problems_of(setting) if "gap" in study.measures_of(setting, p)]
    if not problems:
        return None
    results = Results.of(study, setting, strategy)
    standing = results.standing()
    columns = [*_first_columns(), *(Column(p, p, digits=2, fewer=True) for p in problems)]
    columns.append(Column("mean", "mean", digits=2, fewer=True, hint="mean over problems"))
    columns.append(Column("rank", "rank", digits=1, hint="mean over problems, 1 is best"))
    ranks = standing.ranks() if standing.by_gap else {}
    rows = []
    for method in methods_in_order([*methods, *study.methods_of(setting), *results.records]):
        of_method = results.records.get(method, {})
        rows.append(
            [
                *_first_cells(results, method),
                *(estimated_cell(of_method.get(problem, ()), "gap") for problem in problems),
                _mean_gap(standing, method),
                Cell(ranks.get(method)),
            ]
        )
    best = {p: _best(results, {p: "gap"}) for p in problems}
    if standing.by_gap:
        best["mean"] = _best(results, dict.fromkeys(standing.problems, "gap"))
    caption = (
        f"Gap to the solver in percent, of agents trained on {strategy} instances. How much worse "
        "the best state is than the solver's value: 0 is as good, smaller is better. "
        f"{_about(study, setting)} Mean: of the problems' gaps, where all instances were solved. "
        "Rank: by the gap on each problem, 1 is best, mean over problems. 2/8: only two of eight "
        "instances were solved."
    )
    name = f"overview-gap-{strategy}{file_part(study, setting)}"
    return table(name, caption, columns, _marked(rows, columns, best), _SPREAD)


def score_table(study: Study, setting: str, strategy: str, methods: Sequence[str] = ()) -> Table:
    """Scores on the paper's scale with its figures; the arguments are those of `gap_table`."""
    results = Results.of(study, setting, strategy)
    places = [(problem, study.measure_of(problem)) for problem in study.problems_of(setting)]
    columns = [
        *_first_columns(),
        *(Column(p, p, MEASURE_NAMES[m], digits_of(m)) for p, m in places),
    ]
    rows = []
    for method in methods_in_order([*methods, *study.methods_of(setting), *results.records]):
        cells = _first_cells(results, method)
        for problem, measure in places:
            theirs = study.paper(setting, (problem, method, strategy))
            paper = theirs["iqm"] if theirs and measure == "score" else None
            records = results.records.get(method, {}).get(problem, ())
            cells.append(estimated_cell(records, measure, paper=paper))
        rows.append(cells)
    if any(measure == "score" for _, measure in places):
        caption = (
            f"Scores on the paper's scale, of agents trained on {strategy} instances. 0 is the "
            "worst and 1 the best value that the sweeps found."
        )
    else:
        caption = f"Returns of agents trained on {strategy} instances."
    caption += f" {_about(study, setting)}"
    if any(cell.paper is not None for row in rows for cell in row):
        caption += " In italics: the paper's figures."
    name = f"overview-score-{strategy}{file_part(study, setting)}"
    best = {p: _best(results, {p: measure}) for p, measure in places}
    return table(name, caption, columns, _marked(rows, columns, best), _SPREAD)


def span(counts: Sequence[int]) -> str | int:
    """A number, or the least and the most of several; 0 of none."""
    low, high = min(counts, default=0), max(counts, default=0)
    return low if low == high else f"{low}–{high}"


def _first_columns() -> tuple[Column, Column]:
    return Column("method", "method"), Column("runs", "runs", hint="per problem")


def _first_cells(results: Results, method: str) -> list[Cell]:
    counts = [len(runs) for runs in results.records.get(method, {}).values()]
    policy = method in results.records and method not in results.trained
    return [Cell(method), Cell() if policy else Cell(span(counts))]


def _mean_gap(standing: Standing, method: str) -> Cell:
    found = standing.overall.get(method) if standing.by_gap else None
    return Cell() if found is None else interval_cell(found)


def _about(study: Study, setting: str) -> str:
    """What the entries of both tables are."""
    return (
        f"Interquartile means over unseen instances, best of {episodes_of(study, setting)} test "
        f"episodes; runs: per problem{' (the paper has 5)' if study.of_the_paper else ''}. "
        f"Below them, {INTERVALS}. Bold: {CLEARLY_BEST}. "
        f"{policies_said(study, setting)} Baselines are shown on the instances that agents were "
        "tested on."
    )


def _best(results: Results, measures: Mapping[str, str]) -> str | None:
    """The trained method that is clearly best on some problems, of which measures are given."""
    samples = {
        method: {p: scores_of(results.records[method].get(p, ()), m) for p, m in measures.items()}
        for method in results.trained
    }
    tested = {m: sample for m, sample in samples.items() if all(map(len, sample.values()))}
    smallest = not maximised(next(iter(measures.values())))
    return clearly_best(tested, list(measures), smallest=smallest)


def _marked(
    rows: Sequence[list[Cell]], columns: Sequence[Column], best: Mapping[str, str | None]
) -> list[list[Cell]]:
    """Rows of methods with the clearly best one of each column marked."""
    return [
        [
            replace(cell, best=not cell.note and best.get(column.key) == row[0].value)
            for cell, column in zip(row, columns, strict=True)
        ]
        for row in rows
    ]
