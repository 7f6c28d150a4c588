"""Carrying out a plan: what is not done yet, in waves, until all is done or has failed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from lagco.study.engines import Engine, WorkerLost
from lagco.study.ledger import Ledger
from lagco.study.task import Task
from lagco.study.work import Assignment, perform

#: seconds between looks at tasks that another process does
_LOOK = 1.0
#: a task over which so many workers died counts as failed
_LIVES = 3


@dataclass(frozen=True)
class Progress:
    """How far a plan is: tasks done, failed and in all, and the name of the last one."""

    done: int
    failed: int
    total: int
    last: str = ""


Watch = Callable[[Progress], None]


def carry_out(
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
        free = [task for task in pending if _ready(task, plan, done) and not _held(ledger, task)]
        if not free:
            time.sleep(_LOOK)
            continue
        parent = os.getpid() if engine.children else None
        here = os.getcwd()
        given = [Assignment(str(ledger.root), task, parent, here) for task in free]
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


def _claim(task: Task) -> str:
    return f"{task.kind}-{task.file_name}"


def _held(ledger: Ledger, task: Task) -> bool:
    return ledger.claims.holder(_claim(task)) is not None


def _count_deaths(
    ledger: Ledger,
    tasks: Iterable[Task],
    deaths: dict[str, int],
    failed: set[str],
    error: WorkerLost,
) -> None:
    """Blame the tasks whose claims were left behind; give those up that cost too many workers."""
    for task in tasks:
        if not ledger.has(task) and ledger.claims.abandoned(_claim(task)):
            deaths[task.key] = deaths.get(task.key, 0) + 1
            if deaths[task.key] >= _LIVES:
                failed.add(task.key)
                text = f"{_LIVES} worker processes died over it (out of memory?): {error}"
                ledger.write_failure(task, text)


@dataclass(frozen=True)
class Status:
    """Where a plan stands.

    Attributes:
        done: finished tasks.
        running: tasks that a process works on now: name, host and share done where it is known.
        failed: name and error of tasks that failed the last time.
        waiting: tasks not begun.
        total: all of them.
        seconds_left: estimate over the workers that are at it (at least one); None without a
            finished task to judge by.
    """

    done: int
    running: list[dict[str, Any]]
    failed: list[dict[str, Any]]
    waiting: int
    total: int
    seconds_left: float | None


def status_of(ledger: Ledger, tasks: Sequence[Task], workers: int | None = None) -> Status:
    """Where a plan stands, seen from its folder."""
    plan = {task.key: task for task in tasks}
    times = _Times()
    left: list[tuple[Task, float]] = []
    done, running, failed, waiting = 0, [], [], 0
    for task in plan.values():
        record = ledger.get(task)
        if record is not None:
            done += 1
            times.add(task, float(record.measured.get("seconds", 0.0)))
            continue
        share = 0.0
        holder = ledger.claims.holder(_claim(task))
        failure = ledger.failure(task)
        if holder is not None:
            share = _share(ledger, task)
            running.append({"name": task.name, "host": holder.get("host"), "share": share})
        elif failure is not None:
            failed.append({"name": task.name, "error": failure.get("error")})
        else:
            waiting += 1
        left.append((task, 1.0 - share))
    expected = [(times.expect(task), share) for task, share in left]
    known = [seconds * share for seconds, share in expected if seconds is not None]
    seconds_left = sum(known) / max(workers or len(running), 1) if known or not left else None
    return Status(done, running, failed, waiting, len(plan), seconds_left)


class _Times:
    """What tasks took, by what they have in common; the closest match is taken."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], list[float]] = {}

    def add(self, task: Task, seconds: float) -> None:
        for trait in _traits(task):
            self._known.setdefault(trait, []).append(seconds)

    def expect(self, task: Task) -> float | None:
        for trait in _traits(task):
            if trait in self._known:
                return median(self._known[trait])
        return None


def _traits(task: Task) -> list[tuple[Any, ...]]:
    method = task.spec.get("config", {}).get("method") or task.spec.get("method")
    problem = task.spec["problem"]
    return [(task.kind, method, problem), (task.kind, method), (task.kind, problem), (task.kind,)]


def _share(ledger: Ledger, task: Task) -> float:
    """How much of a training run is done, read off its curve."""
    steps = task.spec.get("config", {}).get("steps")
    if not steps:
        return 0.0
    try:
        last = (ledger.folder(task) / "progress.csv").read_text().splitlines()[-1]
        return min(1.0, int(last.split(",")[0]) / int(steps))
    except (OSError, ValueError, IndexError):
        return 0.0
