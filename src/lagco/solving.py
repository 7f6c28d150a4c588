"""Answering one instance: an agent, a plain policy or the solver, within a time limit."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from lagco.arrays import Array
from lagco.core.picture import save_picture
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, MissingExtra, UsageError, suggest
from lagco.instances import Instance, SolverReference
from lagco.instances.formats import read
from lagco.one_thread import one_thread
from lagco.policies import POLICIES, plain_policy
from lagco.problems import problem_class, registered_class
from lagco.results.measures import gap as measured_gap
from lagco.results.measures import improvement
from lagco.rollout import Episode, Planned, PolicyTeam, SideBySide, Trace

SOLVE_POLICIES = (*POLICIES, "solver")
IMPROVEMENTS = ("none", "2opt")
#: episodes that run side by side at most
TEAM = 16
#: so many rounds of them should fit into the time, since the last one is cut off
_ROUNDS = 5
#: share of the time that a missing reference may take
_REFERENCE_SHARE = 0.2
#: larger instances get no reference of their own
_REFERENCE_SIZE = 5_000
_FIRST_EFFORT = 1 / 4096


@dataclass(frozen=True)
class Answer:
    """The best solution found, and how good it is.

    Attributes:
        problem: name of the problem.
        instance: the instance that was solved.
        by: who found it.
        objective: of the solution.
        solution: in the problem's own form.
        gap: to the reference, in percent of it; negative if the answer is better; None without one.
        reference: what the gap is measured against.
        valid: whether computing the objective from scratch gives the same value.
        seconds: from the instance being read to the answer, reference included; loading the agent
            and compiled code is not counted.
        episodes: how many were finished.
        trace: how to reach the solution's state again, where steps led to it.
        cls: class of the problem.
    """

    problem: str
    instance: Instance
    by: str
    objective: float
    solution: Array
    gap: float | None
    reference: SolverReference | None
    valid: bool
    seconds: float
    episodes: int
    trace: Trace | None = None
    cls: type[Problem] | None = field(default=None, repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        reference = self.reference
        return {
            "problem": self.problem,
            "instance": self.instance.name,
            "size": self.instance.size,
            "by": self.by,
            "objective": self.objective,
            "gap": self.gap,
            "reference": reference
            and {
                "value": reference.value,
                "status": reference.status,
                "solver": reference.solver,
            },
            "valid": self.valid,
            "seconds": round(self.seconds, 3),
            "episodes": self.episodes,
            "notes": list(self.instance.origin.get("notes", ())),
            "solution": self.solution.tolist(),
        }

    def draw(self, path: str | Path) -> None:
        """Write a picture of the solution; the suffix sets the format."""
        cls = self.cls or registered_class(self.problem, "the answer")
        env = cls(self.instance, rewards=False)
        if self.trace is None:
            env.show(self.solution)
        else:
            self.trace.replay(env)
        save_picture(env.draw_on, path)


def solve(
    source: Instance | str | Path,
    *,
    problem: str | type[Problem] | None = None,
    agent: Any = None,
    policy: str | None = None,
    decoder: str | None = None,
    k: int = 10,
    start: Any = "current",
    seconds: float = 2.0,
    improve: str = "none",
    demands: str | Path | None = None,
    seed: int = 42,
) -> Answer:
    """Find a good solution of one instance within a time limit.

    Episodes run side by side until the time is over: first one per start in which the agent takes
    its mode, then ones in which it samples. The first solution is always finished.

    Args:
        source: an instance or a file in any of the formats that lagco reads.
        problem: which problem the file means, where it could mean several.
        agent: ``default`` (the agent that comes with lagco), the folder of a bundle, or an agent.
        policy: instead of an agent: ``random``, ``greedy`` or ``solver``.
        decoder: how a projection agent's points are decoded. By default the nearest action is
            taken; where states are improved step by step, every other of the episodes side by side
            of a `soft-projection` agent takes the best preview among the nearest `k`.
        k: how many of the nearest actions that decoder chooses among.
        start: ``current`` (what the file says, else ``default``), ``default`` or ``worst``.
        seconds: time limit, for the answer and the reference it is compared with.
        improve: ``2opt`` shortens tours by local search; ``none``.
        demands: file of a demand matrix, for topologies.
        seed: of starts and samples.
    """
    if agent is not None and policy is not None:
        raise UsageError(f"give agent={agent!r} or policy={policy!r}, not both")
    if improve not in IMPROVEMENTS:
        raise UsageError(suggest("improve", improve, IMPROVEMENTS))
    if policy is not None and policy not in SOLVE_POLICIES:
        raise UsageError(suggest("policy", policy, SOLVE_POLICIES))
    if not 0 < seconds < math.inf:
        raise UsageError(f"seconds={seconds}: give a positive time")
    if seed < 0:
        raise UsageError(f"seed={seed}: seeds are not negative")
    if isinstance(source, Instance):
        instance = source
    else:
        name = None if problem is None else problem_class(problem).name
        instance = read(source, name, demands=demands)
    decides_on = getattr(agent, "problem", None)
    if problem is None and decides_on is not None and decides_on.name == instance.problem:
        problem = decides_on
    where = source.name if isinstance(source, Instance) else str(source)
    cls = problem_class(problem) if problem else registered_class(instance.problem, where)
    if policy == "solver":
        by, player, features = "solver", None, "full"
    else:
        player, by, features = _player(cls, agent, policy, decoder, k)
    _load_compiled(cls, player, features)
    began = time.perf_counter()
    deadline = began + 0.9 * seconds  # the rest is for checking the answer
    instance = _with_scale(cls, instance, seed, seconds)
    if player is None:
        reference = _solver_within(cls, instance, seed, deadline)
        if reference is None or reference.solution is None:
            raise LagcoError(f"the solver of {cls.name!r} gives no solution, only a bound")
        found = _Found(reference.value, np.asarray(reference.solution), None, 0)
    else:
        reference = _reference(cls, instance, seed, seconds)
        found = _search(cls, instance, player, features, start, deadline, seed)
    solution, objective, trace = found.solution, found.objective, found.trace
    if improve != "none":
        solution, trace = cls.improve(instance, solution, improve), None
        objective = cls.evaluate_solution(instance, solution)
    gap_to = partial(measured_gap, objective, maximise=cls.maximise)
    gap = None if reference is None else gap_to(reference.value)
    if gap is not None and gap < 0 and instance.references.solver is None:
        # the solver had little time; what cannot be beaten says more
        bound = cls.bound(instance)
        if bound is not None:
            reference = SolverReference(bound, "bound", "bound")
            gap = gap_to(bound)
    recomputed = cls.evaluate_solution(instance, solution)
    valid = math.isclose(recomputed, objective, rel_tol=1e-6, abs_tol=1e-9)
    elapsed = time.perf_counter() - began
    return Answer(
        cls.name,
        instance,
        by,
        objective,
        solution,
        gap,
        reference,
        valid,
        elapsed,
        found.episodes,
        trace,
        cls,
    )


@dataclass(frozen=True)
class _Found:
    objective: float
    solution: Array
    trace: Trace | None
    episodes: int


def _player(
    cls: type[Problem], agent: Any, policy: str | None, decoder: str | None, k: int
) -> tuple[Any, str, str]:
    """What makes teams, its name, and the features it needs."""
    if policy is not None:
        if decoder is not None:
            raise UsageError(f"decoder={decoder!r}: the policy {policy} does not decode points")
        return partial(PolicyTeam, plain_policy(policy)), policy, "full"
    from lagco.agents.agent import Agent
    from lagco.agents.bundle import load
    from lagco.agents.shipped import default_agent

    if agent is None or (isinstance(agent, str) and agent == "default"):
        loaded = default_agent(cls.name)
        by = f"{loaded.name} (default agent)"
    else:
        loaded = agent if isinstance(agent, Agent) else load(agent, cls, decoder=decoder)
        by = loaded.name
    if loaded.problem.name != cls.name:
        raise UsageError(f"the agent decides on {loaded.problem.name!r}, the file is {cls.name!r}")
    if decoder is not None:
        loaded = loaded.with_decoder(decoder, k)
        by = f"{by}, {decoder} decoder"
    elif loaded.method.metric is not None and hasattr(cls, "preview"):
        return partial(_mixed_team, loaded, loaded.with_decoder("preview", k)), by, loaded.features
    return loaded.team, by, loaded.features


def _mixed_team(agent: Any, previewing: Any, envs: Sequence[Problem]) -> Any:
    """Where a state is improved step by step, every other member looks one step ahead."""
    from lagco.agents.team import Team

    if not envs[0].is_feasible():
        return agent.team(envs)
    return Team([(previewing if i % 2 else agent).actor(env) for i, env in enumerate(envs)])


@one_thread()
def _search(
    cls: type[Problem],
    instance: Instance,
    make_team: Any,
    features: str,
    start: Any,
    deadline: float,
    seed: int,
) -> _Found:
    """The best of all episodes that fit into the time."""
    first = cls(instance, features=features, start=start)
    first.reset(seed=seed)
    if not first.is_feasible():  # built up step by step: only complete states count
        first.rewards = False
    plan = _episodes(first, start, seed)
    envs = [first]
    search = _Search(deadline)
    episodes = SideBySide(envs, make_team(envs), plan)
    began = time.perf_counter()
    search.run(episodes, until_first=True)
    took = time.perf_counter() - began
    left = deadline - time.perf_counter()
    side_by_side = int(min(TEAM, left / max(took, 1e-9) / _ROUNDS))
    if side_by_side > 1:
        for _ in range(side_by_side - 1):
            envs.append(cls(instance, features=features, start=start, rewards=first.rewards))
        for env in envs[1:]:
            env.reset(seed=seed)
        episodes = SideBySide(envs, make_team(envs), plan)
    search.run(episodes)
    if search.best is None:
        raise LagcoError(f"no solution of {instance.name!r} was found")
    return _Found(*search.best, search.finished)


def _episodes(env: Problem, start: Any, seed: int) -> Iterator[Planned]:
    """One mode per start, then samples without end."""
    starts = env.starts()
    order = np.random.default_rng([seed, 3]).permutation(len(starts))
    choices = [starts[i] for i in order] or [start]
    for number in itertools.count():
        turn = number // len(choices)
        yield Planned(seed + number, choices[number % len(choices)], explore=turn > 0)


class _Search:
    """The best state that any episode met, up to a deadline."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.best: tuple[float, Array, Trace] | None = None
        self.finished = 0

    def run(self, episodes: SideBySide, until_first: bool = False) -> None:
        """Go on until the time is over, or until one more episode is finished.

        Without a solution so far, the first environment goes on beyond the deadline.
        """
        while episodes.begin():
            if time.perf_counter() > self._deadline:
                for episode in episodes.running.values():
                    self._note(episode)
                if self.best is not None:
                    return
                for member in list(episodes.running)[1:]:
                    episodes.retire(member)
            ended = episodes.step()
            for episode in ended:
                self.finished += 1
                self._note(episode)
            if until_first and ended:
                return

    def _note(self, episode: Episode) -> None:
        env = cast("Problem", episode.env)
        value, solution = env.best_objective, env.best_solution
        if value is None or solution is None:
            return
        if self.best is None or improvement(value, self.best[0], maximise=env.maximise) > 0:
            self.best = value, solution, episode.trace(best=True)


def _load_compiled(cls: type[Problem], make_team: Any, features: str) -> None:
    """Take a few steps on a small instance, so that compiled code is in memory."""
    if not cls.defines("draw"):
        return
    small = cls.generate(cls.default_size)
    with contextlib.suppress(MissingExtra, UsageError):
        cls.solve(small, 0, 0.0)
    if make_team is None:
        return
    envs = [cls(small, features=features, start="default") for _ in range(2)]
    for env in envs:
        env.reset(seed=0)
    episodes = SideBySide(envs, make_team(envs), [Planned(0, explore=False), Planned(1)])
    for _ in range(3):
        if episodes.begin():
            episodes.step()


def _reference(
    cls: type[Problem], instance: Instance, seed: int, seconds: float
) -> SolverReference | None:
    """What the instance brings, else what the solver finds in a share of the time."""
    if instance.references.solver is not None:
        return instance.references.solver
    if instance.size > _REFERENCE_SIZE:
        return None
    limit = time.perf_counter() + _REFERENCE_SHARE * seconds
    try:
        return _solver_within(cls, instance, seed, limit)
    except (MissingExtra, UsageError, InstanceError):  # no solver here, none at all, none so large
        return None


def _solver_within(
    cls: type[Problem], instance: Instance, seed: int, deadline: float
) -> SolverReference | None:
    """The solver's value, with as much effort as fits; the smallest effort is always made."""
    effort, best = _FIRST_EFFORT, None
    while True:
        began = time.perf_counter()
        found = cls.solve(instance, seed, effort).solver
        now = time.perf_counter()
        if found is not None and (
            best is None or improvement(found.value, best.value, maximise=cls.maximise) > 0
        ):
            best = found
        fitting = 0.7 * (deadline - now) / max(now - began, 1e-9)
        if effort >= 1.0 or fitting < 2.0 or (found and found.status == "optimal"):
            return best
        effort = min(1.0, effort * min(fitting, 16.0))


def _with_scale(cls: type[Problem], instance: Instance, seed: int, seconds: float) -> Instance:
    """The instance with the sweeps that its objective is defined by, where it needs them."""
    if not cls.scaled_by_sweeps or instance.references.sweeps is not None:
        return instance
    try:
        references = cls.sweep(instance, max(20, int(100 * seconds)), seed)
    except InstanceError:  # too large to be swept: there are plain bounds
        return instance
    return replace(instance, references=replace(instance.references, sweeps=references.sweeps))
