"""The headline: findings in words, the main tables, and figures over all problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lagco.report.blocks import (
    Block,
    Findings,
    Grid,
    Heading,
    Legend,
    Plot,
    Shown,
    Text,
    Together,
    switch,
)
from lagco.report.palette import label_of, style_of
from lagco.report.plots import (
    axis,
    dots,
    error_bars,
    figure,
    line,
    log_axis,
    named_axis,
    numbers,
)
from lagco.report.reading import Study, count_of, listed
from lagco.report.sections.common import about_runs, by_strategy, share_text
from lagco.report.sections.scores.main_tables import gap_table, score_table
from lagco.report.sections.scores.standing import Results, Standing
from lagco.results.resampling import Estimated
from lagco.study.results.aggregates import better, mean_middle
from lagco.study.results.tables import compared_growth
from lagco.study.settings import TIMED

#: points of a performance profile
_LEVELS = 61


def blocks(study: Study) -> Sequence[Block] | str:
    """Findings, the overview table, performance profiles, ranks and pairwise comparisons."""
    return about_runs(study, _of_setting)


def _of_setting(study: Study, setting: str) -> list[Block]:
    return [by_strategy(study, setting, lambda s: Together(_of_strategy(study, setting, s)))]


def _of_strategy(study: Study, setting: str, strategy: str) -> list[Block]:
    results = Results.of(study, setting, strategy)
    standing = results.standing()
    gaps = gap_table(study, setting, strategy)
    tables: dict[str, Block] = {"paper's scale": Shown(score_table(study, setting, strategy))}
    if gaps is not None:
        tables = {"gap to the solver": Shown(gaps), **tables}
    shown = switch("Scores as", tables)
    if len(results.compared) < 2:
        return [shown]
    leader, against = _lead(results, standing)
    found: list[Block] = [
        Findings(_findings(study, setting, results, standing, leader, against)),
        shown,
        Heading("Over all problems"),
        Legend(list(standing.overall)),
        Grid(
            [
                Plot(*_overall(standing)),
                Plot("Performance profile", _profiles(standing)),
                Plot("Mean rank", _ranks(standing.ranks())),
                Plot(f"{label_of(leader)} is ahead of …", _shares(against)),
            ],
            f"Over {listed(results.problems)}, of agents trained on {strategy} instances. Best "
            f"test episode on unseen instances. {_MEANINGS[standing.measure]} Rank: by "
            "interquartile mean on each problem, 1 is best, mean over problems. Ahead: "
            "probability on an instance that both were tested on, by the score, ties count half, "
            "mean over problems. Bars: 95 % bootstrap intervals, with runs and instances resampled "
            "within problems.",
            wide=True,
        ),
    ]
    missing = [
        *(p for p in study.problems_of(setting) if p not in results.problems),
        *(label_of(m) for m in results.trained if m not in results.compared),
    ]
    if missing:
        text = f"Not compared: {listed(missing)}; runs are missing, or there is no score."
        found.append(Text(text, "note"))
    return found


def _lead(results: Results, standing: Standing) -> tuple[str, dict[str, Estimated]]:
    """The best method over all problems, and the share of instances it wins, by rival."""
    leader = standing.best_first(results.compared)[0]
    against = {
        method: better(results.samples[leader], results.samples[method], results.problems)
        for method in standing.overall
        if method != leader
    }
    return leader, against


# -- in words


def findings(study: Study, setting: str, strategy: str) -> list[str]:
    """Findings in words; none where fewer than two methods can be compared."""
    results = Results.of(study, setting, strategy)
    if len(results.compared) < 2:
        return []
    standing = results.standing()
    return _findings(study, setting, results, standing, *_lead(results, standing))


def _findings(
    study: Study,
    setting: str,
    results: Results,
    standing: Standing,
    leader: str,
    against: Mapping[str, Estimated],
) -> list[str]:
    second = standing.best_first([m for m in results.compared if m != leader])[0]
    over = count_of(len(results.problems), "problem")
    best, next_best = standing.text(leader), standing.text(second)
    if standing.by_gap:
        first = (
            f"{label_of(leader)} comes closest to the solver: its mean gap over {over} is {best}; "
            f"that of {label_of(second)} is {next_best}"
        )
    else:
        first = (
            f"{label_of(leader)} has the largest aggregate score over {over}, {best}; "
            f"{label_of(second)} follows with {next_best}"
        )
    duel = _duel(leader, label_of(second), against[second])
    found = [f"{first}. {duel}{_single(results, leader, second)}."]
    apart = [label_of(m) for m in results.trained if m not in results.compared]
    if apart:
        found[0] += f" Not compared, because runs are missing: {listed(apart)}."
    has = "has a mean gap of" if standing.by_gap else "scores"
    for when, names in (("Without training", ("greedy",)), ("In the same time", TIMED)):
        found += [
            f"{when}, {name} {has} {standing.text(name)}. {_duel(leader, 'it', against[name])}"
            f"{_single(results, leader)}."
            for name in names
            if name in standing.overall
        ]
    found += _transfer(study, setting, results) + _growth(study)
    return found


def _duel(leader: str, rival: str, share: Estimated) -> str:
    """A comparison on unseen instances, by the probability that the leader is ahead."""
    verdict = "neither clearly beats nor loses to"
    if share.low > 0.5:
        verdict = "beats"
    elif share.high < 0.5:
        verdict = "loses to"
    return (
        f"{label_of(leader)} {verdict} {rival}: on an unseen instance it is ahead with probability "
        f"{share_text(share)}"
    )


def _single(results: Results, *methods: str) -> str:
    """A warning where intervals cannot hold the spread between runs."""
    named = [label_of(m) for m in methods if m in results.trained and results.count(m) < 2]
    return f" (with one run of {listed(named)} on some problems)" if named else ""


def _transfer(study: Study, setting: str, results: Results) -> list[str]:
    """Strategies by the aggregate scores of the methods that were trained by each of them."""
    others = {s: Results.of(study, setting, s) for s in study.strategies_of(setting)}
    trained = [m for m in results.compared if all(m in o.comparable for o in others.values())]
    if len(others) < 2 or 2 * len(trained) < len(results.compared):
        return []
    found = {
        strategy: mean_middle(
            {f"{m} {p}": o.samples[m][p] for m in trained for p in results.problems},
            [f"{m} {p}" for m in trained for p in results.problems],
        )
        for strategy, o in others.items()
    }
    first, second = sorted(found, key=lambda s: -found[s].value)[:2]
    whole = set(trained) == set(study.methods_of(setting))
    over = "all methods" if whole else listed(map(label_of, trained))
    if found[first].low <= found[second].high:
        return [
            f"Over {over}, no training strategy is clearly best: {first} instances give a mean "
            f"score of {found[first]}, {second} ones {found[second]} (the intervals overlap)."
        ]
    return [
        f"Over {over}, training on {first} instances gives the largest mean score, "
        f"{found[first]}; {second} instances give {found[second]}."
    ]


def _growth(study: Study) -> list[str]:
    """Exponents of whole decisions of the paper's two methods that select an action."""
    growth = compared_growth(study.ledger, "projection", "iterative").values()
    if not growth:
        return []
    slower, faster = (sum(g.apart == side for g in growth) for side in (-1, 1))
    medians = [float(np.median(alphas)) for alphas in zip(*(g.alphas for g in growth), strict=True)]
    return [
        f"The decision time of projection grows clearly more slowly with size than that of "
        f"iterative on {slower} of {count_of(len(growth), 'problem')} and clearly faster on "
        f"{faster}, by 95 % intervals of the exponents (medians {medians[0]:.2f} and "
        f"{medians[1]:.2f}, over the sizes measured for both)."
    ]


# -- figures

#: what the first two figures show
_MEANINGS = {
    "gap": "Mean gap: interquartile mean of the gaps to the solver on each problem, mean over "
    "problems; neither the solver nor what left instances unsolved is drawn. Profile: share of "
    "instances with at most this gap, mean over problems.",
    "score": "Aggregate score: interquartile mean of all scores. Profile: share of instances with "
    "at least this score, mean over problems.",
}


def _overall(standing: Standing) -> tuple[str, dict[str, Any]]:
    """Title and figure of the one figure per name over all problems."""
    if not standing.by_gap:
        x_axis = axis("interquartile mean score", rangemode="tozero")
        return "Aggregate score", _intervals(standing.overall, x_axis)
    drawn = {n: e for n, e in standing.overall.items() if np.isfinite(e.value) and e.low > 0}
    ends = [end for found in drawn.values() for end in (found.low, found.high)]
    return "Mean gap", _intervals(drawn, log_axis("gap to the solver, %", ends))


def _shares(against: Mapping[str, Estimated]) -> dict[str, Any]:
    ends = {"x0": 0.5, "x1": 0.5, "y0": -0.5, "y1": len(against) - 0.5}
    shapes = [{"type": "line", "line": {"width": 1, "dash": "dot", "color": "#888"}} | ends]
    return _intervals(against, axis("share of instances", range=[-0.04, 1.04]), shapes=shapes)


def _intervals(
    found: Mapping[str, Estimated], x_axis: Mapping[str, Any], **layout: Any
) -> dict[str, Any]:
    names = list(found)[::-1]
    traces = []
    for place, name in enumerate(names):
        one = found[name]
        bars = error_bars([one.value], [one.low], [one.high]) | {"color": style_of(name).colour}
        hover = f"%{{x:.3f}} [{one.low:.3f}, {one.high:.3f}]"
        traces.append(dots(name, numbers([one.value]), [place], error_x=bars, hovertemplate=hover))
    y_axis = named_axis([label_of(name) for name in names])
    return figure(traces, x_axis, y_axis, **layout)


def _profiles(standing: Standing) -> dict[str, Any]:
    if standing.by_gap:
        levels = np.geomspace(0.01, 1000.0, _LEVELS).tolist()
        x_axis, hover = log_axis("gap at most, %", levels), "gap %{x:.2g} %: %{y:.0%}"
    else:
        known = [each.values for sample in standing.samples.values() for each in sample.values()]
        most = max(1.2, float(np.quantile(np.concatenate(known), 0.99)))
        levels = np.linspace(0.0, most, _LEVELS).tolist()
        x_axis, hover = axis("score at least"), "score %{x:.2f}: %{y:.0%}"
    traces = [
        line(name, levels, standing.shares(name, levels), hovertemplate=hover)
        for name in standing.overall
    ]
    return figure(traces, x_axis, axis("share of instances", range=[0, 1.02], tickformat=".0%"))


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
