"""Instances of a run without data, and comparison of its agent with greedy and search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import Previews
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.heuristics import rules_search
from lagco.instances import Instance
from lagco.policies import GreedyPolicy, Policy
from lagco.results.measures import improvement
from lagco.results.statistics import bootstrap_interval, mean
from lagco.rollout import Episode

if TYPE_CHECKING:
    from lagco.agents.agent import Agent

#: numbers of instances that a run without data draws
TRAINING, VALIDATION = 200, 20
_SEED, _EPISODES = 42, 5
_ANY_MOVES = 1 << 60


def drawn_instances(
    problem: type[Problem], settings: Mapping[str, Any]
) -> tuple[list[Instance], list[Instance]]:
    """Instances to train on and others to validate on, for a run without data.

    Args:
        problem: class that defines ``draw``.
        settings: of the run; its seed is that of the instances.
    """
    config = settings.get("config")
    seed = int(settings.get("seed", _SEED) if config is None else config.seed)
    try:
        drawn = [problem.generate(None, seed, i) for i in range(TRAINING + VALIDATION)]
    except UsageError as error:
        raise UsageError(f"there is no data, and none can be drawn: {error}") from None
    return drawn[:TRAINING], drawn[TRAINING:]


@dataclass(frozen=True)
class Comparison:
    """Best of several episodes of an agent on validation instances, compared with baselines.

    Attributes:
        instances: their number.
        seconds: processor time of the agent per instance, which `search` is given, too.
        means: mean objective of ``agent``, ``greedy`` and ``search``, as far as they apply.
        ahead: lead over each baseline in percent of its mean objective, with the 95 % interval
            over the instances.
    """

    instances: int
    seconds: float
    means: Mapping[str, float]
    ahead: Mapping[str, tuple[float, float, float]]

    def sentences(self) -> dict[str, str]:
        """A sentence per baseline."""
        found = {}
        for name, (share, low, high) in self.ahead.items():
            says = "level with" if low <= 0.0 <= high else "ahead of" if low > 0.0 else "behind"
            found[f"against {name}"] = (
                f"{says} it: {self.means['agent']:.5g}, {name} {self.means[name]:.5g}; "
                f"{share:+.2f} % (95 % interval {low:+.2f} to {high:+.2f})"
            )
        return found


def compare(agent: Agent, instances: Sequence[Instance]) -> Comparison:
    """Compare an agent's best episodes with those of `greedy`, and with search of equal time."""
    cls = agent.problem
    _played(agent, cls, instances[0], agent.features)  # compiles what is not compiled yet
    began = time.process_time()
    values = {"agent": [_played(agent, cls, each, agent.features) for each in instances]}
    seconds = (time.process_time() - began) / len(instances)
    if issubclass(cls, Previews):
        greedy = GreedyPolicy()
        values["greedy"] = [_played(greedy, cls, each, agent.features) for each in instances]
    if not cls.stochastic:
        values["search"] = [_searched(cls, each, seconds) for each in instances]
    own, ahead = np.array(values["agent"]), {}
    sign = improvement(1.0, 0.0, maximise=cls.maximise)
    for name, others in values.items():
        if name != "agent":
            ahead[name] = _ahead(own, np.array(others), sign)
    means = {name: mean(found) for name, found in values.items()}
    return Comparison(len(instances), seconds, means, ahead)


def _ahead(own: Array, others: Array, sign: float) -> tuple[float, float, float]:
    unit = float(np.abs(others).mean()) or 1.0
    shares = 100.0 * sign * (own - others) / unit
    if not np.isfinite(shares).all():  # an instance without a solution
        return float(mean(shares)), float("nan"), float("nan")
    return (mean(shares), *bootstrap_interval(shares, mean))


def _played(policy: Policy, cls: type[Problem], instance: Instance, features: str) -> float:
    """Objective of the best of a few episodes; their mean for a stochastic problem."""
    env, found = cls(instance, features=features), []
    for number in range(_EPISODES):
        explore = number > 0 and not cls.stochastic
        Episode(env, _SEED + number, explore=explore).run(policy)
        if env.best_objective is not None:
            found.append(env.objective() if cls.stochastic else env.best_objective)
    choose: Callable[[list[float]], float] = max if cls.maximise else min
    if not found:
        return improvement(-np.inf, 0.0, maximise=cls.maximise)
    return mean(found) if cls.stochastic else float(choose(found))


def _searched(cls: type[Problem], instance: Instance, seconds: float) -> float:
    """Objective found by search by the rules in `seconds` of processor time."""
    began = time.process_time()
    search = rules_search(cls, instance, _SEED)
    best = search.run(_ANY_MOVES, lambda: time.process_time() - began > seconds)
    return improvement(-np.inf, 0.0, maximise=cls.maximise) if best is None else best.objective
