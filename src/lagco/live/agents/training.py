"""Training of live agents on timelines, by imitation.

An episode is a stretch of a timeline. Decisions are the teacher's or the learner's, have a budget
of changes, and stay in force. The teacher is the agent's search with all moves previewed: in every
state that it expands, it knows the effect of each move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.instances.timelines import Timeline
from lagco.live.agents.agent import LiveAgent, moves_of
from lagco.live.agents.search import Expansion, GuidedSearch
from lagco.live.contract import Update, followed, in_force, live_instance
from lagco.problems import AnyProblem, problem_class
from lagco.runtime.one_thread import one_thread
from lagco.solving.portfolio import Limit


@dataclass(frozen=True)
class LiveTraining:
    """Settings of the training of a live agent.

    Attributes:
        rounds: decisions of an episode.
        budgets: changes that a decision may make, one of which is drawn for every episode.
        width: of the teacher's beam.
        own_share: share of the decisions that the learner makes, once there is one.
        steps: gradient steps on the examples, after each half of the episodes.
        units: width of the network's layers; 0 for weighted sums of the columns.
        proposals: moves that the agent previews from every state.
        seed: everything random follows from it.
    """

    rounds: int = 8
    budgets: tuple[int, ...] = (1, 2, 3, 3, 3, 5)
    width: int = 4
    own_share: float = 0.6
    steps: int = 1500
    units: int = 32
    proposals: int = 12
    seed: int = 42

    def __post_init__(self) -> None:
        for name in ("rounds", "width", "steps", "proposals"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: give a positive number")
        if self.units < 0:
            raise UsageError(f"units={self.units}: give a positive number, or 0 for a linear one")
        if not 0.0 <= self.own_share <= 1.0:
            raise UsageError(f"own_share={self.own_share}: give a share from 0 to 1")
        if not self.budgets or min(self.budgets) < 1:
            raise UsageError(f"budgets={self.budgets}: name budgets of 1 change or more")


@one_thread()
def train_live_agent(
    problem: AnyProblem,
    timelines: Iterable[Timeline],
    settings: LiveTraining | None = None,
    *,
    report: Callable[[str], Any] | None = None,
    **options: Any,
) -> LiveAgent:
    """Train a live agent on stretches of timelines.

    Args:
        problem: name, ``module:Class`` or class; it has to list its moves (`Problem.moves`).
        timelines: an episode each. One whose instance has no configuration in force begins with the
            problem's default.
        settings: of the training; else they are made of `options`.
        report: called with a line of progress after each half of the episodes.
        options: fields of :class:`LiveTraining`.
    """
    from lagco.live.agents.learning import LinearScorerNetwork, ScorerNetwork, fit, seeded

    settings = LiveTraining(**options) if settings is None else settings
    cls = problem_class(problem)
    rng = np.random.default_rng([settings.seed, 17])
    episodes = list(timelines)
    examples: list[Any] = []
    features = len(moves_of(cls).columns)
    if settings.units:
        network = seeded(settings.seed, lambda: ScorerNetwork(features, settings.units))
    else:
        network = LinearScorerNetwork(features)
    halves = np.array_split(np.arange(len(episodes)), 2)
    learner = None
    for number, half in enumerate(halves):
        for place in half.tolist():
            examples += _episode(cls, episodes[place], settings, learner, rng)
        if not examples:
            raise UsageError("timelines: there was nothing to decide in any of them")
        if number == 0:
            network.standardise(examples)
        loss = fit(network, examples, settings.steps, rng)
        learner = network.scorer()
        if report is not None:
            report(f"{len(examples)} states of {place + 1} timelines, loss {loss:.3f}")
    assert learner is not None
    training = {
        "timelines": len(episodes),
        "states": len(examples),
        "steps": settings.steps * len(halves),
        "seed": settings.seed,
    }
    return LiveAgent(cls, learner, settings.proposals, training)


def _episode(
    cls: type[Problem],
    timeline: Timeline,
    settings: LiveTraining,
    learner: Any,
    rng: np.random.Generator,
) -> list[Any]:
    """Lessons of one stretch of a timeline."""
    from lagco.live.agents.learning import example_of

    most = int(rng.choice(settings.budgets))
    instance = live_instance(cls, timeline.instance, most)
    moves, examples = moves_of(cls), []
    for moment in islice(timeline, settings.rounds):
        instance = followed(cls, instance, Update(0, None, (moment.event,), 0))
        seen: list[Expansion] = []
        moves.begin(instance)
        before, limit = moves.solution, Limit(turns=1 + settings.width * (most - 1))
        best = GuidedSearch(moves, seen=seen.append).run(before, most, limit, settings.width)
        for expansion in seen:
            if not np.isfinite(expansion.levels).any():
                continue  # nothing may move
            away = _distance(expansion.state.solution, best.solution)
            right = [_distance(s, best.solution) < away for s in expansion.solutions]
            examples.append(example_of(expansion.columns, expansion.levels, np.array(right)))
        if learner is not None and rng.random() < settings.own_share:
            moves.begin(instance)
            own = GuidedSearch(moves, learner, settings.proposals)
            best = own.run(before, most, Limit(turns=most), 1)
        if best.changes:
            instance = in_force(cls, instance, best.solution)
    return examples


def _distance(solution: Array, other: Array) -> int:
    """Elements in which two configurations differ."""
    differs = solution != other
    return int((differs if differs.ndim == 1 else differs.any(axis=1)).sum())


def days(
    problem: type[Problem],
    instances: Iterable[Instance],
    seed: int = 42,
    steps: tuple[float, ...] = (900.0, 3600.0, 7200.0),
    **options: Any,
) -> list[Timeline]:
    """A synthetic timeline per instance, with different times between two events."""
    rng = np.random.default_rng([seed, 18])
    return [
        problem.draw_timeline(
            instance,
            seed=int(rng.integers(1 << 30)),
            until=float("inf"),
            step=float(rng.choice(steps)),
            **options,
        )
        for instance in instances
    ]
