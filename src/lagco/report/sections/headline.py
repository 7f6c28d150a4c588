"""The headline: findings in words, one table of all problems and methods, and aggregates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lagco.report.blocks import Block, Findings, Grid, Heading, Legend, Plot, Shown, Text, Together
from lagco.report.palette import label_of, look_of, methods_in_order
from lagco.report.plots import axis, dots, error_bars, figure, line, named_axis, numbers
from lagco.report.reading import Study, count_of, listed
from lagco.report.sections.common import (
    ALIKE,
    MEASURE_NAMES,
    about_runs,
    by_strategy,
    digits_of,
    episodes_of,
    file_part,
    measured_cell,
    policies_said,
    share_text,
)
from lagco.report.tables import Cell, Column, Table, mark_best_down, table
from lagco.results.measures import START_SCORE, maximised
from lagco.study import Record
from lagco.study.aggregates import (
    Estimated,
    aggregate,
    better,
    mean_ranks,
    profile,
    shared_problems,
)
from lagco.study.scores import instance_scores, values_of
from lagco.study.settings import TIMED
from lagco.study.tables import compared_growth

#: points of a performance profile
_LEVELS = 61
#: measures in addition to the main one, and the problems whose main one hardly tells methods apart
_BESIDE = {START_SCORE: ("ospf", "traffic"), "gap": ("max-cut",)}


@dataclass(frozen=True)
class _Results:
    """Runs of one strategy and the policies, by method and problem.

    Attributes:
        records: by method, then problem.
        trained: methods among them.
        problems: over which methods are compared.
        samples: scores of the best test episode on unseen instances, by method, then problem.
    """

    records: Mapping[str, Mapping[str, Sequence[Record]]]
    trained: Sequence[str]
    problems: Sequence[str]
    samples: Mapping[str, Mapping[str, Sequence[float]]]

    @classmethod
    def of(cls, study: Study, setting: str, strategy: str) -> _Results:
        records: dict[str, dict[str, Sequence[Record]]] = {}
        for (problem, method, used), runs in study.runs(setting).items():
            if used == strategy:
                records.setdefault(method, {})[problem] = runs
        trained = methods_in_order(records)
        for problem in study.problems_of(setting):
            runs = [run for method in trained for run in records[method].get(problem, ())]
            for name, record in study.policies(setting, problem).items():
                records.setdefault(name, {})[problem] = [_on_unseen(record, runs)]
        scored = [p for p in study.problems_of(setting) if study.measure_of(p) == "score"]
        samples = {
            method: {p: values_of(records[method].get(p, ()), "score") for p in scored}
            for method in methods_in_order(records)
        }
        shared = shared_problems({method: samples[method] for method in trained})
        return cls(records, trained, shared, samples)

    @property
    def comparable(self) -> list[str]:
        """Methods and policies that were tested on all of these problems."""
        return [m for m in self.samples if all(self.samples[m].get(p) for p in self.problems)]

    def aggregates(self) -> dict[str, Estimated]:
        """Aggregate scores of the comparable methods and policies."""
        names = self.comparable if self.problems else []
        return {name: aggregate(self.samples[name], self.problems) for name in names}

    def ranks(self) -> dict[str, float]:
        """Mean ranks of the comparable methods and policies."""
        names = self.comparable if self.problems else []
        samples = {name: self.samples[name] for name in names}
        return mean_ranks(samples, self.problems) if samples else {}

    def paired(self, method: str) -> dict[str, dict[int, float]]:
        """Scores by problem and instance, means over the runs that did not train on it."""
        return {p: instance_scores(self.records[method][p]) for p in self.problems}

    @property
    def compared(self) -> list[str]:
        """Methods among them."""
        return [m for m in self.comparable if m in self.trained]


def _on_unseen(policy: Record, runs: Sequence[Record]) -> Record:
    """Results of a policy on instances that some agent has not seen; on all without agents."""
    unseen = {i["index"] for run in runs for i in run.result["instances"] if not i["seen"]}
    kept = [i for i in policy.result["instances"] if i["index"] in unseen or not runs]
    return replace(policy, result={**policy.result, "instances": kept})


def blocks(study: Study) -> Sequence[Block] | str:
    """Findings, the overview table, performance profiles, ranks and pairwise comparisons."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    return [by_strategy(study, setting, lambda s: Together(_of_strategy(study, setting, s)))]


def overview(study: Study, setting: str, strategy: str, methods: Sequence[str] = ()) -> Table:
    """All problems and methods at a glance.

    Args:
        study: of the runs.
        setting: of the runs.
        strategy: of the runs.
        methods: to be shown in addition, though they may have no runs.
    """
    results = _Results.of(study, setting, strategy)
    return _overview(study, setting, strategy, results, results.aggregates(), methods)


def _of_strategy(study: Study, setting: str, strategy: str) -> list[Block]:
    results = _Results.of(study, setting, strategy)
    aggregates = results.aggregates()
    shown = Shown(_overview(study, setting, strategy, results, aggregates))
    if len(results.compared) < 2 or not aggregates:
        return [shown]
    leader, against = _lead(results, aggregates)
    found: list[Block] = [
        Findings(_findings(study, setting, aggregates, leader, against, results)),
        shown,
        Heading("Over all problems"),
        Legend(list(aggregates)),
        Grid(
            [
                Plot("Aggregate score", _intervals(aggregates, "interquartile mean score")),
                Plot("Performance profile", _profiles(results, list(aggregates))),
                Plot("Mean rank", _ranks(results.ranks())),
                Plot(
                    f"{label_of(leader)} is ahead of …",
                    _intervals(against, "share of instances", middle=0.5),
                ),
            ],
            f"Over {listed(results.problems)}; agents trained on {strategy} instances, best test "
            "episode on unseen instances. Aggregate score: interquartile mean of all scores. "
            "Profile: share of instances with at least this score, mean over problems. Rank: by "
            "interquartile mean on each problem, 1 is best, mean over problems. Ahead: share of "
            "the instances that both were tested on, ties count half, mean over problems. Bars: "
            "95 % bootstrap intervals, with instances resampled within problems.",
        ),
    ]
    missing = [
        *(p for p in study.problems_of(setting) if p not in results.problems),
        *(label_of(m) for m in results.trained if m not in results.compared),
    ]
    if missing:
        text = f"Not in the aggregates: {listed(missing)}; runs are missing, or there is no score."
        found.append(Text(text, "note"))
    return found


def _lead(
    results: _Results, aggregates: Mapping[str, Estimated]
) -> tuple[str, dict[str, Estimated]]:
    """Method with the largest aggregate score, and the share of instances it wins, by rival."""
    leader = max(results.compared, key=lambda m: aggregates[m].value)
    against = {
        method: better(results.paired(leader), results.paired(method), results.problems)
        for method in aggregates
        if method != leader
    }
    return leader, against


# -- in words


def findings(study: Study, setting: str, strategy: str) -> list[str]:
    """Findings in words; none where fewer than two methods can be compared."""
    results = _Results.of(study, setting, strategy)
    aggregates = results.aggregates()
    if len(results.compared) < 2 or not aggregates:
        return []
    leader, against = _lead(results, aggregates)
    return _findings(study, setting, aggregates, leader, against, results)


def _findings(
    study: Study,
    setting: str,
    aggregates: Mapping[str, Estimated],
    leader: str,
    against: Mapping[str, Estimated],
    results: _Results,
) -> list[str]:
    trained = [m for m in results.compared if m != leader]
    second = max(trained, key=lambda m: aggregates[m].value)
    over = count_of(len(results.problems), "problem")
    best, next_best = str(aggregates[leader]), str(aggregates[second])
    if best == next_best:
        first = (
            f"{label_of(leader)} and {label_of(second)} have the largest aggregate score over "
            f"{over}, {best} each"
        )
    else:
        first = (
            f"{label_of(leader)} has the largest aggregate score over {over}, {best}; "
            f"{label_of(second)} follows with {next_best}"
        )
    found = [f"{first}. {_duel(leader, label_of(second), against[second])}."]
    apart = [label_of(m) for m in results.trained if m not in results.compared]
    if apart:
        found[0] += f" Not compared, because runs are missing: {listed(apart)}."
    for when, names in (("Without training", ("greedy",)), ("In the same time", TIMED)):
        found += [
            f"{when}, {name} scores {aggregates[name]}. {_duel(leader, 'it', against[name])}."
            for name in names
            if name in aggregates
        ]
    found += _transfer(study, setting, results) + _growth(study)
    return found


def _duel(leader: str, rival: str, share: Estimated) -> str:
    """A comparison on unseen instances, by the share of them on which the leader is ahead."""
    verdict = "neither clearly beats nor loses to"
    if share.low > 0.5:
        verdict = "beats"
    elif share.high < 0.5:
        verdict = "loses to"
    return (
        f"{label_of(leader)} {verdict} {rival}: it is ahead on {share_text(share)} of the unseen "
        "instances"
    )


def _transfer(study: Study, setting: str, results: _Results) -> list[str]:
    """Strategies by the aggregate score of the methods that were trained by each of them.

    Of instances, means over runs: strategies may have different numbers of them.
    """
    others = {s: _Results.of(study, setting, s) for s in study.strategies_of(setting)}
    trained = [
        m
        for m in results.compared
        if all(o.samples.get(m, {}).get(p) for o in others.values() for p in results.problems)
    ]
    if len(others) < 2 or 2 * len(trained) < len(results.compared):
        return []
    found = {
        strategy: aggregate(
            {
                p: [v for m in trained for v in instance_scores(o.records[m][p]).values()]
                for p in results.problems
            },
            results.problems,
        )
        for strategy, o in others.items()
    }
    first, second = sorted(found, key=lambda s: -found[s].value)[:2]
    if found[first].value - found[second].value < ALIKE:
        return []
    overlap = found[first].low <= found[second].high
    whole = set(trained) == set(study.methods_of(setting))
    return [
        f"Over {'all methods' if whole else listed(map(label_of, trained))}, training on {first} "
        f"instances gives the largest aggregate score, {found[first]}; {second} instances give "
        f"{found[second]}" + (" (the intervals overlap)." if overlap else ".")
    ]


def _growth(study: Study) -> list[str]:
    """Exponents of whole decisions of the paper's two methods that select an action."""
    found = [g.alphas for g in compared_growth(study.ledger, "projection", "iterative").values()]
    if not found:
        return []
    slower = sum(ours < others for ours, others in found)
    medians = [float(np.median(alphas)) for alphas in zip(*found, strict=True)]
    return [
        f"The decision time of projection grows more slowly with size than that of iterative on "
        f"{slower} of {count_of(len(found), 'problem')} (median exponents {medians[0]:.2f} and "
        f"{medians[1]:.2f}, over the sizes measured for both)."
    ]


# -- the table


def _overview(
    study: Study,
    setting: str,
    strategy: str,
    results: _Results,
    aggregates: Mapping[str, Estimated],
    methods: Sequence[str] = (),
) -> Table:
    ranks = results.ranks()
    methods = methods_in_order([*methods, *study.methods_of(setting)])
    problems = study.problems_of(setting)
    places = [(problem, study.measure_of(problem)) for problem in problems]
    places += [
        (problem, measure)
        for measure, listed_problems in _BESIDE.items()
        for problem in listed_problems
        if problem in problems and measure in study.measures_of(setting, problem)
    ]
    columns = [Column("method", "method"), Column("runs", "runs", hint="per problem")]
    columns += [Column(p, p, MEASURE_NAMES[m], digits_of(m)) for p, m in places]
    columns += [
        Column("iqm", "IQM", "over all", digits=2, hint="interquartile mean over all problems"),
        Column("rank", "rank", "over all", digits=1, hint="mean over problems, 1 is best"),
    ]
    rows: list[list[Cell]] = []
    for method in methods_in_order([*methods, *results.records]):
        of_method = results.records.get(method, {})
        cells = [Cell(method), Cell(span([len(runs) for runs in of_method.values()]))]
        for problem, measure in places:
            records = of_method.get(problem, ())
            theirs = study.paper(setting, (problem, method, strategy))
            paper = theirs["iqm"] if theirs and measure == "score" else None
            found = measured_cell(records, measure, paper=paper)
            cells.append(Cell(found.value, paper=found.paper, note=found.note))
        over = aggregates.get(method)
        cells.append(Cell(over.value if over else None))
        cells.append(Cell(ranks.get(method)))
        rows.append(cells)
    trained = [row for row in rows if row[0].value in methods]
    for place, (_, measure) in enumerate(places, start=2):
        trained = mark_best_down(trained, columns, [place], smallest=not maximised(measure))
    trained = mark_best_down(trained, columns, [len(columns) - 2])
    trained = mark_best_down(trained, columns, [len(columns) - 1], smallest=True)
    rest = [row for row in rows if row[0].value not in methods]
    for row in rest:
        row[1] = Cell()
    caption = (
        f"All problems and methods: interquartile means over unseen instances, best of "
        f"{episodes_of(study, setting)} test episodes, agents trained on {strategy} instances "
        "(runs: per problem; the paper has 5). Scores are on the paper's scale; for ospf and "
        "traffic also on the solver's scale from the default start, for max-cut also as a gap. "
        f"Bold: the best method. {policies_said(study, setting)} Baselines are shown on the "
        "instances that agents were tested on."
    )
    if any(cell.paper is not None for row in rows for cell in row):
        caption += " In italics: the paper's figures."
    name = f"overview-{strategy}{file_part(study, setting)}"
    return table(name, caption, columns, [*trained, *rest])


def span(counts: Sequence[int]) -> str | int:
    """A number, or the least and the most of several; 0 of none."""
    low, high = min(counts, default=0), max(counts, default=0)
    return low if low == high else f"{low}–{high}"


# -- figures


def _intervals(
    found: Mapping[str, Estimated], title: str, middle: float | None = None
) -> dict[str, Any]:
    names = list(found)[::-1]
    traces = []
    for place, name in enumerate(names):
        one = found[name]
        bars = error_bars([one.value], [one.low], [one.high]) | {"color": look_of(name).colour}
        hover = f"%{{x:.3f}} [{one.low:.3f}, {one.high:.3f}]"
        traces.append(dots(name, numbers([one.value]), [place], error_x=bars, hovertemplate=hover))
    shapes = []
    if middle is not None:
        ends = {"x0": middle, "x1": middle, "y0": -0.5, "y1": len(names) - 0.5}
        shapes = [{"type": "line", "line": {"width": 1, "dash": "dot", "color": "#888"}} | ends]
    y_axis = named_axis([label_of(name) for name in names])
    ends_shown = {"rangemode": "tozero"} if middle is None else {"range": [-0.04, 1.04]}
    x_axis = axis(title, **ends_shown)
    return figure(traces, x_axis, y_axis, shapes=shapes)


def _profiles(results: _Results, methods: Sequence[str]) -> dict[str, Any]:
    scores = [v for m in methods for p in results.problems for v in results.samples[m][p]]
    levels = np.linspace(0.0, max(1.2, float(np.quantile(scores, 0.99))), _LEVELS).tolist()
    traces = [
        line(
            method,
            levels,
            profile(results.samples[method], results.problems, levels),
            hovertemplate="score %{x:.2f}: %{y:.0%}",
        )
        for method in methods
    ]
    y_axis = axis("share of instances", range=[0, 1.02], tickformat=".0%")
    return figure(traces, axis("score at least"), y_axis)


def _ranks(ranks: Mapping[str, float]) -> dict[str, Any]:
    names = list(ranks)[::-1]
    traces = [
        dots(name, numbers([ranks[name]]), [place], hovertemplate="%{x:.2f}")
        for place, name in enumerate(names)
    ]
    return figure(
        traces,
        axis("mean rank, 1 is best", range=[0.5, len(names) + 0.5]),
        named_axis([label_of(name) for name in names]),
    )
