"""The paper's claims, each with a verdict and the figures that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from lagco.agents.config import STRATEGIES
from lagco.report.blocks import Block, Shown
from lagco.report.palette import problems_in_order
from lagco.report.reading import Place, Study, count_of, listed
from lagco.report.sections.common import ALIKE, about_runs, file_part, share_text
from lagco.report.tables import Table, plain_columns, table
from lagco.study import paper_tables
from lagco.study.aggregates import better
from lagco.study.scores import instance_scores, middle, values_of
from lagco.study.settings import PACE
from lagco.study.tables import compared_growth, training_cpu

DISCRETE = ("p-discrete", "p-discrete-m", "g-discrete", "g-discrete-m")
ITERATIVE = "iterative"
#: problems that the paper calls real-world ones
APPLIED = ("placement", "ospf", "traffic", "cyber-path")
YES, PARTLY, NO, OPEN = "agrees", "agrees in part", "disagrees", "not measured"
#: entries below which a verdict is preliminary: half of the paper's
_FEW = 14


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes:
        words: what the paper says.
        verdict: whether this study agrees.
        ours: figures of this study.
        paper: figures of the paper.
    """

    words: str
    verdict: str
    ours: str
    paper: str


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
        "episode. An entry is a problem with a training strategy. Shares are of the unseen "
        "instances that both methods were tested on, means over entries, with 95 % bootstrap "
        'intervals. "So far": the verdict rests on few entries.'
    )
    return table(f"claims{file_part(study, setting)}", caption, columns, rows)


def claims(study: Study, setting: str) -> list[Claim]:
    """All claims, in the paper's order."""
    scores = _Scores(study, setting)
    return [
        _ahead(scores, "projection generalises better than discrete agents", DISCRETE),
        _ahead(scores, "projection generalises better than iterative", (ITERATIVE,)),
        _gaps(study, setting, scores),
        _strategies(scores),
        _decision_times(study),
        _training_cost(study, setting),
        _crowding(study),
    ]


class _Scores:
    """Interquartile mean scores by problem, method and strategy; the paper's in the same form."""

    def __init__(self, study: Study, setting: str) -> None:
        self.runs = study.runs(setting)
        found = {p: middle(values_of(runs, "score"))[0] for p, runs in self.runs.items()}
        self.ours = {place: value for place, value in found.items() if value is not None}
        self.paper: dict[Place, float] = {
            (problem, method, strategy): value
            for problem, methods in paper_tables()["generalization"].items()
            for method, row in methods.items()
            for strategy, value in row.items()
            if strategy != "delta"
        }


# -- scores


def _ahead(scores: _Scores, words: str, others: Sequence[str]) -> Claim:
    """Share of entries in which projection scores higher than the best of other methods."""
    places = [
        (p, s)
        for p, m, s in scores.ours
        if m == PACE and any((p, other, s) in scores.ours for other in others)
    ]
    if not places:
        return Claim(words, OPEN, "no runs of both", _wins(scores.paper, others))
    sample, rivals = {}, {}
    for p, s in places:
        rival = _best(scores.ours, p, s, others)
        sample[f"{p} {s}"] = instance_scores(scores.runs[p, PACE, s])
        rivals[f"{p} {s}"] = instance_scores(scores.runs[p, rival, s])
    share = better(sample, rivals, list(sample))
    won, _, of = _counts(scores.ours, others)
    verdict = (NO, PARTLY, YES)[(share.low > 0.5) + (2 * won > of)]
    which = "the best of them" if len(others) > 1 else others[0]
    ours = f"{_wins(scores.ours, others)}; better than {which} on {share_text(share)} of instances"
    missing = [m for m in others if not any(method == m for _, method, _ in scores.ours)]
    if missing:
        ours += f"; without {listed(missing)}"
    return Claim(words, _so_far(verdict, of), ours, _wins(scores.paper, others))


def _so_far(verdict: str, entries: int) -> str:
    """A verdict that rests on few entries says so."""
    return verdict if entries >= _FEW else f"{verdict}, so far"


def _best(scores: Mapping[Place, float], problem: str, strategy: str, among: Sequence[str]) -> str:
    known = [m for m in among if (problem, m, strategy) in scores]
    return max(known, key=lambda m: scores[problem, m, strategy])


def _counts(scores: Mapping[Place, float], others: Sequence[str]) -> tuple[int, int, int]:
    """Entries in which projection is ahead, in which it is level, and all of them."""
    differences = [
        value - max(scores[p, m, s] for m in others if (p, m, s) in scores)
        for (p, method, s), value in scores.items()
        if method == PACE and any((p, m, s) in scores for m in others)
    ]
    ahead = sum(difference > ALIKE for difference in differences)
    behind = sum(difference < -ALIKE for difference in differences)
    return ahead, len(differences) - ahead - behind, len(differences)


def _wins(scores: Mapping[Place, float], others: Sequence[str]) -> str:
    won, even, of = _counts(scores, others)
    level = f", level in {even}" if even else ""
    return f"ahead in {won} of {count_of(of, 'entry')}{level}"


def _gaps(study: Study, setting: str, scores: _Scores) -> Claim:
    """Scores that are lost on unseen instances, mean over problems and strategies.

    Ours are on the solver's scale: the sweeps' values are weaker on large instances, so that scores
    on the paper's scale grow with size.
    """
    words = "projection loses least on unseen instances, of the methods that score well"
    theirs: dict[str, list[float]] = {}
    for methods in paper_tables()["generalization"].values():
        for method, row in methods.items():
            theirs.setdefault(method, []).append(max(0.0, -row["delta"]))
    paper = _means(theirs)
    losses: dict[str, dict[tuple[str, str], float]] = {}
    for problem, method, strategy in scores.ours:
        found = study.transfer(setting, (problem, method, strategy), "solver_score")
        if found is not None and method in theirs:
            losses.setdefault(method, {})[problem, strategy] = max(0.0, -found)
    rivals = [m for m in losses if m != PACE and 4 * len(losses[m]) >= len(losses.get(PACE, ()))]
    if PACE not in losses or not rivals:
        return Claim(words, OPEN, "no runs of several methods", paper)
    entries = sorted(set.intersection(*(set(losses[m]) for m in (PACE, *rivals))))
    level = {m: mean(scores.ours[p, m, s] for p, s in entries) for m in rivals} if entries else {}
    least = mean(scores.ours[p, PACE, s] for p, s in entries) / 3 if entries else 0.0
    rivals = [m for m in level if level[m] >= least]  # who scores nothing has nothing to lose
    if not rivals:
        why = "no other method has a third of its score" if entries else "no entry that all have"
        return Claim(words, OPEN, why, paper)
    ours = {m: [losses[m][entry] for entry in entries] for m in theirs if m in (PACE, *rivals)}
    smaller = [m for m in rivals if mean(ours[m]) < mean(ours[PACE]) - ALIKE]
    verdict = YES if not smaller else PARTLY if 2 * len(smaller) <= len(rivals) else NO
    said = (
        f"{_means(ours)} (solver scores, {count_of(len(entries), 'entry')} that all of these have; "
        "methods with a third of its score or more)"
    )
    return Claim(words, _so_far(verdict, len(entries)), said, paper)


def _means(values: Mapping[str, Sequence[float]]) -> str:
    said = (f"{method} {mean(found):.2f}" for method, found in values.items())
    return f"mean loss: {', '.join(said)}"


def _strategies(scores: _Scores) -> Claim:
    """On how many applied problems projection is best when it is trained on varied instances."""
    words = "varied is the best strategy of projection on applied problems"
    (won, of, values), (won_there, of_there, theirs) = (
        _varied(found) for found in (scores.ours, scores.paper)
    )
    paper = f"best on {won_there} of {of_there}; mean scores: {theirs}"
    if not of:
        return Claim(words, OPEN, "no runs of projection with several strategies", paper)
    verdict = YES if 2 * won > of else PARTLY if won else NO
    ours = f"best on {won} of {count_of(of, 'problem')}; mean scores: {values}"
    return Claim(words, verdict, ours, paper)


def _varied(scores: Mapping[Place, float]) -> tuple[int, int, str]:
    rows = {
        problem: {s: value for (p, m, s), value in scores.items() if (p, m) == (problem, PACE)}
        for problem in APPLIED
    }
    rows = {p: row for p, row in rows.items() if "varied" in row and len(row) > 1}
    won = sum(row["varied"] > max(row.values()) - ALIKE for row in rows.values())
    shared = [s for s in STRATEGIES if rows and all(s in row for row in rows.values())]
    said = (f"{s} {mean(row[s] for row in rows.values()):.2f}" for s in shared)
    return won, len(rows), ", ".join(said)


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
    slower = sum(a < b for a, b in here.values())
    verdict = YES if slower == len(here) else PARTLY if 2 * slower >= len(here) else NO
    ours_text = (
        f"{_exponents(here)} (sizes that both have); at the largest of these, iterative takes "
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
    return Claim(words, _so_far(verdict, max(map(len, ratios.values()))), said, paper)


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
