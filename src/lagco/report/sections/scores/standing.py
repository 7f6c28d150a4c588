"""Methods and policies over several problems: their results, and where they stand on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lagco.report.palette import methods_in_order
from lagco.report.reading import Study
from lagco.results.numbers import significant
from lagco.results.resampling import Estimated, Scores
from lagco.study import Record
from lagco.study.results.aggregates import (
    aggregate,
    mean_middle,
    mean_ranks,
    profile,
    shared_problems,
)
from lagco.study.results.scores import scores_of


@dataclass(frozen=True)
class Results:
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
    samples: Mapping[str, Mapping[str, Scores]]

    @classmethod
    def of(cls, study: Study, setting: str, strategy: str) -> Results:
        """Those of the agents that a strategy trained."""
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
            method: {p: scores_of(records[method].get(p, ()), "score") for p in scored}
            for method in methods_in_order(records)
        }
        shared = shared_problems({method: samples[method] for method in trained})
        return cls(records, trained, shared, samples)

    @property
    def comparable(self) -> list[str]:
        """Methods and policies that were tested on all of these problems."""
        if not self.problems:
            return []
        return [m for m, s in self.samples.items() if all(len(s.get(p, ())) for p in self.problems)]

    @property
    def compared(self) -> list[str]:
        """Methods among them."""
        return [m for m in self.comparable if m in self.trained]

    def standing(self) -> Standing:
        """The comparable ones by their gaps where all have them, else by their scores."""
        names, problems = self.comparable, self.problems
        gaps = {m: {p: scores_of(self.records[m][p], "gap") for p in problems} for m in names}
        if all(len(gaps[m][p]) for m in names for p in problems):
            overall = {name: mean_middle(gaps[name], problems) for name in names}
            return Standing("gap", problems, gaps, overall)
        overall = {name: aggregate(self.samples[name], problems) for name in names}
        return Standing("score", problems, {n: self.samples[n] for n in names}, overall)

    def count(self, method: str) -> int:
        """Least number of runs of a method on the problems that are compared."""
        return min((self.samples[method][p].count for p in self.problems), default=0)


def _on_unseen(policy: Record, runs: Sequence[Record]) -> Record:
    """Results of a policy on instances that some agent has not seen; on all without agents."""
    unseen = {i["index"] for run in runs for i in run.result["instances"] if not i["seen"]}
    kept = [i for i in policy.result["instances"] if i["index"] in unseen or not runs]
    return replace(policy, result={**policy.result, "instances": kept})


@dataclass(frozen=True)
class Standing:
    """Methods and policies over several problems, on one scale.

    Attributes:
        measure: ``gap`` (to the solver, smaller is better) or ``score``.
        problems: that they were all tested on.
        samples: values of the measure on unseen instances, by name, then problem.
        overall: one figure per name over all problems: the mean of the problems' gaps, or the
            interquartile mean of all scores.
    """

    measure: str
    problems: Sequence[str]
    samples: Mapping[str, Mapping[str, Scores]]
    overall: Mapping[str, Estimated]

    @property
    def by_gap(self) -> bool:
        """Whether smaller is better."""
        return self.measure == "gap"

    def best_first(self, names: Sequence[str]) -> list[str]:
        """Names from the best to the worst."""
        sign = 1 if self.by_gap else -1
        return sorted(names, key=lambda name: sign * self.overall[name].value)

    def text(self, name: str) -> str:
        """The figure of a name with its interval."""
        found = self.overall[name]
        if not self.by_gap:
            return str(found)
        if not np.isfinite(found.value):
            return "unbounded, since not all instances were solved"
        high = f"{significant(found.high, 2)} %" if np.isfinite(found.high) else "∞"
        return f"{significant(found.value, 2)} % [{significant(found.low, 2)} %, {high}]"

    def ranks(self) -> dict[str, float]:
        """Mean ranks, 1 is best."""
        return mean_ranks(self._rising(), self.problems) if self.samples else {}

    def shares(self, name: str, levels: Sequence[float]) -> list[float]:
        """Share of instances that are at least as good as each level, mean over problems."""
        sign = -1 if self.by_gap else 1
        return profile(self._rising()[name], self.problems, [sign * level for level in levels])

    def _rising(self) -> Mapping[str, Mapping[str, Scores]]:
        """Values of which larger ones are better."""
        if not self.by_gap:
            return self.samples
        return {
            name: {p: replace(scores, values=-scores.values) for p, scores in sample.items()}
            for name, sample in self.samples.items()
        }
