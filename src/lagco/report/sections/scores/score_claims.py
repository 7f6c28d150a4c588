"""The paper's claims about scores, judged with margins beyond the spread between runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import mean, median
from typing import Any

from lagco.agents.config import STRATEGIES
from lagco.report.reading import Place, Study, count_of, listed
from lagco.report.sections.common import ALIKE, share_text
from lagco.report.sections.scores.verdicts import LEVEL, NO, OPEN, PARTLY, YES, Claim, so_far
from lagco.results.resampling import Scores
from lagco.results.statistics import bootstrap_interval
from lagco.results.statistics import mean as average
from lagco.study import paper_tables
from lagco.study.results.aggregates import better, mean_difference, mean_middle
from lagco.study.results.scores import middle, scores_of, values_of
from lagco.study.settings import PACE

DISCRETE = ("p-discrete", "p-discrete-m", "g-discrete", "g-discrete-m")
ITERATIVE = "iterative"
#: problems that the paper calls real-world ones
APPLIED = ("placement", "ospf", "traffic", "cyber-path")
AHEAD, EVEN, BEHIND = "ahead", "level", "behind"


class EntryScores:
    """Scores by problem, method and strategy, and how far runs lie apart; the paper's scores.

    Attributes:
        samples: scores of the best test episodes on unseen instances.
        ours: interquartile means, where they are finite.
        paper: the paper's in the same form.
    """

    def __init__(self, study: Study, setting: str) -> None:
        runs = study.runs(setting)
        found = {p: middle(values_of(records, "score"))[0] for p, records in runs.items()}
        self.ours = {place: value for place, value in found.items() if value is not None}
        self.samples = {place: scores_of(runs[place], "score") for place in self.ours}
        self._spreads: dict[Place, float] = {}
        for place, records in runs.items():
            each = [middle(values_of([record], "score"))[0] or 0.0 for record in records]
            if len(each) > 1:
                self._spreads[place] = max(each) - min(each)
        self.paper: dict[Place, float] = {
            (problem, method, strategy): value
            for problem, methods in paper_tables()["generalization"].items()
            for method, row in methods.items()
            for strategy, value in row.items()
            if strategy != "delta"
        }

    def spread(self, place: Place) -> float:
        """Largest minus smallest score of the runs there.

        Of a single run, what is usual on that problem: the median over entries with several.
        """
        usual = [value for other, value in self._spreads.items() if other[0] == place[0]]
        return self._spreads.get(place, median(usual) if usual else 0.0)

    def standing(self, first: Place, second: Place) -> str:
        """Whether the first scores clearly more than the second, or less, or neither."""
        margin = max(ALIKE, self.spread(first), self.spread(second))
        found = mean_difference({"": self.samples[first]}, {"": self.samples[second]}, [""])
        if found.low > 0 and found.value > margin:
            return AHEAD
        return BEHIND if found.high < 0 and found.value < -margin else EVEN

    def of(self, method: str, strategy: str, problems: Sequence[str]) -> dict[str, Scores]:
        """Scores by problem."""
        return {problem: self.samples[problem, method, strategy] for problem in problems}


# -- who is ahead


def ahead(scores: EntryScores, words: str, others: Sequence[str]) -> Claim:
    """Entries in which projection is clearly ahead of the best of other methods, by strategy."""
    there = _standings(
        scores.paper,
        others,
        lambda a, b: _plain(scores.paper[a] - scores.paper[b]),
    )
    paper = _told(there)
    here = _standings(scores.ours, others, scores.standing)
    if not here:
        return Claim(words, OPEN, "no runs of both", paper)
    sample, rivals = {}, {}
    for problem, strategy in here:
        rival = _best(scores.ours, problem, strategy, others)
        sample[f"{problem} {strategy}"] = scores.samples[problem, PACE, strategy]
        rivals[f"{problem} {strategy}"] = scores.samples[problem, rival, strategy]
    share = better(sample, rivals, list(sample))
    which = "the best of them" if len(others) > 1 else others[0]
    ours = f"{_told(here)}; better than {which} with probability {share_text(share)}"
    missing = [m for m in others if not any(method == m for _, method, _ in scores.ours)]
    if missing:
        ours += f"; without {listed(missing)}"
    verdict = _verdict(here)
    if verdict == YES and share.low <= 0.5:
        verdict = PARTLY
    return Claim(words, so_far(verdict, len(here)), ours, paper)


def _plain(difference: float) -> str:
    return AHEAD if difference > ALIKE else BEHIND if difference < -ALIKE else EVEN


def _standings(values: Mapping[Place, float], others: Sequence[str], judge: Any) -> dict[Any, str]:
    """Standing of projection against the best of the others, by problem and strategy."""
    return {
        (p, s): judge((p, PACE, s), (p, _best(values, p, s, others), s))
        for p, method, s in values
        if method == PACE and any((p, other, s) in values for other in others)
    }


def _best(scores: Mapping[Place, float], problem: str, strategy: str, among: Sequence[str]) -> str:
    known = [m for m in among if (problem, m, strategy) in scores]
    return max(known, key=lambda m: scores[problem, m, strategy])


def _by_strategy(standings: Mapping[tuple[str, str], str]) -> dict[str, Counter[str]]:
    found = {
        strategy: Counter(value for (_, s), value in standings.items() if s == strategy)
        for strategy in STRATEGIES
    }
    return {strategy: counts for strategy, counts in found.items() if counts}


def _told(standings: Mapping[tuple[str, str], str]) -> str:
    counts = Counter(standings.values())
    parts = [
        f"{strategy} {each[AHEAD]}/{each[EVEN]}/{each[BEHIND]}"
        for strategy, each in _by_strategy(standings).items()
    ]
    return (
        f"ahead in {counts[AHEAD]} of {count_of(len(standings), 'entry')}, level in "
        f"{counts[EVEN]}, behind in {counts[BEHIND]} ({', '.join(parts)})"
    )


def _verdict(standings: Mapping[tuple[str, str], str]) -> str:
    """One of all strategies, where they agree."""
    found = set()
    for counts in _by_strategy(standings).values():
        of = counts.total()
        found.add(YES if 2 * counts[AHEAD] > of else NO if 2 * counts[BEHIND] > of else LEVEL)
    return found.pop() if len(found) == 1 else PARTLY if YES in found else LEVEL


# -- what is lost on unseen instances


def losses(study: Study, setting: str, scores: EntryScores) -> Claim:
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
    found: dict[str, dict[tuple[str, str], float]] = {}
    for problem, method, strategy in scores.ours:
        lost = study.transfer(setting, (problem, method, strategy), "solver_score")
        if lost is not None and method in theirs:
            found.setdefault(method, {})[problem, strategy] = max(0.0, -lost)
    rivals = [m for m in found if m != PACE and 4 * len(found[m]) >= len(found.get(PACE, ()))]
    if PACE not in found or not rivals:
        return Claim(words, OPEN, "no runs of several methods", paper)
    entries = sorted(set.intersection(*(set(found[m]) for m in (PACE, *rivals))))
    level = {m: mean(scores.ours[p, m, s] for p, s in entries) for m in rivals} if entries else {}
    least = mean(scores.ours[p, PACE, s] for p, s in entries) / 3 if entries else 0.0
    rivals = [m for m in level if level[m] >= least]  # who scores nothing has nothing to lose
    if not rivals:
        why = "no other method has a third of its score" if entries else "no entry that all have"
        return Claim(words, OPEN, why, paper)
    ours = {m: [found[m][entry] for entry in entries] for m in theirs if m in (PACE, *rivals)}
    said = (
        f"{_means(ours)} (solver scores, {count_of(len(entries), 'entry')} that all of these have; "
        "methods with a third of its score or more)"
    )
    return Claim(words, so_far(_least(ours), len(entries)), said, paper)


def _least(losses: Mapping[str, Sequence[float]]) -> str:
    """Verdict by intervals, over entries, of what the others lose more than projection."""
    least = losses[PACE]
    more = {
        method: bootstrap_interval([a - b for a, b in zip(lost, least, strict=True)], average)
        for method, lost in losses.items()
        if method != PACE
    }
    if any(high < 0 for _, high in more.values()):
        return NO
    clear = sum(low > 0 for low, _ in more.values())
    return YES if clear == len(more) else PARTLY if clear else LEVEL


def _means(values: Mapping[str, Sequence[float]]) -> str:
    said = (f"{method} {mean(found):.2f}" for method, found in values.items())
    return f"mean loss: {', '.join(said)}"


# -- strategies


def strategies(scores: EntryScores) -> Claim:
    """Mean scores of projection on applied problems by strategy, varied against each other one."""
    words = "varied is the best strategy of projection on applied problems"
    ours, theirs = (_rows(found) for found in (scores.ours, scores.paper))
    won_there = sum(row["varied"] > max(row.values()) - ALIKE for row in theirs.values())
    means = {s: mean(row[s] for row in theirs.values()) for s in STRATEGIES}
    paper = (
        f"best on {won_there} of {len(theirs)}; mean scores: "
        f"{', '.join(f'{s} {value:.2f}' for s, value in means.items())}"
    )
    if not ours:
        return Claim(words, OPEN, "no runs of projection with several strategies", paper)
    problems = list(ours)
    shared = [s for s in STRATEGIES if all(s in row for row in ours.values())]
    samples = {s: scores.of(PACE, s, problems) for s in shared}
    said = ", ".join(f"{s} {mean_middle(samples[s], problems)}" for s in shared)
    others = [s for s in shared if s != "varied"]
    found = {s: mean_difference(samples["varied"], samples[s], problems) for s in others}
    nearest = min(found, key=lambda s: found[s].value)
    verdict = LEVEL
    if any(each.high < 0 for each in found.values()):
        verdict = NO
    elif all(each.low > 0 for each in found.values()):
        verdict = YES
    text = (
        f"mean scores on {count_of(len(problems), 'problem')}: {said}; varied minus {nearest}: "
        f"{found[nearest]}"
    )
    return Claim(words, verdict, text, paper)


def _rows(scores: Mapping[Place, float]) -> dict[str, dict[str, float]]:
    """Scores of projection by applied problem and strategy, where varied has others beside it."""
    rows = {
        problem: {s: value for (p, m, s), value in scores.items() if (p, m) == (problem, PACE)}
        for problem in APPLIED
    }
    return {p: row for p, row in rows.items() if "varied" in row and len(row) > 1}
