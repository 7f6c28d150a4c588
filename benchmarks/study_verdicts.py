"""What of the paper does not reproduce: blocks of the study's page, made from its records.

The tables of short runs are made from benchmarks/results/masked_discrete.json
(``python -m benchmarks.masked_discrete``) and iterative_settings.json
(``python -m benchmarks.iterative_settings``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from lagco.agents.config import STRATEGIES
from lagco.problem_table import ENTRIES
from lagco.report.reading import Place, Study, count_of, listed
from lagco.report.sections.common import estimated_cell
from lagco.report.sections.scores.claims import claims
from lagco.report.sections.scores.main_tables import span
from lagco.report.sections.scores.verdicts import LEVEL, NO, PARTLY
from lagco.report.tables import Cell, Column, plain_columns, table
from lagco.report.writers import to_markdown
from lagco.results.resampling import Estimated, Scores, estimated_middle
from lagco.results.statistics import interquartile_mean
from lagco.study import Record, paper_score
from lagco.study.results.aggregates import mean_difference
from lagco.study.results.scores import scores_of

MASKED_RUNS = Path(__file__).parent / "results" / "masked_discrete.json"
ITERATIVE_RUNS = MASKED_RUNS.with_name("iterative_settings.json")
MASKED = ("p-discrete-m", "g-discrete-m")
STRATEGY = "varied"
#: the methods that the paper has
METHODS = ("p-discrete", "p-discrete-m", "g-discrete", "g-discrete-m", "iterative", "projection")
#: half of the last digit that the paper prints
_ROUNDING = 0.005


def setting_of_paper(study: Study) -> str | None:
    """Runs with the paper's hyper-parameters and features."""
    return next((s for s in study.settings if s.startswith("paper, paper features")), None)


def _place(study: Study, setting: str, place: Place) -> tuple[Estimated, str] | None:
    """Our score with its interval, and where the paper's figure lies; None without either."""
    runs, theirs = study.runs(setting).get(place), study.paper(setting, place)
    if not runs or theirs is None:
        return None
    found = estimated_middle(scores_of(runs, "score"))
    if theirs["iqm"] < found.low - _ROUNDING:
        return found, "above"
    return found, "below" if theirs["iqm"] > found.high + _ROUNDING else "as in"


def not_reproduced(study: Study) -> str:
    """Sentences about what is not as in the paper."""
    found = [_figures(study, study.settings[0], "our settings")]
    own = setting_of_paper(study)
    if own is not None:
        found.insert(0, _figures(study, own, "the paper's own settings"))
    found += [_as_random(study)]
    for verdict, words in ((NO, "Not so here"), (LEVEL, "No clear difference here")):
        said = [c.words for c in claims(study, study.settings[0]) if c.verdict.startswith(verdict)]
        found += [f"{words}: {'; '.join(said)}."] if said else []
    partly = [c.words for c in claims(study, study.settings[0]) if c.verdict.startswith(PARTLY)]
    found += [f"Only in part: {'; '.join(partly)}."] if partly else []
    return "".join(f"- {sentence}\n" for sentence in found if sentence)


def _figures(study: Study, setting: str, whose: str) -> str:
    """How many of the paper's figures lie in our intervals, and the worst misses below them."""
    places = [(p, m, STRATEGY) for p in ENTRIES for m in METHODS]
    found = {place: f for place in places if (f := _place(study, setting, place)) is not None}
    counts = {
        side: sum(s == side for _, s in found.values()) for side in ("as in", "above", "below")
    }
    short = {
        place: paper_score(*place)["iqm"] - ours.value  # type: ignore[index]
        for place, (ours, side) in found.items()
        if side == "below"
    }
    worst = sorted((p for p in short if short[p] > 0.2), key=lambda p: -short[p])
    text = (
        f"By {whose}, the paper's score lies in our 95 % interval in {counts['as in']} of "
        f"{count_of(len(found), 'entry')} ({STRATEGY} instances); ours is higher in "
        f"{counts['above']} and lower in {counts['below']}."
    )
    if worst:
        said = (
            f"`{m}` on `{p}` ({found[p, m, s][0].value:.2f} here, "
            f"{paper_score(p, m, s)['iqm']:.2f} there)"  # type: ignore[index]
            for p, m, s in worst
        )
        text += f" Lower by more than 0.2: {listed(said)}."
    return text


def _as_random(study: Study) -> str:
    """On how many problems masked discrete agents do no better than random play."""
    setting, parts = study.settings[0], []
    for method in MASKED:
        level, of = 0, 0
        for problem in ENTRIES:
            runs = study.runs(setting).get((problem, method, STRATEGY))
            random = study.policies(setting, problem).get("random")
            if runs and random:
                ours, theirs = scores_of(runs, "score"), _unseen(random, runs)
                better = mean_difference({"": ours}, {"": theirs}, [""]).low > 0
                level, of = level + (not better), of + 1
        if of:
            parts.append(f"`{method}` on {level} of {count_of(of, 'problem')}")
    if not parts:
        return ""
    return (
        f"On unseen instances, masked discrete agents are no better than random play, by 95 % "
        f"intervals: {listed(parts)} ([why](#masked-discrete-agents-and-random-play))."
    )


def _unseen(policy: Record, runs: Iterable[Record]) -> Scores:
    """Scores of a policy on the instances that some run has not seen."""
    scores, tested = scores_of([policy], "score"), scores_of(runs, "score")
    kept = np.isin(scores.instances, tested.instances)
    return Scores(scores.values[kept], scores.runs[kept], scores.instances[kept])


def own_settings(study: Study) -> str:
    """The paper's six methods by the paper's settings, beside its figures."""
    setting = setting_of_paper(study)
    if setting is None:
        return "There are no runs by the paper's settings yet.\n"
    columns = [*plain_columns("method", "runs"), *(Column(p, p, digits=2) for p in ENTRIES)]
    rows = []
    for method in METHODS:
        cells, counts = [], []
        for problem in ENTRIES:
            place = (problem, method, STRATEGY)
            runs, side = study.runs(setting).get(place, []), _place(study, setting, place)
            theirs = paper_score(*place)
            cell = estimated_cell(runs, "score", paper=theirs["iqm"] if theirs else None)
            counts += [len(runs)] if runs else []
            cells.append(
                Cell(cell.value, cell.low, cell.high, cell.paper, note=side[1] if side else "")
            )
        rows.append([Cell(method), Cell(span(counts)), *cells])
    return to_markdown(table("", "", columns, rows, "95 %"))


# -- masked discrete agents


def masked(study: Study) -> str:
    """Scores of masked discrete agents and of random play on seen and on unseen instances."""
    setting = study.settings[0]
    columns = [*plain_columns("problem", "trained on")]
    for method in MASKED:
        for name in ("seen", "random, seen", "unseen", "random, unseen"):
            columns.append(Column(f"{method} {name}", f"{method}: {name}", digits=2))
    rows: list[list[Cell]] = []
    ways = {"one instance": [s for s in STRATEGIES if s != STRATEGY], "20 instances": [STRATEGY]}
    for problem in ENTRIES:
        random = study.policies(setting, problem).get("random")
        for words, strategies in ways.items():
            row = [Cell(problem), Cell(words)]
            for method in MASKED:
                places = [(problem, method, strategy) for strategy in strategies]
                runs = [run for p in places for run in study.runs(setting).get(p, ())]
                row += _seen_and_unseen(runs, random)
            rows.append(row)
    return to_markdown(table("", "", columns, rows))


def _seen_and_unseen(runs: Sequence[Record], random: Record | None) -> list[Cell]:
    cells = []
    for seen in (True, False):
        scores = scores_of(runs, "score", seen=seen)
        cells.append(Cell(scores.middle if len(scores) else None))
        known = random is not None and len(scores)
        cells.append(Cell(_of_random(random, scores) if known else None))  # type: ignore[arg-type]
    return cells


def _of_random(random: Record, scores: Scores) -> float:
    """Interquartile mean of random play, an instance as often as in these scores."""
    plain = scores_of([random], "score")
    known = dict(zip(plain.instances.tolist(), plain.values.tolist(), strict=True))
    return interquartile_mean([known[i] for i in scores.instances.tolist()])


def masked_runs(_: Study) -> str:
    """Short runs: on one instance and on many, longer, wider, with more in sight."""
    results: Mapping[str, Any] = json.loads(MASKED_RUNS.read_text())
    columns = [Column("run", "run")]
    for name in ("seen", "random, seen", "unseen", "random, unseen"):
        columns.append(Column(name, name, digits=2))
    rows = [
        [Cell(name), *(_mean(result[column.key]) for column in columns[1:])]
        for name, result in results.items()
    ]
    return to_markdown(table("", "", columns, rows))


def iterative_settings(_: Study) -> str:
    """Short runs of `iterative` with one difference from the paper's settings at a time."""
    columns = [Column("problem", "problem"), Column("settings", "settings")]
    columns += [Column("mean", "mean of the episodes", digits=2)]
    columns += [Column("best", "best episode", digits=2)]
    rows = [
        [
            Cell(problem),
            Cell(name),
            Cell(result["mean"]),
            Cell(fmean(result["best"]), *result["interval"]),
        ]
        for problem, results in json.loads(ITERATIVE_RUNS.read_text()).items()
        for name, result in results.items()
    ]
    return to_markdown(table("", "", columns, rows, "95 %"))


def _mean(found: Mapping[str, float] | None) -> Cell:
    value = None if found is None else found["mean"]
    return Cell(value if value is None or math.isfinite(value) else None)
