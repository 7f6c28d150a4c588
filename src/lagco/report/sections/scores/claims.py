"""The paper's claims, each with a verdict and the figures that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean, median

from lagco.report.blocks import Block, Shown
from lagco.report.palette import problems_in_order
from lagco.report.reading import Place, Study, count_of
from lagco.report.sections.common import about_runs, file_part
from lagco.report.sections.scores.score_claims import (
    APPLIED,
    DISCRETE,
    ITERATIVE,
    EntryScores,
    ahead,
    losses,
    strategies,
)
from lagco.report.sections.scores.verdicts import LEVEL, NO, OPEN, PARTLY, YES, Claim, so_far
from lagco.report.tables import Table, plain_columns, table
from lagco.study import paper_tables
from lagco.study.results.tables import compared_growth, training_cpu
from lagco.study.settings import PACE


def blocks(study: Study) -> Sequence[Block] | str:
    """One table of all claims, per setting."""
    return about_runs(study, lambda study, setting: [Shown(claims_table(study, setting))])


def claims_table(study: Study, setting: str) -> Table:
    """Claims, verdicts and figures."""
    columns = plain_columns(
        claim="the paper says", verdict="this study", ours="ours", paper="the paper's figures"
    )
    rows = [
        (claim.words, claim.verdict, claim.ours, claim.paper) for claim in claims(study, setting)
    ]
    caption = (
        "Claims of the paper. Scores are interquartile means over unseen instances, best test "
        "episode. An entry is a problem with a training strategy. It counts as ahead or behind if "
        "the difference exceeds the spread between runs and its 95 % bootstrap interval over runs "
        "and instances leaves out 0; otherwise it is level. Shares: probability that a run of the "
        "one does better than a run of the other on the same unseen instance, mean over entries. "
        '"Level": neither is clearly ahead. "So far": the verdict rests on few entries.'
    )
    return table(f"claims{file_part(study, setting)}", caption, columns, rows)


def claims(study: Study, setting: str) -> list[Claim]:
    """All claims, in the paper's order."""
    scores = EntryScores(study, setting)
    return [
        ahead(scores, "projection generalises better than discrete agents", DISCRETE),
        ahead(scores, "projection generalises better than iterative", (ITERATIVE,)),
        losses(study, setting, scores),
        strategies(scores),
        _decision_times(study),
        _training_cost(study, setting),
        _crowding(study),
    ]


# -- times


def _decision_times(study: Study) -> Claim:
    """Exponents of whole decisions over the sizes that both have, and how much longer one takes."""
    words = "decision times of projection grow more slowly with size than those of iterative"
    laws = paper_tables()["scaling"]
    there = {p: (laws[p][PACE]["alpha"], laws[p][ITERATIVE]["alpha"]) for p in laws}
    growth = compared_growth(study.ledger, PACE, ITERATIVE)
    if not growth:
        return Claim(words, OPEN, "no decisions of both were timed", _exponents(there))
    here = {problem: found.alphas for problem, found in growth.items()}
    slower, faster = (sum(g.apart == side for g in growth.values()) for side in (-1, 1))
    verdict = LEVEL
    if 2 * max(slower, faster) > len(here):
        verdict = NO if faster > slower else YES if slower == len(here) else PARTLY
    ours_text = (
        f"{_exponents(here)}; clearly, by 95 % intervals, smaller on {slower} and larger on "
        f"{faster} (sizes that both have); at the largest of these, iterative takes "
        f"{median(g.ratio for g in growth.values()):.1f} times as long (median over problems)"
    )
    return Claim(words, verdict, ours_text, _exponents(there))


def _exponents(found: Mapping[str, tuple[float, float]]) -> str:
    slower = sum(a < b for a, b in found.values())
    middles = [median(pair[i] for pair in found.values()) for i in (0, 1)]
    return (
        f"smaller exponent on {slower} of {count_of(len(found), 'problem')}, medians "
        f"{middles[0]:.2f} and {middles[1]:.2f}"
    )


def _training_cost(study: Study, setting: str) -> Claim:
    """CPU seconds of training runs relative to projection, median over places."""
    words = "projection costs most to train, then iterative; discrete agents cost least"
    seconds = paper_tables()["training_time"]["seconds"]
    paper = _ratios({m: mean(seconds[m]) / mean(seconds[PACE]) for m in seconds if m != PACE})
    costs: dict[Place, float] = {}
    for place, runs in study.runs(setting).items():
        found = [cost for run in runs if (cost := training_cpu(study.ledger, run)) is not None]
        if found:
            costs[place] = mean(found)
    ratios: dict[str, list[float]] = {}
    for (problem, method, strategy), cost in costs.items():
        base = costs.get((problem, PACE, strategy))
        if method in seconds and method != PACE and base:
            ratios.setdefault(method, []).append(cost / base)
    if not ratios:
        return Claim(words, OPEN, "no runs of several methods", paper)
    ours = {m: median(ratios[m]) for m in seconds if m in ratios}
    cheaper = [m for m, ratio in ours.items() if ratio < 1]
    next_to_it = ours.get(ITERATIVE, 1.0)
    ordered = all(ours[m] < next_to_it for m in DISCRETE if m in ours)
    verdict = NO if 2 * len(cheaper) < len(ours) else PARTLY
    if len(cheaper) == len(ours) and ordered:
        verdict = YES
    said = f"{_ratios(ours)} (CPU seconds, median over entries)"
    return Claim(words, so_far(verdict, max(map(len, ratios.values()))), said, paper)


def _ratios(ratios: Mapping[str, float]) -> str:
    return f"relative to projection: {', '.join(f'{m} {r:.2f}' for m, r in ratios.items())}"


# -- action spaces


def _crowding(study: Study) -> Claim:
    """cmp@5 of applied and of classical problems, and of the encoder against random weights."""
    words = "action spaces of applied problems are more crowded (larger cmp@k)"
    paper = "pictures only"
    found: dict[str, tuple[float, float]] = {}
    for record in study.records("embedding"):
        pair = [record.result[which].get("5") for which in ("cmp", "cmp_random")]
        if record.spec["features"] == "full" and None not in pair:
            found[str(record.spec["problem"])] = (float(pair[0]), float(pair[1]))
    applied = [found[p][0] for p in found if p in APPLIED]
    classical = [found[p][0] for p in found if p not in APPLIED]
    if not applied or not classical:
        return Claim(words, OPEN, "no action spaces were measured", paper)
    higher = sum(a > c for a in applied for c in classical)
    share = higher / (len(applied) * len(classical))
    verdict = YES if share > 0.75 else NO if share < 0.25 else PARTLY
    wider = sum(trained < random for trained, random in found.values())
    ours = (
        f"cmp@5 {_values(found, APPLIED)}; {_values(found, set(found) - set(APPLIED))}; "
        f"pre-training spreads actions out on {wider} of {count_of(len(found), 'problem')} "
        "(smaller cmp@5 than with random weights)"
    )
    return Claim(words, verdict, ours, paper)


def _values(found: Mapping[str, tuple[float, float]], names: Iterable[str]) -> str:
    chosen = problems_in_order(name for name in names if name in found)
    return ", ".join(f"{name} {found[name][0]:.1f}" for name in chosen)
