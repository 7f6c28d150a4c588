"""Execution of a study: plan, do what is not done yet in waves, plan again, until all is done."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from lagco.errors import LagcoError
from lagco.problem_table import ENTRIES
from lagco.results.numbers import of_things
from lagco.runtime.progress import Progress as ShownProgress
from lagco.study.planning.plan import plan_study
from lagco.study.records.ledger import NOTE, Ledger
from lagco.study.running.engines import Engine, WorkerLost, engine_of
from lagco.study.running.worker import Assignment, perform
from lagco.study.settings import Settings, settings_class
from lagco.study.task import Task

#: seconds between looks at tasks that another process does
_LOOK = 1.0
#: a task counts as failed once this many workers died over it
_LIVES = 3


class StudyFailed(LagcoError):
    """Some tasks of a study failed; the message lists them."""


@dataclass(frozen=True)
class Progress:
    """Progress of a study: tasks done, failed and in all, and the name of the last one."""

    done: int
    failed: int
    total: int
    last: str = ""


Watch = Callable[[Progress], None]


def run_study(
    settings: Settings,
    out: str | Path,
    *,
    engine: str | Engine = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: bool = True,
    watch: Watch | None = None,
) -> Ledger:
    """Do everything that a study lacks; returns its ledger.

    Args:
        settings: of the study.
        out: folder of the ledger.
        engine: ``local``, ``ray``, or an engine, which stays open.
        workers: tasks at a time; as many as the study's settings say by default.
        address: of a Ray cluster.
        progress: whether to show how it goes.
        watch: called with the progress.

    Raises:
        StudyFailed: when everything else is done.
    """
    ledger = Ledger(out)
    ledger.write_settings(settings.study, settings.as_dict())
    with ShownProgress(f"{settings.study}, tasks", show=progress) as shown:

        def tell(seen: Progress) -> None:
            failed = [f"{seen.failed} failed"] if seen.failed else []
            last = [seen.last] if seen.last else []
            shown.update(seen.done + seen.failed, seen.total, "; ".join([*failed, *last]))
            if watch is not None:
                watch(seen)

        if not isinstance(engine, str):
            failed = _execute(settings, ledger, engine, tell)
        else:
            with closing(engine_of(engine, workers or settings.workers, address)) as made:
                failed = _execute(settings, ledger, made, tell)
    if failed:
        listed = [f"{t.kind} {t.name}: {_reason(ledger, t)}" for t in failed[:10]]
        more = f"\n… and {len(failed) - 10} more" if len(failed) > 10 else ""
        raise StudyFailed(
            f"{of_things(len(failed), 'tasks')} failed; all that did not need them is done. "
            f"Tracebacks are in {ledger.root / 'failures'}; the same command tries them again.\n"
            + "\n".join(listed)
            + more
        )
    return ledger


def _execute(settings: Settings, ledger: Ledger, engine: Engine, watch: Watch | None) -> list[Task]:
    """Plan, do what is planned, and plan again while that brings up something new."""
    failed: dict[str, Task] = {}
    seen: set[str] = set()
    while True:
        plan = plan_study(settings, ledger)
        final = [task for task in plan.tasks if task.complete]
        if seen.issuperset(task.key for task in final):
            return list(failed.values())
        seen |= {task.key for task in final}
        rest = [task for task in final if task.key not in failed]
        later = len(plan) - len(rest)
        failed |= {t.key: t for t in execute(ledger, rest, engine, _shifted(watch, later))}


def _shifted(watch: Watch | None, later: int) -> Watch | None:
    if watch is None:
        return None
    return lambda seen: watch(replace(seen, total=seen.total + later))


def _reason(ledger: Ledger, task: Task) -> str:
    failure = ledger.failure(task)
    return "what it needs failed" if failure is None else str(failure.get("error"))


def execute(
    ledger: Ledger, tasks: Sequence[Task], engine: Engine, watch: Watch | None = None
) -> list[Task]:
    """Do every task that is not done; returns those that failed.

    Tasks that another process works on are waited for, and taken over if that process dies. A task
    that fails is not tried again by this call; what needs it fails too.
    """
    plan = {task.key: task for task in tasks}
    failed: set[str] = set()
    deaths: dict[str, int] = {}
    done: set[str] = set()

    def tell(last: str = "") -> None:
        if watch is not None:
            watch(Progress(len(done), len(failed), len(plan), last))

    while True:
        done |= {key for key, task in plan.items() if key not in done and ledger.has(task)}
        failed |= {
            key
            for key, task in plan.items()
            if key not in done and any(need in failed for need in task.needs)
        }
        pending = [task for key, task in plan.items() if key not in done | failed]
        tell()
        if not pending:
            return [plan[key] for key in plan if key in failed]
        ready = [task for task in pending if _ready(task, plan, done)]
        free = [task for task in ready if ledger.claims.holder(task.claim) is None]
        if not free:
            time.sleep(_LOOK)
            continue
        given = [_assignment(ledger, task, engine) for task in free]
        try:
            for key, state in engine.map(perform, given):
                if state == "done":
                    done.add(key)
                elif state == "failed":
                    failed.add(key)
                if state != "elsewhere":
                    tell(plan[key].name)
        except WorkerLost as error:
            _count_deaths(ledger, free, deaths, failed, error)


def _ready(task: Task, plan: dict[str, Task], done: set[str]) -> bool:
    return all(need in done or need not in plan for need in task.needs)


def _assignment(ledger: Ledger, task: Task, engine: Engine) -> Assignment:
    return Assignment(
        root=str(ledger.root),
        task=task,
        over=ledger.claims.silent(task.claim),
        parent=os.getpid() if engine.children else None,
        place=os.getcwd() if os.getcwd() in sys.path else "",
    )


def _count_deaths(
    ledger: Ledger,
    tasks: Iterable[Task],
    deaths: dict[str, int],
    failed: set[str],
    error: WorkerLost,
) -> None:
    """Blame the tasks whose claims were left behind; give up those that cost too many workers."""
    for task in tasks:
        if not ledger.has(task) and ledger.claims.abandoned(task.claim):
            deaths[task.key] = deaths.get(task.key, 0) + 1
            if deaths[task.key] >= _LIVES:
                failed.add(task.key)
                text = f"{_LIVES} worker processes died over it (out of memory?): {error}"
                ledger.write_failure(task, text)


def last_settings(study: str, out: str | Path) -> Settings:
    """Settings with which a study was last started in a folder."""
    cls, ledger = settings_class(study), Ledger(out)
    settings = ledger.read_settings(study)
    path = ledger.root / "studies" / f"{study}.json"
    foreign = [problem for problem in settings["problems"] if problem not in ENTRIES]
    if foreign:  # a file must not say what to import
        raise LagcoError(
            f"{path} names the problem {foreign[0]!r}, which is not one of lagco's; give the "
            "options with which the study was started"
        )
    try:
        return cls.of(**settings)
    except (LagcoError, TypeError) as error:
        raise LagcoError(f"{path}: {error}; {NOTE.remedy}") from error
