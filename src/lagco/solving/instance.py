"""Answering one instance: a portfolio, an agent, a plain policy or the solver, within a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.adapter import Options
from lagco.core.changes import (
    MAX_CHANGES,
    Verdict,
    changes_of,
    evaluated,
    incumbent_of,
    is_limited,
    judge,
)
from lagco.core.data import instances_from
from lagco.core.problem import Problem
from lagco.core.scenarios import has_scenarios, scenario_names
from lagco.errors import InstanceError, LagcoError, UsageError, suggest
from lagco.instances import Instance, SolverReference
from lagco.problems import AnyProblem, problem_class, registered_class
from lagco.results.measures import gap as measured_gap
from lagco.runtime.compiling import working_time
from lagco.runtime.declared import declare_options
from lagco.runtime.one_thread import one_thread
from lagco.runtime.progress import Progress
from lagco.runtime.stopping import Stop, interruption, stopping
from lagco.solving.answer import Answer, ScenarioValue, Trade
from lagco.solving.changes.fixes import asked, ranked_fixes
from lagco.solving.changes.limiting import limited
from lagco.solving.changes.reverting import with_fewer_changes
from lagco.solving.changes.scenarios import read_matrices, spanned
from lagco.solving.changes.trade_off import UNLIMITED, check_trade_off, trade_off
from lagco.solving.episodes import Episodes
from lagco.solving.options import SolveOptions
from lagco.solving.portfolio import INCUMBENT, Found, Improvement, Limit, Member, Record, Task, run
from lagco.solving.request import Request
from lagco.solving.workers import crew

#: part of the time for everything but checking the answer, and of that for a scale by sweeps
_SEARCHING, _SWEEPING = 0.95, 0.3
#: seconds of a search from an incumbent whose time is over before it begins
_LEAST = 0.2
#: elements up to which it is asked whether an answer is better than the default start
_COMPARED = 1000
#: faults of an incumbent that are named
_NAMED = 3
#: part after which no change is taken back any more
_REVERTING = 0.98


@one_thread()
def solve(
    source: Instance | str | Path | int | Options,
    *,
    since: float | None = None,
    on_improvement: Callable[[Improvement], None] | None = None,
    progress: bool = True,
    drawn: bool = False,
    **options: Any,
) -> Answer:
    """Find a good solution of one instance within a time limit.

    By default a portfolio: the problem's local search from a start of its own, the agent's
    episodes, and the local search from the agent's solutions. The first has most of the time as
    long as it finds better solutions, then whoever holds the best has half of it. On an
    interruption (Ctrl-C) the best so far is returned.

    Args:
        source: an instance or a file in any of the formats that lagco reads; for environments also
            a seed or options of ``reset``.
        since: value of ``time.perf_counter()`` from which the time counts; by default the call.
            Time in which code is compiled, as a first call does, does not count.
        on_improvement: is told about every better solution.
        progress: whether to show how it goes.
        drawn: whether the answer is to be drawn; a problem without a viewer is refused at once.
        options: see :class:`lagco.solving.SolveOptions`.
    """
    chosen = _chosen(options)
    with stopping() as stop:
        began = time.perf_counter() if since is None else since
        whole = Limit(_SEARCHING * chosen.time_limit, chosen.turns, working_time(began))
        whole = whole.stopped_by(lambda: stop.signal is not None)
        limit = whole.part(UNLIMITED) if chosen.trade_off or chosen.fixes else whole
        if limit.timed:
            stop.after(max(0.0, _SWEEPING * limit.left()), limit.clock)
        cls, instance, matrices = _problem_and_instance(source, chosen)
        instance = limited(cls, spanned(cls, instance, matrices, chosen), chosen)
        _check_gap(cls, instance, chosen.gap_to)
        if cls.stochastic:
            raise UsageError(
                f"{cls.name} is stochastic: what comes after an action is drawn anew, so no "
                "actions are a solution for good; compare policies by evaluate"
            )
        if drawn and not cls.defines("draw_on"):
            raise UsageError(f"{cls.__name__} has no viewer; define draw_on(axes)")
        scale = _scale(cls, instance, chosen)
        instance = _with_scale(cls, instance, chosen)
        if chosen.trade_off:
            check_trade_off(cls, instance)
        reference = instance.references.solver
        aim = None if reference is None or chosen.gap_to == "bound" else reference.value
        unit = "seconds" if limit.timed else "turns"
        shown = Progress(f"{cls.name}, {unit}", show=progress)
        incumbent = incumbent_of(cls, instance)
        judged = incumbent is not None or is_limited(cls, instance)
        tell = partial(_tell, shown, on_improvement)
        judging = partial(judge, cls, instance) if judged else None
        record = Record(cls, limit, aim, chosen.until, tell, judging)
        if reference is not None and reference.status != "best-known":
            record.bound = reference.value
        task = Task(cls, instance, record, limit, chosen.seed)
        if incumbent is not None:
            _offer_incumbent(task, incumbent)
        plain = None if judged else _default_start(cls, instance, chosen.seed)
        with shown:
            episodes, interrupted = 0, False
            if incumbent is None or instance.params.get(MAX_CHANGES) != 0:
                episodes, interrupted = _search(task, Request(chosen), stop, shown)
        if record.best is None:
            raise record.failure or LagcoError(f"no solution of {instance.name!r} was found")
        trades: tuple[Trade, ...] = ()
        if chosen.trade_off and whole.timed:
            stop.after(max(0.0, whole.left()), whole.clock)
        if chosen.trade_off:
            trades = trade_off(task, Request(chosen), whole, lambda: stop.signal is not None)
        if incumbent is not None:
            record.best = with_fewer_changes(
                cls, instance, record.best, partial(_ends, limit, chosen)
            )
        elif plain is not None and record.better(plain.objective, record.best.objective):
            record.best = plain  # which needs no changes
        stop.after(None)
        score = None if scale is None else scale.score(record.best.objective)
        answer = _answer(cls, instance, record, record.best, score, chosen.gap_to)
        if chosen.fixes:
            patches = answer.solution.nonzero()[0].tolist()
            answer = replace(answer, fixes=ranked_fixes(instance, patches, chosen, whole))
        return replace(
            answer,
            seconds=limit.elapsed(),
            compiling=time.perf_counter() - began - limit.elapsed(),
            episodes=episodes,
            shares=record.shares,
            interrupted=interrupted,
            trade_off=trades,
        )


declare_options(solve, SolveOptions)


def _offer_incumbent(task: Task, incumbent: Array) -> None:
    """Begin the record with the configuration in force, which is the answer to a tie."""
    found = Found(judge(task.cls, task.instance, incumbent).objective, incumbent, INCUMBENT)
    task.record.offer(found)


def _default_start(cls: type[Problem], instance: Instance, seed: int) -> Found | None:
    """The default start, as unit weights, where it is a solution; None otherwise."""
    if cls.present is None or instance.size > _COMPARED:
        return None
    env = cls(instance, start="default", features="paper", rewards=False)
    env.reset(seed=seed)
    if env.builds_up or not env.is_feasible():
        return None
    return Found(env.recompute_objective(), env.solution(), "default start")


def _ends(limit: Limit, options: SolveOptions) -> bool:
    """Whether changes can no longer be taken back: something is left for the check."""
    return limit.timed and limit.elapsed() > _REVERTING * options.time_limit


def _chosen(options: Mapping[str, Any]) -> SolveOptions:
    known = [field.name for field in fields(SolveOptions)]
    for name in options:
        if name not in known:
            raise UsageError(suggest("option", name, known))
    return SolveOptions(**options)


def _search(task: Task, request: Request, stop: Stop, shown: Progress) -> tuple[int, bool]:
    """Let the members work; how many episodes they finished, and whether it was interrupted."""
    limit, record, workers = task.limit, task.record, request.options.workers
    members = request.members(task, workers=workers)
    total = float(request.options.turns or request.options.time_limit)
    with crew(request, task, workers) as others:
        if limit.timed:
            left, held = limit.left(), record.best is not None
            stop.after(left if left > 0.0 else _LEAST * held, limit.clock)
        stop.keeps = True

        def between() -> None:
            others.listen()
            shown.update(limit.elapsed() if limit.timed else limit.taken, total)

        interrupted = False
        try:
            run(members, task, between)
            others.finish()
            alone = any(played.alone for played in _episodes(members))
            if record.best is None and request.options.by == "portfolio" and not alone:
                # the solver cannot do it, so the agent has to, however short the time
                members.append(request.episodes(task, alone=True))
                run(members[-1:], task, between)
        except KeyboardInterrupt:  # the second of the user's, or by `on_improvement`
            with suppress(KeyboardInterrupt):
                others.listen()
            if record.best is None:
                raise
            interrupted = True
        except SystemError as error:
            if interruption(error) is None or record.best is None:
                raise interruption(error) or error from None
            interrupted = True
        finished = sum(member.finished for member in _episodes(members))
        return others.episodes + finished, interrupted or stop.signal is not None


def _tell(
    shown: Progress, on_improvement: Callable[[Improvement], None] | None, found: Improvement
) -> None:
    gap = "" if found.gap is None else f", gap {found.gap:.2f} %"
    shown.say(f"best {found.objective:.6g} by {found.by}{gap}")
    if on_improvement is not None:
        on_improvement(found)


def _episodes(members: Sequence[Member]) -> list[Episodes]:
    return [member for member in members if isinstance(member, Episodes)]


def _check_gap(cls: type[Problem], instance: Instance, gap_to: str | None) -> None:
    """Refuse gaps to what there is not."""
    known = instance.references.solver
    if gap_to == "reference" and known is None:
        raise UsageError(f"gap_to={gap_to!r}: {instance.name!r} brings no reference value")
    proven = known is not None and known.status != "best-known"
    if gap_to == "bound" and not (proven or cls.defines("bound") or cls.defines("relaxed")):
        raise UsageError(f"gap_to={gap_to!r}: {cls.name} has no bound")


def _problem_and_instance(
    source: Instance | str | Path | int | Options, options: SolveOptions
) -> tuple[type[Problem], Instance, Mapping[str, Array]]:
    """Class and instance, and by name the volumes of its demand matrices where they are several."""
    matrices: Mapping[str, Array] = {}
    problem, agent = options.problem, options.agent
    if isinstance(source, int | Mapping):
        instance = _instance_of(source, problem, agent)
    elif isinstance(source, Instance):
        instance = source
    else:
        name = None if problem is None else problem_class(problem).name
        instance, matrices = read_matrices(source, name, options)
    decides_on = getattr(agent, "problem", None)
    if problem is None and decides_on is not None and decides_on.name == instance.problem:
        problem = decides_on
    where = str(source) if isinstance(source, str | Path) else instance.name
    cls = problem_class(problem) if problem else registered_class(instance.problem, where)
    if options.fixes:
        cls, instance = asked(cls, instance)
    return cls, instance, matrices


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
    recomputed = _recomputed(cls, instance, best)
    incumbent = incumbent_of(cls, instance)
    before = None if incumbent is None else judge(cls, instance, incumbent)
    verdict = None if record.verdict is None else judge(cls, instance, best.solution)
    failed = () if record.failure is None else (str(record.failure),)
    right = math.isclose(recomputed, best.objective, rel_tol=1e-6, abs_tol=1e-9)
    return Answer(
        cls.name,
        instance,
        best.by,
        best.objective,
        best.solution,
        score,
        None if reference is None else gap(reference.value),
        reference,
        valid=right and (verdict is None or not verdict.refused),
        seconds=0.0,
        episodes=0,
        bound=bound,
        bound_gap=None if bound is None else gap(bound),
        curve=tuple(record.curve),
        notes=(*failed, *_mended(before, verdict)),
        trace=best.trace,
        cls=cls,
        before=None if before is None else before.objective,
        scenarios=_scenarios(cls, instance, incumbent, best.solution),
        changes=tuple(changes_of(cls, instance, best.solution)),
        faults=() if verdict is None else verdict.faults,
    )


def _mended(before: Verdict | None, after: Verdict | None) -> tuple[str, ...]:
    """A note on what the incumbent breaks and the answer does not."""
    if before is None or after is None:
        return ()
    mended = [fault for fault in before.faults if fault not in after.faults]
    if not mended:
        return ()
    more = f" and {len(mended) - _NAMED} more" if len(mended) > _NAMED else ""
    return (f"not allowed before, mended: {'; '.join(mended[:_NAMED])}{more}",)


def _scenarios(
    cls: type[Problem], instance: Instance, incumbent: Array | None, solution: Array
) -> tuple[ScenarioValue, ...]:
    """Objectives by scenario, the worst ones first; none of an instance without."""
    if not has_scenarios(instance):
        return ()
    after = cls.scenario_values(instance, solution)
    before = None if incumbent is None else cls.scenario_values(instance, incumbent)
    names, order = scenario_names(instance), np.argsort(after if cls.maximise else -after)
    return tuple(
        ScenarioValue(names[s], None if before is None else float(before[s]), float(after[s]))
        for s in order.tolist()
    )


def _recomputed(cls: type[Problem], instance: Instance, best: Found) -> float:
    """Objective of a solution from scratch: by the problem, else by taking its steps again."""
    if best.trace is None or cls.defines("evaluate_solution"):
        return evaluated(cls, instance, best.solution)
    env = cls(instance)
    best.trace.replay(env)
    return env.recompute_objective()


def _instance_of(source: int | Options, problem: AnyProblem | None, agent: Any) -> Instance:
    cls = getattr(agent, "problem", None) if problem is None else problem_class(problem)
    if cls is None:
        raise UsageError(f"source={source!r}: a seed or options need problem=")
    data, seeds = (None, [source]) if isinstance(source, int) else (source, None)
    return instances_from(cls, data, seeds)[0]


def _scale(cls: type[Problem], instance: Instance, options: SolveOptions) -> Problem | None:
    """Problem that gives scores on the scale of the sweeps, where the instance brings them."""
    if instance.references.sweeps is None:
        return None
    env = cls(instance, start=options.start, features="paper")  # which cost less
    env.reset(seed=options.seed)  # some scores count from the start
    return env


def _with_scale(cls: type[Problem], instance: Instance, options: SolveOptions) -> Instance:
    """The instance with the sweeps that its objective is defined by, where it needs them."""
    if not cls.scaled_by_sweeps or instance.references.sweeps is not None:
        return instance
    sweeps = max(20, int(100 * options.time_limit))
    try:
        references = cls.sweep(instance, sweeps, options.seed)
    except InstanceError:  # too large to be swept: there are plain bounds
        return instance
    return replace(instance, references=replace(instance.references, sweeps=references.sweeps))
