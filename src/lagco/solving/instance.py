"""Answering one instance: a portfolio, an agent, a plain policy or the solver, within a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lagco.core.adapter import Options
from lagco.core.data import instances_from
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, UsageError, suggest
from lagco.instances import Instance, SolverReference
from lagco.instances.formats import read
from lagco.one_thread import one_thread
from lagco.problems import AnyProblem, problem_class, registered_class
from lagco.progress import Progress
from lagco.results.measures import gap as measured_gap
from lagco.solving.answer import Answer
from lagco.solving.episodes import Episodes
from lagco.solving.portfolio import Found, Improvement, Limit, Member, Record, Task, run
from lagco.solving.request import Request
from lagco.solving.workers import crew

GAPS = ("reference", "bound")
#: the rest is for checking the answer
_SEARCHING = 0.95


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
    workers: int = 1,
    since: float | None = None,
    on_improvement: Callable[[Improvement], None] | None = None,
    progress: bool = True,
) -> Answer:
    """Find a good solution of one instance within a time limit.

    By default a portfolio: the problem's local search from a start of its own, the agent's
    episodes, and the local search from the agent's solutions. The first has most of the time as
    long as it finds better solutions, then whoever holds the best has half of it. On an
    interruption (Ctrl-C) the best so far is returned.

    Args:
        source: an instance or a file in any of the formats that lagco reads; for environments also
            a seed or options of ``reset``.
        problem: which problem the file means, where it could mean several.
        by: ``portfolio``, ``agent``, ``solver``, ``greedy`` or ``random``.
        agent: ``default`` (the agent that comes with lagco), the folder of a bundle, or an agent. A
            portfolio takes the default one only where loading it is worth the time.
        decoder: how a projection agent's points are decoded; by default as it was trained. Of an
            agent that takes the nearest action, every other of the episodes side by side takes the
            best preview among the nearest `k`, where states are improved step by step.
        k: how many of the nearest actions that decoder chooses among.
        search: how an agent searches after its first episode: ``sample`` (episodes from the start
            again), ``beam`` (the likeliest episodes side by side), ``reconstruct`` (from the best
            solution with a part of it open) or ``auto`` (what of these helps).
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
        workers: processes that look for solutions, each with a seed of its own.
        since: value of ``time.perf_counter()`` from which the time counts; by default the call.
        on_improvement: is told about every better solution.
        progress: whether to show how it goes.
    """
    _check_options(seconds, turns, gap_to, until, seed, workers)
    request = Request(by, agent, decoder, k, search, start, improve)
    limit = Limit(_SEARCHING * seconds, turns, since)
    cls, instance = _problem_and_instance(source, problem, agent, demands)
    instance = _with_scale(cls, instance, seed, seconds)
    reference = instance.references.solver
    aim = None if reference is None or gap_to == "bound" else reference.value
    shown = Progress(f"{cls.name}, {'seconds' if turns is None else 'turns'}", show=progress)
    record = Record(cls, limit, aim, until, partial(_tell, shown, on_improvement))
    if reference is not None and reference.status != "best-known":
        record.bound = reference.value
    task = Task(cls, instance, record, limit, seed)
    scale = _scale(cls, instance, start, seed)
    members = request.members(task, workers=workers)
    interrupted = False
    with crew(request, task, workers) as others, shown:

        def between() -> None:
            others.listen()
            shown.update(limit.elapsed() if turns is None else limit.taken, turns or seconds)

        try:
            run(members, task, between)
            others.finish()
            alone = any(played.alone for played in _episodes(members))
            if record.best is None and by == "portfolio" and not alone:
                # the solver cannot do it, so the agent has to, however short the time
                members.append(request.episodes(task, alone=True))
                run(members[-1:], task, between)
        except KeyboardInterrupt:
            with suppress(KeyboardInterrupt):  # once more, or by `on_improvement`
                others.listen()
            if record.best is None:
                raise
            interrupted = True
    if record.best is None:
        raise record.failure or LagcoError(f"no solution of {instance.name!r} was found")
    score = None if scale is None else scale.score(record.best.objective)
    answer = _answer(cls, instance, record, record.best, score, gap_to)
    return replace(
        answer,
        seconds=limit.elapsed(),
        episodes=others.episodes + sum(member.finished for member in _episodes(members)),
        shares=record.shares,
        interrupted=interrupted,
    )


def _tell(
    shown: Progress, on_improvement: Callable[[Improvement], None] | None, found: Improvement
) -> None:
    gap = "" if found.gap is None else f", gap {found.gap:.2f} %"
    shown.say(f"best {found.objective:.6g} by {found.by}{gap}")
    if on_improvement is not None:
        on_improvement(found)


def _episodes(members: Sequence[Member]) -> list[Episodes]:
    return [member for member in members if isinstance(member, Episodes)]


def _check_options(
    seconds: float,
    turns: int | None,
    gap_to: str | None,
    until: float | None,
    seed: int,
    workers: int,
) -> None:
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
    if workers < 1:
        raise UsageError(f"workers={workers}: at least one process has to do the work")


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


def _scale(cls: type[Problem], instance: Instance, start: Any, seed: int) -> Problem | None:
    """Problem that gives scores on the scale of the sweeps, where the instance brings them."""
    if instance.references.sweeps is None:
        return None
    env = cls(instance, start=start, features="paper")  # which cost less
    env.reset(seed=seed)  # some scores count from the start
    return env


def _with_scale(cls: type[Problem], instance: Instance, seed: int, seconds: float) -> Instance:
    """The instance with the sweeps that its objective is defined by, where it needs them."""
    if not cls.scaled_by_sweeps or instance.references.sweeps is not None:
        return instance
    try:
        references = cls.sweep(instance, max(20, int(100 * seconds)), seed)
    except InstanceError:  # too large to be swept: there are plain bounds
        return instance
    return replace(instance, references=replace(instance.references, sweeps=references.sweeps))
