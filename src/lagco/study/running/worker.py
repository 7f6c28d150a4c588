"""A task in a worker process: claimed, done, recorded."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from lagco.errors import LagcoError
from lagco.runtime.parents import end_with
from lagco.study.records.ledger import Ledger
from lagco.study.running.claims import Claim, ClaimLost
from lagco.study.running.code import code_version
from lagco.study.task import Task
from lagco.study.tasks import KINDS

Item = TypeVar("Item")

#: result of a task, and what was measured on the way
Outcome: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
#: what became of a task; another process may be at it
State: TypeAlias = Literal["done", "failed", "elsewhere"]


@dataclass(frozen=True)
class Context:
    """Resources of a task: its specification, the ledger and the folder that it writes."""

    ledger: Ledger
    task: Task
    claim: Claim

    @property
    def spec(self) -> Mapping[str, Any]:
        """The specification of the task."""
        return self.task.spec

    @property
    def folder(self) -> Path:
        """Folder that the task writes."""
        return self.ledger.folder(self.task)

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items; raise as soon as another process has taken over the task."""
        for item in items:
            self.claim.check()
            yield item

    def report(self, row: Mapping[str, Any]) -> None:
        """To be called now and then; raises if another process has taken over the task."""
        self.claim.check()


@dataclass(frozen=True)
class Assignment:
    """Order to a worker process to do a task.

    Attributes:
        root: folder of the ledger.
        task: what to do.
        over: last sign of life of a claim on it that was found to be stale.
        parent: the process to stop with, where the worker is its child.
        place: folder of modules of the user's own; empty where none is needed.
    """

    root: str
    task: Task
    over: str | None = None
    parent: int | None = None
    place: str = ""


def perform(assignment: Assignment) -> tuple[str, State]:
    """Do a task unless it is done or being done; returns its key and state."""
    if assignment.parent is not None:
        end_with(assignment.parent)
    if assignment.place and assignment.place not in sys.path:
        sys.path.append(assignment.place)
    ledger, task = Ledger(assignment.root), assignment.task
    if ledger.has(task):
        return task.key, "done"
    claim = ledger.claims.take(task.claim, assignment.over)
    if claim is None:
        return task.key, "elsewhere"
    try:
        if not ledger.has(task):  # it may have been finished just before
            _do(Context(ledger, task, claim))
    except ClaimLost:
        return task.key, "elsewhere"
    except Exception as error:  # whatever a problem of a user's raises concerns this task alone
        ledger.write_failure(task, error)
        return task.key, "failed"
    finally:
        claim.release()
    return task.key, "done"


def _do(context: Context) -> None:
    task = context.task
    planned = task.spec["code"]
    modules = tuple(planned["modules"])
    present = code_version(task.spec["problem"], modules, planned["method"])
    if present != planned:
        raise LagcoError(
            f"{task.name} was planned with other code (lagco {planned['version']}, "
            f"{planned['hash'][:12]}…) than this process runs (lagco {present['version']}, "
            f"{present['hash'][:12]}…); install the same on all machines and start again"
        )
    for key in task.needs:
        if not any(context.ledger.root.glob(f"records/*/*-{key[:16]}.json")):
            raise LagcoError(f"{task.name} needs {key[:16]}, which is not done; see its failure")
    do: Callable[[Context], Outcome] = import_module(KINDS[task.kind]).do
    began, cpu_began = time.perf_counter(), time.process_time()
    result, measured = do(context)
    context.claim.check()
    seconds = round(time.perf_counter() - began, 3)
    cpu_s = round(time.process_time() - cpu_began, 3)
    context.ledger.write(task, result, {"seconds": seconds, "cpu_s": cpu_s, **measured})
