"""Parts that sections about runs share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from lagco.report.blocks import Block, Plot, Together, switch
from lagco.report.reading import Study, count_of, listed
from lagco.report.tables import Cell
from lagco.results.measures import RETURN, START_SCORE, maximised
from lagco.results.resampling import Estimated, estimated_middle
from lagco.study import Record
from lagco.study.results.scores import middle, scores_of, solved, values_of
from lagco.study.settings import TIMED

NO_RUNS = "The ledger holds no training runs. lagco study generalization --out DIR makes them."
#: how measures are called on the page
MEASURE_NAMES = {
    "score": "score of the final state",
    "score_best": "score of the best state",
    "solver_score": "solver score of the final state",
    "solver_score_best": "solver score of the best state",
    "gap": "gap of the best state, %",
    START_SCORE: "solver score from the default start",
    RETURN: "return",
}
MEASURE_MEANINGS = {
    "score": "the score of the final state on the paper's scale: 0 is the worst and 1 the best "
    "value that the sweeps found",
    "score_best": "the score of the best state of the episode on the paper's scale: 0 is the worst "
    "and 1 the best value that the sweeps found",
    "solver_score": "the score of the final state on the solver's scale: 0 is the sweeps' worst "
    "value, 1 the solver's",
    "solver_score_best": "the score of the best state of the episode on the solver's scale: 0 is "
    "the sweeps' worst value, 1 the solver's",
    "gap": "how much worse the best state is than the solver's value, in percent; smaller is "
    "better",
    START_SCORE: "the score of the best state of an episode from the default start (unit weights, "
    "shortest paths) on the solver's scale: 0 is that start, 1 the solver's value",
    RETURN: "the sum of rewards of an episode, for problems without references",
}


def measured_cell(
    records: Sequence[Record], measure: str, selection: str = "best", paper: float | None = None
) -> Cell:
    """Interquartile mean over unseen instances, with the 16th to the 84th percentile.

    Of a measure that is to be small, how many instances were solved is noted where not all were.
    """
    iqm, low, high = middle(values_of(records, measure, selection))
    done, of = solved(records)
    if maximised(measure) or done == of:
        return Cell(iqm, low, high, paper)
    return Cell(iqm, note=f"{done}/{of}")


def estimated_cell(records: Sequence[Record], measure: str, paper: float | None = None) -> Cell:
    """Interquartile mean over unseen instances with its interval over runs and instances.

    Of a measure that is to be small, how many instances were solved is noted where not all were.
    """
    scores = scores_of(records, measure)
    if not len(scores):
        return Cell(paper=paper)
    cell, (done, of) = interval_cell(estimated_middle(scores), paper), solved(records)
    if not maximised(measure) and done < of:
        return Cell(cell.value, note=f"{done}/{of}")
    return cell


def interval_cell(found: Estimated, paper: float | None = None) -> Cell:
    """A figure with its interval, where they are finite."""
    value = found.value if math.isfinite(found.value) else None
    if value is None or not math.isfinite(found.low + found.high):
        return Cell(value, paper=paper)
    return Cell(value, found.low, found.high, paper)


def digits_of(measure: str) -> int | None:
    """Decimals with which values of a measure are shown."""
    return {"gap": 1, RETURN: None}.get(measure, 2)


def by_setting(study: Study, make: Callable[[str], Sequence[Block]]) -> list[Block]:
    """Blocks that `make` gives for every setting of the runs, one of them shown at a time."""
    return [switch("Runs with", {name: Together(make(name)) for name in study.settings})]


def about_runs(
    study: Study, make: Callable[[Study, str], Sequence[Block]]
) -> Sequence[Block] | str:
    """Blocks for every setting of the training runs, or a sentence that there are none."""
    return by_setting(study, lambda setting: make(study, setting)) if study.settings else NO_RUNS


def plots_by_problem(
    study: Study, setting: str, draw: Callable[[str], dict[str, Any] | None], **options: Any
) -> list[Plot]:
    """A plot per problem for which there is something to draw."""
    drawn = ((problem, draw(problem)) for problem in study.problems_of(setting))
    return [Plot(problem, found, **options) for problem, found in drawn if found is not None]


def runs_of(study: Study, setting: str, strategy: str) -> list[Sequence[Record]]:
    """Runs of a strategy, grouped by problem and method."""
    return [runs for (_, _, used), runs in study.runs(setting).items() if used == strategy]


def by_strategy(study: Study, setting: str, make: Callable[[str], Block]) -> Block:
    """Blocks that `make` gives for every strategy, `varied` shown first."""
    strategies = study.strategies_of(setting)
    ordered = [s for s in strategies if s == "varied"] + [s for s in strategies if s != "varied"]
    return switch("Trained on", {strategy: make(strategy) for strategy in ordered})


def selection_names(episodes: int) -> dict[str, str]:
    """Names of the selections of test episodes on the page."""
    return {"best": f"best of {episodes}", "first": "first only", "all": f"all {episodes}"}


def episodes_of(study: Study, setting: str) -> int:
    """Test episodes per instance, the most of any run."""
    return max(int(r.spec["episodes"]) for runs in study.runs(setting).values() for r in runs)


def policies_said(study: Study, setting: str) -> str:
    """Explanation of the rows of baselines; empty without any."""
    found = {
        n: r for p in study.problems_of(setting) for n, r in study.policies(setting, p).items()
    }
    timed = [record for name, record in found.items() if name in TIMED]
    text = ""
    if "solver" in found:
        text = "solver: its reference values."
    if timed:
        text += (
            f" {listed(r.spec['policy'] for r in timed)}: the problem's solver and simulated "
            f"annealing, given the time that {timed[0].spec['paced_by']} "
            "took for its test episodes on the same instance."
        )
    return text.strip()


INTERVALS = "95 % bootstrap intervals over runs and instances (with one run, over instances alone)"
CLEARLY_BEST = (
    "better than every other trained method by the 95 % interval of the difference, where all have "
    "two runs or more"
)
#: differences of scores that tables do not show
ALIKE = 0.005


def share_text(share: Estimated) -> str:
    """A share and its interval, in percent."""
    return f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]".replace("%", " %")


def file_part(study: Study, setting: str) -> str:
    """Part of file names that distinguishes a setting; nothing where there is only one."""
    return "" if len(study.settings) == 1 else f"-{slug(setting)}"


def slug(name: str) -> str:
    """A name as a part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "other"


def runs_in(records: Sequence[Sequence[Record]]) -> str:
    """Number of runs per group, in words."""
    counts = sorted({len(group) for group in records})
    if len(counts) == 1:
        return count_of(counts[0], "run")
    return f"{counts[0]} to {counts[-1]} runs"
