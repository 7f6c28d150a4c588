"""Answering one instance: a portfolio, an agent, a plain policy or the solver, within a time."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.core.adapter import Options, instances_from
from lagco.core.picture import DPI, SIDE, save_picture
from lagco.core.problem import Problem
from lagco.episodes import SEARCHES, Episodes, Player
from lagco.errors import InstanceError, LagcoError, UnknownName, UsageError, suggest
from lagco.instances import Instance, SolverReference
from lagco.instances.formats import read
from lagco.instances.formats.solutions import named_solution
from lagco.one_thread import one_thread
from lagco.policies import POLICIES, plain_policy
from lagco.portfolio import (
    Bounding,
    Found,
    GrowingSolver,
    Improvement,
    Limit,
    LocalSearch,
    Member,
    Record,
    run,
)
from lagco.problems import AnyProblem, problem_class, registered_class
from lagco.results.measures import gap as measured_gap
from lagco.rollout import PolicyTeam, Trace
from lagco.store import write_atomically

BY = ("portfolio", "agent", "solver", *POLICIES)
GAPS = ("reference", "bound")
#: seconds that an agent takes to load, with and without the libraries it needs in memory, roughly
_LOADING, _LOADING_ALL = 0.5, 3.0
#: an agent joins a portfolio if the time is so many times that
_WORTH = 3.0
#: the rest is for checking the answer
_SEARCHING = 0.9


@dataclass(frozen=True)
class Answer:
    """The best solution found, and how good it is.

    Attributes:
        problem: name of the problem.
        instance: the instance that was solved.
        by: who found it.
        objective: of the solution.
        solution: in the problem's own form.
        score: against the sweeps' best, None without that reference.
        gap: to the reference, in percent of it; negative if the answer is better; None without one.
        reference: what the gap is measured against.
        valid: whether computing the objective from scratch gives the same value.
        seconds: from the call (of the command: from its start) to the answer.
        episodes: how many were finished.
        bound: what no solution can beat; None where it is not known.
        bound_gap: how far the answer is from optimal at most, in percent of the bound.
        curve: every improvement of the best value.
        shares: seconds (or turns) that each member used.
        interrupted: whether it was stopped before its time.
        notes: why a member of the portfolio gave up.
        trace: how to reach the solution's state again, where steps led to it.
        cls: class of the problem.
    """

    problem: str
    instance: Instance
    by: str
    objective: float
    solution: Array
    score: float | None
    gap: float | None
    reference: SolverReference | None
    valid: bool
    seconds: float
    episodes: int
    bound: float | None = None
    bound_gap: float | None = None
    curve: tuple[Improvement, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    notes: tuple[str, ...] = ()
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
            "score": self.score,
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
            "bound": self.bound,
            "bound_gap": self.bound_gap,
            "found_after": round(self.curve[-1].seconds, 3) if self.curve else None,
            "curve": [asdict(step) for step in self.curve],
            "shares": {name: round(used, 3) for name, used in self.shares.items()},
            "interrupted": self.interrupted,
            "notes": [*self.instance.origin.get("notes", ()), *self.notes],
            "solution": named_solution(self.instance, self.solution),
        }

    def draw(self, path: str | Path, *, side: float = SIDE, dpi: float = DPI) -> None:
        """Write a picture of the solution, beside it the best value over time.

        The suffix sets the format (png, svg, pdf, …), `side` the inches of the solution's part.
        """
        cls = self.cls or registered_class(self.problem, "the answer")
        env = cls(self.instance, rewards=False)
        if self.trace is None:
            env.show(self.solution)
        else:
            self.trace.replay(env)
        beside = self._draw_curve if len(self.curve) > 1 else None
        save_picture(env.draw_on, path, beside, side, dpi)

    def write_curve(self, path: str | Path) -> None:
        """Write every improvement of the best value to a CSV file."""
        rows = [("seconds", "objective", "by", "gap")]
        for step in self.curve:
            gap = "" if step.gap is None else f"{step.gap:.6g}"
            rows.append((f"{step.seconds:.3f}", repr(step.objective), step.by, gap))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        write_atomically(Path(path), text.getvalue().encode())

    def _draw_curve(self, axes: Any) -> None:
        seconds = [step.seconds for step in self.curve]
        axes.step(
            [*seconds, max(self.seconds, seconds[-1])],
            [*(step.objective for step in self.curve), self.objective],
            where="post",
        )
        axes.set_xlabel("seconds")
        axes.set_title("best value", fontsize=8)


@one_thread()
def solve(
    source: Instance | str | Path | int | Options,
    *,
    problem: AnyProblem | None = None,
    by: str = "portfolio",
    agent: Any = None,
    decoder: str | None = None,
    k: int = 10,
    search: str = "auto",
    start: Any = "current",
    seconds: float = 2.0,
    turns: int | None = None,
    improve: bool | None = None,
    until: float | None = None,
    gap_to: str | None = None,
    demands: str | Path | None = None,
    seed: int = 42,
    since: float | None = None,
    on_improvement: Callable[[Improvement], None] | None = None,
) -> Answer:
    """Find a good solution of one instance within a time limit.

    By default a portfolio: the problem's local search from a start of its own, the agent's
    episodes, and the local search from the agent's solutions. Whoever holds the best solution gets
    most of the time. On an interruption (Ctrl-C) the best so far is returned.

    Args:
        source: an instance or a file in any of the formats that lagco reads; for environments also
            a seed or options of ``reset``.
        problem: which problem the file means, where it could mean several.
        by: ``portfolio``, ``agent``, ``solver``, ``greedy`` or ``random``.
        agent: ``default`` (the agent that comes with lagco), the folder of a bundle, or an agent. A
            portfolio takes the default one only where loading it is worth the time.
        decoder: how a projection agent's points are decoded. By default the nearest action is
            taken; where states are improved step by step, every other of the episodes side by side
            of a `soft-projection` agent takes the best preview among the nearest `k`.
        k: how many of the nearest actions that decoder chooses among.
        search: how episodes begin after the first ones: ``sample`` (from the start again),
            ``reconstruct`` (from the best solution with a part of it open) or ``auto`` (both).
        start: ``current`` (what the file says, else ``default``), ``default`` or ``worst``.
        seconds: time limit, for everything from reading the file to the answer.
        turns: so many turns of work instead of the seconds: the same answer on every machine.
        improve: whether solutions of episodes are improved by local search; by default in a
            portfolio alone.
        until: gap in percent at which to stop before the time.
        gap_to: ``reference`` or ``bound``: what gaps are to. By default the reference that the
            instance brings, else the bound.
        demands: file of a demand matrix, for topologies.
        seed: of starts, samples and searches.
        since: value of ``time.perf_counter()`` from which the time counts; by default the call.
        on_improvement: is told about every better solution.
    """
    _check_options(by, search, seconds, turns, gap_to, until, seed)
    limit = Limit(_SEARCHING * seconds, turns, since)
    cls, instance = _problem_and_instance(source, problem, agent, demands)
    instance = _with_scale(cls, instance, seed, seconds)
    reference = instance.references.solver
    aim = None if reference is None or gap_to == "bound" else reference.value
    record = Record(cls, limit, aim, until, on_improvement)
    if reference is not None and reference.status != "best-known":
        record.bound = reference.value
    load = partial(_player, cls, by, agent, decoder, k)
    episodes = _episodes(cls, instance, record, limit, seed, by, agent, load, start, search)
    members: list[Member] = []
    if by in ("portfolio", "solver"):
        members += _solvers(cls, instance, record, limit, seed, alone=by == "solver")
    if episodes is not None:
        members.append(episodes)
        if improve is None:
            improve = by == "portfolio"
        if improve and (by != "portfolio" or cls.defines("improve")):
            if not cls.defines("improve"):
                cls.improve(instance, None, seed)  # says that there is none
            name = f"{episodes.name} + local search"
            members.append(LocalSearch(cls, instance, record, limit, seed + 1, name, episodes.take))
    elif decoder is not None:
        raise UsageError(f"decoder={decoder!r}: the {by} does not decode points")
    members.append(Bounding(cls, instance, record, limit))
    interrupted = False
    try:
        run(members, limit, record)
        if episodes is None and by == "portfolio" and record.best is None:
            # the solver cannot do it, so the agent has to, however short the time
            episodes = Episodes(cls, instance, record, limit, seed, load, start=start, alone=True)
            run([episodes], limit, record)
    except KeyboardInterrupt:
        if record.best is None:
            raise
        interrupted = True
    if record.best is None:
        raise record.failure or LagcoError(f"no solution of {instance.name!r} was found")
    score = _score(cls, instance, start, seed, record.best.objective)
    answer = _answer(cls, instance, record, record.best, score, gap_to)
    return replace(
        answer,
        seconds=limit.elapsed(),
        episodes=0 if episodes is None else episodes.finished,
        shares=record.shares,
        interrupted=interrupted,
    )


def _check_options(
    by: str,
    search: str,
    seconds: float,
    turns: int | None,
    gap_to: str | None,
    until: float | None,
    seed: int,
) -> None:
    for kind, value, known in (("by", by, BY), ("search", search, SEARCHES)):
        if value not in known:
            raise UsageError(suggest(kind, value, known))
    if gap_to is not None and gap_to not in GAPS:
        raise UsageError(suggest("gap_to", gap_to, GAPS))
    if not 0 < seconds < math.inf:
        raise UsageError(f"seconds={seconds}: give a positive time")
    if turns is not None and turns < 1:
        raise UsageError(f"turns={turns}: give a positive number")
    if until is not None and not until >= 0:
        raise UsageError(f"until={until}: give a gap of 0 percent or more")
    if seed < 0:
        raise UsageError(f"seed={seed}: seeds are not negative")


def _problem_and_instance(
    source: Instance | str | Path | int | Options,
    problem: AnyProblem | None,
    agent: Any,
    demands: str | Path | None,
) -> tuple[type[Problem], Instance]:
    if isinstance(source, int | Mapping):
        instance = _instance_of(source, problem, agent)
    elif isinstance(source, Instance):
        instance = source
    else:
        name = None if problem is None else problem_class(problem).name
        instance = read(source, name, demands=demands)
    decides_on = getattr(agent, "problem", None)
    if problem is None and decides_on is not None and decides_on.name == instance.problem:
        problem = decides_on
    where = str(source) if isinstance(source, str | Path) else instance.name
    cls = problem_class(problem) if problem else registered_class(instance.problem, where)
    return cls, instance


def _solvers(
    cls: type[Problem], instance: Instance, record: Record, limit: Limit, seed: int, alone: bool
) -> list[Member]:
    """The problem's own search; none where it has none and somebody else looks for solutions."""
    if cls.defines("improve"):
        return [LocalSearch(cls, instance, record, limit, seed)]
    if cls.defines("solve"):
        return [GrowingSolver(cls, instance, record, limit, seed)]
    if alone:
        raise UsageError(f"{cls.__name__} has neither improve() nor solve(); use by='agent'")
    return []


def _episodes(
    cls: type[Problem],
    instance: Instance,
    record: Record,
    limit: Limit,
    seed: int,
    by: str,
    agent: Any,
    load: Callable[[], Player],
    start: Any,
    search: str,
) -> Episodes | None:
    """The member that plays episodes; None where there is none, or not the time for one."""
    if by == "solver":
        return None
    # without a search of the problem's own nobody else brings a solution
    alone = by != "portfolio" or not (cls.defines("improve") or cls.defines("solve"))
    name = by if by in POLICIES else "agent"
    if not alone and agent is None:
        loading = _LOADING if "torch" in sys.modules else _LOADING_ALL
        if limit.timed and limit.left() < _WORTH * loading:
            return None
    return Episodes(
        cls,
        instance,
        record,
        limit,
        seed,
        load,
        start=start,
        search=search,
        alone=alone,
        optional=not alone and agent is None,
        name=name,
    )


def _answer(
    cls: type[Problem],
    instance: Instance,
    record: Record,
    best: Found,
    score: float | None,
    gap_to: str | None,
) -> Answer:
    """The answer so far, without what the run alone knows."""
    gap = partial(measured_gap, best.objective, maximise=cls.maximise)
    bound, reference = record.bound, instance.references.solver
    if bound is not None and (reference is None or gap_to == "bound"):
        reference = SolverReference(bound, "bound", "bound")
    recomputed = cls.evaluate_solution(instance, best.solution)
    return Answer(
        cls.name,
        instance,
        best.by,
        best.objective,
        best.solution,
        score,
        None if reference is None else gap(reference.value),
        reference,
        valid=math.isclose(recomputed, best.objective, rel_tol=1e-6, abs_tol=1e-9),
        seconds=0.0,
        episodes=0,
        bound=bound,
        bound_gap=None if bound is None else gap(bound),
        curve=tuple(record.curve),
        notes=() if record.failure is None else (str(record.failure),),
        trace=best.trace,
        cls=cls,
    )


def _instance_of(source: int | Options, problem: AnyProblem | None, agent: Any) -> Instance:
    cls = getattr(agent, "problem", None) if problem is None else problem_class(problem)
    if cls is None:
        raise UsageError(f"source={source!r}: a seed or options need problem=")
    data, seeds = (None, [source]) if isinstance(source, int) else (source, None)
    return instances_from(cls, data, seeds)[0]


def _score(
    cls: type[Problem], instance: Instance, start: Any, seed: int, objective: float
) -> float | None:
    """Score of an objective on the scale of the sweeps, where the instance brings them."""
    if instance.references.sweeps is None:
        return None
    env = cls(instance, start=start)
    env.reset(seed=seed)  # some scores count from the start
    return env.score(objective)


def _player(cls: type[Problem], by: str, agent: Any, decoder: str | None, k: int) -> Player:
    """What plays the episodes."""
    if by in POLICIES:
        if decoder is not None:
            raise UsageError(f"decoder={decoder!r}: the policy {by} does not decode points")
        if agent is not None:
            raise UsageError(f"give agent={agent!r} or by={by!r}, not both")
        return Player(by, partial(PolicyTeam, plain_policy(by)))
    from lagco.agents.agent import Agent
    from lagco.agents.bundle import load
    from lagco.agents.shipped import default_agent

    if agent is None or (isinstance(agent, str) and agent == "default"):
        try:
            loaded = default_agent(cls.name)
        except UnknownName:
            if agent is not None or by == "agent":
                raise
            return Player("greedy", partial(PolicyTeam, plain_policy("greedy")))
        name = f"{loaded.name} (default agent)"
    else:
        loaded = agent if isinstance(agent, Agent) else load(agent, cls, decoder=decoder)
        name = loaded.name
    if loaded.problem.name != cls.name:
        raise UsageError(f"the agent decides on {loaded.problem.name!r}, the file is {cls.name!r}")
    if decoder is not None:
        loaded = loaded.with_decoder(decoder, k)
        name = f"{name}, {decoder} decoder"
    elif loaded.description["config"].get("decoder") == "nearest" and hasattr(cls, "preview"):
        mixed = partial(_mixed_team, loaded, loaded.with_decoder("preview", k))
        return Player(name, mixed, loaded.features)
    return Player(name, loaded.team, loaded.features)


def _mixed_team(agent: Any, previewing: Any, envs: Sequence[Problem]) -> Any:
    """Where a state is improved step by step, every other member looks one step ahead."""
    from lagco.agents.team import Team

    if not envs[0].is_feasible():
        return agent.team(envs)
    return Team([(previewing if i % 2 else agent).actor(env) for i, env in enumerate(envs)])


def _with_scale(cls: type[Problem], instance: Instance, seed: int, seconds: float) -> Instance:
    """The instance with the sweeps that its objective is defined by, where it needs them."""
    if not cls.scaled_by_sweeps or instance.references.sweeps is not None:
        return instance
    try:
        references = cls.sweep(instance, max(20, int(100 * seconds)), seed)
    except InstanceError:  # too large to be swept: there are plain bounds
        return instance
    return replace(instance, references=replace(instance.references, sweeps=references.sweeps))
