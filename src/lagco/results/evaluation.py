"""Results of a policy on a data set: per episode, per instance, and summed up.

An instance that the policy refused, or for which it found no solution, counts as worst in every
summary (score 0, an infinite gap), so that policies are always compared over the same instances.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lagco.results.described import SelfDescribing
from lagco.results.measures import MEASURES, RETURN, counted, maximised, selected
from lagco.results.statistics import Summary, summarise, train_test_gap


@dataclass(frozen=True)
class EpisodeResult:
    """Result of one test episode.

    Attributes:
        seed: of the environment and of the policy.
        steps: number of actions taken.
        reason: why it ended.
        feasible: whether the final state is a solution.
        objective: of the final state.
        objective_best: of the best feasible state of the episode, None if there was none.
        score: of the final state against the sweeps' best; None without that reference.
        score_best: of the best state, likewise.
        solver_score: of the final state against the solver's value.
        solver_score_best: of the best state, likewise.
        gap: of the best state to the solver's value, in percent of it.
        episode_return: sum of the rewards; of a task without an end, their mean over its horizon.
    """

    seed: int
    steps: int
    reason: str
    feasible: bool
    objective: float
    objective_best: float | None
    score: float | None
    score_best: float | None
    solver_score: float | None
    solver_score_best: float | None
    gap: float | None
    episode_return: float | None = None


@dataclass(frozen=True)
class InstanceResult:
    """Episodes of one policy on one instance.

    Attributes:
        instance: its name.
        size: number of decision variables.
        checksum: of the instance.
        episodes: none where the instance was refused.
        measures: those that the references of the instance allow.
        seen: whether the policy was trained on the instance.
        refused: why there are no episodes.
    """

    instance: str
    size: int
    checksum: str
    episodes: tuple[EpisodeResult, ...]
    measures: tuple[str, ...]
    seen: bool = False
    refused: str | None = None

    @property
    def infeasible(self) -> bool:
        """Whether the instance was decided on, but no episode came to a solution."""
        return bool(self.episodes) and all(e.objective_best is None for e in self.episodes)

    def first(self, key: str) -> float | None:
        """Value of the first episode; None where the instance was refused."""
        return getattr(self.episodes[0], key) if self.episodes else None

    def best(self, key: str, *, maximise: bool | None = None) -> float | None:
        """Best value over all episodes.

        Args:
            key: attribute of the episodes.
            maximise: whether larger values are better; needed for objectives, measures know it.
        """
        values = [getattr(episode, key) for episode in self.episodes]
        larger = maximised(key) if maximise is None else maximise
        found = selected(values, "best", maximise=larger)
        return found[0] if found else None

    def mean(self, key: str) -> float | None:
        """Mean over all episodes that have a value, as of stochastic problems."""
        values = [getattr(episode, key) for episode in self.episodes]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    def counted(self, measure: str, selection: str) -> float | None:
        """Value with which the instance counts: the worst one where it was not solved.

        None only where the instance lacks the reference that the measure needs.
        """
        if measure not in self.measures:
            return None
        values = [getattr(episode, measure) for episode in self.episodes]
        return counted(values, measure, selection)[0]


@dataclass(frozen=True, repr=False)
class Evaluation(SelfDescribing):
    """Results of one policy on one data set.

    Attributes:
        policy: its name.
        problem: name of the problem.
        results: one per instance.
        stochastic: whether episodes differ by what happens: then means over them count, since the
            best of them would be luck.
        endless: whether returns are average rewards over a horizon.
    """

    policy: str
    problem: str
    results: tuple[InstanceResult, ...]
    stochastic: bool = False
    endless: bool = False

    @property
    def selections(self) -> tuple[str, ...]:
        """Which episodes of an instance count, the main selection last."""
        return ("mean",) if self.stochastic else ("first", "best")

    @property
    def refused(self) -> int:
        """Number of instances that the policy did not decide on."""
        return sum(result.refused is not None for result in self.results)

    @property
    def infeasible(self) -> int:
        """Number of instances that the policy decided on without finding a solution."""
        return sum(result.infeasible for result in self.results)

    def facts(self) -> dict[str, object]:
        """Policy, problem, number of instances, and interquartile means of the best episodes."""
        about: dict[str, object] = {"policy": self.policy, "problem": self.problem}
        about["instances"] = len(self.results)
        for measure in ("score", "gap", RETURN):
            found = summarise(self.values(measure), normality=False)
            if found is not None:
                value = found.mean if self.stochastic else found.iqm
                about[f"{measure}/{self.selections[-1]}"] = f"{value:.4g}"
        return about

    def over(self, checksums: Collection[str]) -> Evaluation:
        """The evaluation over some of its instances."""
        return replace(self, results=tuple(r for r in self.results if r.checksum in checksums))

    def part(self, seen: bool) -> Evaluation:
        """The evaluation over the instances that the agent was trained on, or over the others."""
        return self.over({result.checksum for result in self.results if result.seen == seen})

    def values(self, measure: str, selection: str | None = None) -> list[float]:
        """One value per instance that has the measure; those not solved count as worst.

        Without a selection that of the best episode; of stochastic problems the mean over all.
        """
        selection = selection or self.selections[-1]
        found = (result.counted(measure, selection) for result in self.results)
        return [value for value in found if value is not None]

    def summary(self, seen: bool | None = None) -> dict[str, Summary | None]:
        """Every measure, as of the first episode and as the best over all: ``score/first``, …

        ``score`` and ``solver_score`` are of the final state of an episode, as in the paper;
        ``score_best``, ``solver_score_best`` and ``gap`` of its best state.

        Instances without a reference are measured by ``episode_return``, which is there only then.
        Of stochastic problems there are means over all episodes instead: ``score/mean``, …; where
        there is one instance, their intervals are over its episodes.

        Args:
            seen: only over instances that the agent was trained on (True), or not (False).
        """
        chosen = self if seen is None else self.part(seen)
        return {
            f"{measure}/{selection}": summarise(chosen._sample(measure, selection), normality=False)
            for measure in (*MEASURES, *([RETURN] if chosen.values(RETURN) else []))
            for selection in self.selections
        }

    def _sample(self, measure: str, selection: str) -> list[float]:
        """Values that a summary is of: of instances, or of the draws of a single one."""
        if selection != "mean" or len(self.results) != 1:
            return self.values(measure, selection)
        [result] = self.results
        values = [getattr(episode, measure) for episode in result.episodes]
        return counted(values, measure, "all") if measure in result.measures else []

    def train_test_gap(self, measure: str) -> float | None:
        """Interquartile mean over unseen instances minus that over seen ones, best episodes."""
        return train_test_gap(self.part(False).values(measure), self.part(True).values(measure))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; an infinite value is None."""
        parts = {"summary": None, "unseen": False, "seen": True}
        return {
            "policy": self.policy,
            "problem": self.problem,
            **({"stochastic": True} if self.stochastic else {}),
            "refused": self.refused,
            "infeasible": self.infeasible,
            **{
                part: {key: plain(entry) for key, entry in self.summary(seen).items()}
                for part, seen in parts.items()
            },
            "train_test_gap": {name: plain(self.train_test_gap(name)) for name in MEASURES},
            "instances": [asdict(result) for result in self.results],
        }


def by_training(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Evaluations on the same data, over instances that no agent was trained on and the others.

    Returns:
        ``unseen`` and ``seen`` (by at least one of the agents), without what is empty. Every
        evaluation of a part is over the same instances.
    """
    every = {result.checksum for e in evaluations for result in e.results}
    seen = {result.checksum for e in evaluations for result in e.results if result.seen}
    parts = {"unseen": every - seen, "seen": seen}
    return {name: [e.over(part) for e in evaluations] for name, part in parts.items() if part}


def plain(value: Any) -> Any:
    """Values as JSON can hold them: infinities and NaN become None."""
    if isinstance(value, Summary):
        return {name: plain(item) for name, item in asdict(value).items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
