"""Evaluating policies on a data set: several episodes per instance, on two scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lagco.core.problem import Problem
from lagco.errors import TooLarge, UsageError
from lagco.instances import DataSet, Instance
from lagco.policies import Policy, plain_policy
from lagco.problems import problem_class, registered_class
from lagco.statistics import bootstrap_interval, interquartile_mean


def episode_seeds(episodes: int) -> list[int]:
    """The paper's test seeds: 42, 100, 123, 200, then 400, 500, …"""
    first = [42, 100, 123, 200]
    return [*first, *range(400, 400 + 100 * max(0, episodes - len(first)), 100)][:episodes]


@dataclass(frozen=True)
class Episode:
    """One test episode.

    Attributes:
        seed: of the environment and of the policy.
        steps: how many actions it took.
        reason: why it ended.
        feasible: whether the final state is a solution.
        objective: of the final state.
        objective_best: of the best feasible state of the episode, None if there was none.
        score: of the final state against the sweeps' best; None without that reference.
        score_best: of the best state, likewise.
        solver_score: of the final state against the solver's value.
        solver_score_best: of the best state, likewise.
        gap: of the best state to the solver's value, in percent of it.
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


@dataclass(frozen=True)
class InstanceResult:
    """The episodes of one policy on one instance.

    `seen` says whether it was trained on it, `refused` why there are no episodes.
    """

    instance: str
    size: int
    checksum: str
    episodes: tuple[Episode, ...]
    seen: bool = False
    refused: str | None = None

    def first(self, key: str) -> float | None:
        """The value of the first episode, None where the instance was refused."""
        return getattr(self.episodes[0], key) if self.episodes else None

    def best(self, key: str) -> float | None:
        """The best value over all episodes: the largest, for gaps the smallest."""
        values = [v for e in self.episodes if (v := getattr(e, key)) is not None]
        if not values:
            return None
        return min(values) if key == "gap" else max(values)


@dataclass(frozen=True)
class Summary:
    """One measure over all instances that have it: interquartile mean and bootstrap interval."""

    iqm: float
    low: float
    high: float
    mean: float
    count: int


MEASURES = ("score", "score_best", "solver_score", "solver_score_best", "gap")


@dataclass(frozen=True)
class Evaluation:
    """Results of one policy on one data set."""

    policy: str
    problem: str
    results: tuple[InstanceResult, ...]

    def summary(self, seen: bool | None = None) -> dict[str, Summary | None]:
        """Every measure, as of the first episode and as the best over all: ``score/first``, …

        Args:
            seen: only over instances that the agent was trained on (True), or not (False).
        """
        table: dict[str, Summary | None] = {}
        chosen = [r for r in self.results if seen is None or r.seen == seen]
        for key in MEASURES:
            for pick in ("first", "best"):
                values = [getattr(result, pick)(key) for result in chosen]
                table[f"{key}/{pick}"] = _summarise([v for v in values if v is not None])
        return table

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "policy": self.policy,
            "problem": self.problem,
            "summary": {k: v and asdict(v) for k, v in self.summary().items()},
            "unseen": {k: v and asdict(v) for k, v in self.summary(seen=False).items()},
            "instances": [asdict(result) for result in self.results],
        }


def evaluate(
    policy: str | Path | Policy = "greedy",
    data: str | Path | DataSet | Sequence[Instance] = (),
    *,
    episodes: int = 5,
    problem: str | type[Problem] | None = None,
    features: str | None = None,
    decoder: str | None = None,
    k: int = 10,
    progress: Callable[[Iterable[Instance]], Iterable[Instance]] = iter,
) -> Evaluation:
    """Run a policy on every instance of a data set.

    Args:
        policy: ``random``, ``greedy``, the folder of a trained agent, or an object with
            ``act(env, rng, explore)``.
        data: folder of a data set, an instance file, the data set, or instances.
        episodes: per instance, with the paper's test seeds.
        problem: needed if the problem is not one of lagco's.
        features: feature set of the environment; an agent brings its own.
        decoder: how a projection agent's points are decoded, if not by its own decoder.
        k: how many of the nearest actions that decoder chooses among.
        progress: wraps the iteration over instances.
    """
    if episodes < 1:
        raise UsageError(f"episodes={episodes}: run at least one")
    chosen = _policy(policy, problem, decoder, k)
    seen: frozenset[str] = getattr(chosen, "trained_on", frozenset())
    features = str(getattr(chosen, "features", features or "full"))
    # a file may serve several problems: the one asked for, or the agent's
    served: Any = getattr(chosen, "problem", None) if problem is None else problem_class(problem)
    instances = DataSet.load(data, served and served.name) if isinstance(data, str | Path) else data
    if not len(instances):
        raise UsageError("there is no instance to evaluate on; give data=")
    if problem is not None:
        cls = problem_class(problem)
    elif isinstance(instances, DataSet):
        cls = registered_class(instances.problem, str(instances.folder))
    else:
        cls = registered_class(instances[0].problem, f"instance {instances[0].name!r}")
    env: Problem | None = None
    results = []
    for instance in progress(instances):
        if env is None:
            env = cls(instance, features=features)
        seeds = episode_seeds(episodes)
        runs: tuple[Episode, ...] = ()
        refused = None
        try:
            runs = tuple(
                run_episode(env, instance, chosen, seed, explore=position > 0)
                for position, seed in enumerate(seeds)
            )
        except TooLarge as error:
            refused = str(error)
        known = instance.checksum in seen
        results.append(
            InstanceResult(instance.name, instance.size, instance.checksum, runs, known, refused)
        )
    return Evaluation(chosen.name, cls.name, tuple(results))


def _policy(
    policy: str | Path | Policy,
    problem: str | type[Problem] | None,
    decoder: str | None,
    k: int,
) -> Policy:
    if not isinstance(policy, str | Path):
        chosen: Any = policy
    elif Path(policy).is_dir():
        from lagco.agents.bundle import load

        chosen = load(policy, problem, decoder=decoder)
    else:
        chosen = plain_policy(str(policy))
    if decoder is not None:
        if not hasattr(chosen, "with_decoder"):
            raise UsageError(f"decoder={decoder!r}: {chosen.name} does not decode points")
        chosen = chosen.with_decoder(decoder, k)
    found: Policy = chosen
    return found


def run_episode(
    env: Problem, instance: Instance, policy: Policy, seed: int, explore: bool = True
) -> Episode:
    """One episode of `policy` on `instance`."""
    rng = np.random.default_rng(seed)
    options = None if env.instance is instance else {"instance": instance}
    env.reset(seed=seed, options=options)
    steps = 0
    while True:
        *_, terminated, truncated, info = env.step(policy.act(env, rng, explore))
        steps += 1
        if terminated or truncated:
            break
    solver = env.score(info["objective"], "solver")
    best = info["objective_best"]
    worthless = None if solver is None else 0.0
    return Episode(
        seed=seed,
        steps=steps,
        reason=info["reason"],
        feasible=info["feasible"],
        objective=info["objective"],
        objective_best=best,
        score=info["score"],
        score_best=info["score_best"],
        solver_score=solver if info["feasible"] else worthless,
        solver_score_best=worthless if best is None else env.score(best, "solver"),
        gap=None if best is None else env.gap(best),
    )


def solver_evaluation(
    data: str | Path | DataSet | Sequence[Instance],
    problem: str | type[Problem] | None = None,
) -> Evaluation | None:
    """The solver's own values as if a policy had reached them; None if an instance has none."""
    name = problem_class(problem).name if problem else None
    instances = DataSet.load(data, name) if isinstance(data, str | Path) else data
    results = []
    for instance in instances:
        solver = instance.references.solver
        if solver is None:
            return None
        cls = problem_class(problem) if problem else registered_class(instance.problem, "the data")
        env = cls(instance)
        env.reset(seed=0)
        value = solver.value
        episode = Episode(
            seed=0,
            steps=0,
            reason=solver.status,
            feasible=solver.status != "bound",
            objective=value,
            objective_best=value,
            score=env.score(value),
            score_best=env.score(value),
            solver_score=env.score(value, "solver"),
            solver_score_best=env.score(value, "solver"),
            gap=0.0,
        )
        results.append(InstanceResult(instance.name, instance.size, instance.checksum, (episode,)))
    return Evaluation("solver", instances[0].problem if results else "", tuple(results))


def _summarise(values: list[float]) -> Summary | None:
    if not values:
        return None
    low, high = bootstrap_interval(values)
    mean = math.fsum(values) / len(values)
    return Summary(interquartile_mean(values), low, high, mean, len(values))
