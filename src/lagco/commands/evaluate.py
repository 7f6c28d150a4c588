"""Evaluating policies on a data set: several episodes per instance, on two scales."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lagco.core.data import Data, checked_instances, instances_from
from lagco.core.problem import Problem
from lagco.errors import TooLarge, UsageError
from lagco.instances import DataSet, Instance
from lagco.latent.predicting import Predictor
from lagco.policies import Policy, plain_policy, policy_name
from lagco.problems import AnyProblem, problem_class, registered_class
from lagco.results.evaluation import EpisodeResult, Evaluation, InstanceResult
from lagco.results.measures import MEASURES, RETURN
from lagco.rollout import Episode
from lagco.runtime.one_thread import one_thread
from lagco.runtime.progress import Progress


def episode_seeds(episodes: int, seed: int | None = None) -> list[int]:
    """The paper's test seeds: 42, 100, 123, 200, then 400, 500, …; or those from a seed on."""
    if seed is not None:
        return list(range(seed, seed + episodes))
    first = [42, 100, 123, 200]
    return [*first, *range(400, 400 + 100 * max(0, episodes - len(first)), 100)][:episodes]


def evaluate(
    policy: str | Path | Policy | Predictor = "greedy",
    data: Data | None = None,
    *,
    seeds: Iterable[int] | None = None,
    episodes: int = 5,
    problem: AnyProblem | None = None,
    features: str | None = None,
    decoder: str | None = None,
    k: int = 10,
    start: str | None = None,
    seed: int | None = None,
    progress: bool = True,
    each: Callable[[Iterable[Instance]], Iterable[Instance]] = iter,
) -> Evaluation:
    """Run a policy on every instance of a data set.

    Args:
        policy: ``random``, ``greedy``, the folder of a trained agent, ``default`` for the agent
            that comes with lagco, an agent, or an object of your own: with ``act(env, rng,
            explore)`` (see :class:`lagco.policies.Policy`), or with ``predict(observation)`` as
            models of Stable-Baselines3 have it (see :class:`lagco.latent.predicting.Predictor`).
            Tables call it by its attribute ``name``, or by its class where it has none.
        data: folder of a data set, an instance file, the data set, or instances; for environments
            also options of ``reset``, one mapping or several.
        seeds: for environments, seeds of ``reset``.
        episodes: per instance, with the paper's test seeds: in the first the policy takes its mode,
            in the others it may sample. Of a stochastic problem, what happens is drawn anew in
            each, the same for every policy, which always takes its mode, and the mean counts.
        problem: needed if the problem is not one of lagco's; an agent brings its own.
        features: feature set of the environment; an agent brings its own.
        decoder: how a projection agent's points are decoded, if not by its own decoder.
        k: how many of the nearest actions that decoder chooses among.
        start: of the episodes: ``worst``, ``current`` or ``default``; the problem's own without.
        seed: of the first episode, the others follow from it; the paper's test seeds without.
        progress: whether to show how it goes.
        each: wraps the iteration over instances.
    """
    if episodes < 1:
        raise UsageError(f"episodes={episodes}: run at least one")
    if isinstance(policy, str) and policy == "default" and problem is None:
        problem = _class_of(data, seeds)
    chosen = chosen_policy(policy, problem, decoder, k)
    seen: frozenset[str] = getattr(chosen, "trained_on", frozenset())
    features = str(getattr(chosen, "features", None) or features or "full")
    # a file may serve several problems: the one asked for, or the agent's
    own = getattr(chosen, "problem", None)
    cls: type[Problem] | None = own if isinstance(own, type) and issubclass(own, Problem) else None
    if problem is not None:
        given = problem_class(problem)
        if cls is not None and cls.name != given.name:
            raise UsageError(f"problem={given.name!r}: the agent decides on {cls.name!r}")
        cls = given
    if cls is None:
        cls = _class_of(data, seeds)
    instances = instances_from(cls, data, seeds)
    env: Problem | None = None
    results = []
    title = f"{policy_name(chosen)} on {cls.name}"
    with Progress(title, len(instances), show=progress) as shown:
        for instance in shown.over(each(instances)):
            if env is None:
                env = cls(instance, features=features)
            runs: tuple[EpisodeResult, ...] = ()
            refused = None
            try:
                numbers = episode_seeds(episodes, seed)
                if cls.stochastic:
                    numbers = [_draw_seed(instance, number) for number in numbers]
                runs = tuple(
                    run_episode(
                        env,
                        instance,
                        chosen,
                        number,
                        explore=position > 0 and not cls.stochastic,
                        start=start,
                    )
                    for position, number in enumerate(numbers)
                )
            except TooLarge as error:
                refused = str(error)
            known = instance.checksum in seen
            results.append(_instance_result(env, runs, known, refused))
    return Evaluation(
        policy_name(chosen), cls.name, tuple(results), cls.stochastic, cls.horizon is not None
    )


def _draw_seed(instance: Instance, number: int) -> int:
    """Seed of what happens in an episode: other instances have other draws, all policies these."""
    sequence = np.random.SeedSequence([number, int(instance.checksum[:16], 16)])
    return int(sequence.generate_state(1)[0] >> 1)


def _class_of(data: Any, seeds: Any) -> type[Problem]:
    """The problem that the data names, one of lagco's."""
    if seeds is not None or isinstance(data, Mapping):
        raise UsageError("seeds= and options are of an environment; say which with problem=")
    if isinstance(data, str | Path):
        data = DataSet.load(data)
    if isinstance(data, DataSet):
        return registered_class(data.problem, str(data.folder))
    instances = checked_instances(None, data)
    return registered_class(instances[0].problem, f"instance {instances[0].name!r}")


def chosen_policy(
    policy: str | Path | Policy | Predictor,
    problem: AnyProblem | None,
    decoder: str | None = None,
    k: int = 10,
) -> Policy:
    """The policy that :func:`evaluate` is given by name, as a folder or as an object."""
    if not isinstance(policy, str | Path):
        chosen: Any = policy
    elif policy == "default":
        from lagco.agents.shipped import default_agent

        chosen = default_agent(problem_class(problem).name) if problem is not None else None
    elif Path(policy).is_dir():
        from lagco.agents.bundle import load

        chosen = load(policy, problem, decoder=decoder)
    else:
        chosen = plain_policy(str(policy))
    chosen = _as_policy(chosen)
    if decoder is not None:
        if not hasattr(chosen, "with_decoder"):
            raise UsageError(f"decoder={decoder!r}: {policy_name(chosen)} does not decode points")
        chosen = chosen.with_decoder(decoder, k)
    found: Policy = chosen
    return found


def _as_policy(given: Any) -> Policy:
    """An object that acts as it is, one that predicts as a policy; anything else is refused."""
    if not isinstance(given, type) and callable(getattr(given, "act", None)):
        try:
            inspect.signature(given.act).bind(None, None, True)
        except TypeError as error:
            raise UsageError(
                f"policy={given!r}: act() cannot be called as act(env, rng, explore) ({error})"
            ) from None
        policy: Policy = given
        return policy
    if not isinstance(given, type) and callable(getattr(given, "predict", None)):
        from lagco.latent.predicting import PredictingPolicy

        return PredictingPolicy(given)
    raise UsageError(
        f"policy={given!r}: give a name, the folder of an agent, or an object with "
        "act(env, rng, explore) or predict(observation)"
    )


@one_thread()
def run_episode(
    env: Problem,
    instance: Instance,
    policy: Policy,
    seed: int,
    explore: bool = True,
    start: str | None = None,
) -> EpisodeResult:
    """Result of one episode of `policy` on `instance`."""
    episode = Episode(env, seed, instance=instance, start=start, explore=explore)
    env.rewards = env.is_feasible()  # else it is built up: only complete states count
    episode.run(policy)
    info, best = episode.info, env.best_objective
    solver_score, solver_score_best = env.scores("solver")
    return EpisodeResult(
        seed=seed,
        steps=len(episode.actions),
        reason=info["reason"],
        feasible=info["feasible"],
        objective=info["objective"],
        objective_best=best,
        score=info["score"],
        score_best=info["score_best"],
        solver_score=solver_score,
        solver_score_best=solver_score_best,
        gap=None if best is None else env.gap(best),
        episode_return=episode.total_reward / (env.horizon or 1),
    )


def _instance_result(
    env: Problem,
    episodes: tuple[EpisodeResult, ...],
    seen: bool = False,
    refused: str | None = None,
) -> InstanceResult:
    instance = env.instance
    scored = env.score(0.0) is not None
    defined = {
        "score": scored,
        "solver_score": env.score(0.0, "solver") is not None,
        "gap": instance.references.solver is not None,
        "episode_return": not scored,
    }
    measures = tuple(m for m in (*MEASURES, RETURN) if defined[m.removesuffix("_best")])
    return InstanceResult(
        instance.name, instance.size, instance.checksum, episodes, measures, seen, refused
    )


def solver_evaluation(
    data: str | Path | DataSet | Sequence[Instance],
    problem: AnyProblem | None = None,
    start: str | None = None,
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
        result = value_result(cls, instance, solver.value, start, reason=solver.status)
        results.append(result)
    return Evaluation("solver", instances[0].problem if results else "", tuple(results))


def value_result(
    cls: type[Problem], instance: Instance, value: float, start: str | None = None, reason: str = ""
) -> InstanceResult:
    """Result as if an episode had come to an objective.

    Args:
        cls: class of the problem.
        instance: that the objective is of.
        value: the objective.
        start: of the episode, which the scale may depend on; the problem's own without.
        reason: of its end; ``bound`` where the value is no solution's.
    """
    env = cls(instance)
    env.reset(seed=0, options=None if start is None else {"start": start})
    score, solver_score = env.score(value), env.score(value, "solver")
    episode = EpisodeResult(
        seed=0,
        steps=0,
        reason=reason,
        feasible=reason != "bound",
        objective=value,
        objective_best=value,
        score=score,
        score_best=score,
        solver_score=solver_score,
        solver_score_best=solver_score,
        gap=env.gap(value),
        episode_return=None,
    )
    return _instance_result(env, (episode,))
