"""Several processes that look for solutions of one instance, each with members of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any

from lagco.errors import LagcoError
from lagco.runtime.one_thread import one_thread
from lagco.runtime.stopping import leave_signals_to_the_parent, stopping
from lagco.solving.episodes import Episodes
from lagco.solving.portfolio import Found, Record, Task, run
from lagco.solving.request import Request

#: seconds that are waited for the last words of a worker whose time is over
_LAST_WORDS = 0.1


@dataclass(frozen=True)
class Report:
    """Result of a worker.

    Attributes:
        shares: what the turns of its members have cost.
        episodes: how many it finished.
        failure: why a member gave up; None where none did.
    """

    shares: dict[str, float]
    episodes: int
    failure: LagcoError | None


class Crew:
    """Processes beside this one.

    Attributes:
        episodes: that they finished, as far as they have said.
    """

    def __init__(self, request: Request, task: Task, workers: int) -> None:
        # a forked process has everything in memory that this one has loaded
        known = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("fork" if "fork" in known else None)
        self._task = task
        self._stop = context.Event()
        self._listening: list[Connection] = []
        self._processes = []
        self.episodes = 0
        shared = replace(task, record=task.record.apart(task.limit))
        for number in range(1, workers):
            reading, writing = context.Pipe(duplex=False)
            arguments = (request, shared, number, workers, writing, self._stop)
            process = context.Process(target=_work, args=arguments, daemon=True)
            process.start()
            writing.close()
            self._listening.append(reading)
            self._processes.append(process)

    def listen(self) -> None:
        """Take what the workers have found so far, without waiting.

        Where turns are counted, nothing is taken before all are done, so that the answer does not
        depend on who was quicker.
        """
        if self._task.limit.timed:
            for connection in list(self._listening):
                self._take(connection, 0.0)

    def finish(self) -> None:
        """Take what is still to come, in the order of the workers."""
        limit = self._task.limit
        if limit.timed or self._task.record.done():
            self._stop.set()
        for connection in list(self._listening):
            self._take(connection, _LAST_WORDS if limit.timed else None)

    def close(self) -> None:
        """End all processes."""
        self._stop.set()
        for connection in self._listening:
            connection.close()
        for process in self._processes:
            process.join(0.0)
            if process.is_alive():
                process.terminate()

    def _take(self, connection: Connection, seconds: float | None) -> None:
        """Offer what a worker has sent; wait so long for more, or to its end with None."""
        record, best = self._task.record, None
        while seconds is None or connection.poll(seconds):
            try:
                said = connection.recv()
            except (EOFError, OSError):  # it has ended, perhaps killed
                self._listening.remove(connection)
                break
            if isinstance(said, Found):
                best = said
            else:
                self._note(said)
        if best is not None:
            record.offer(best)

    def _note(self, report: Report) -> None:
        record = self._task.record
        self.episodes += report.episodes
        record.failure = record.failure or report.failure
        for name, used in report.shares.items():
            record.shares[name] = record.shares.get(name, 0.0) + used


@contextmanager
def crew(request: Request, task: Task, workers: int) -> Iterator[Crew]:
    """Processes that work on a task as long as the block lasts."""
    made = Crew(request, task, workers)
    try:
        yield made
    finally:
        made.close()


@one_thread()
def _work(
    request: Request, task: Task, number: int, workers: int, found: Connection, stop: Any
) -> None:
    """Look for solutions, in a process of its own; whoever started it says when to stop."""
    leave_signals_to_the_parent()
    starter = multiprocessing.parent_process()
    assert starter is not None

    def over() -> bool:
        return stop.is_set() or os.getppid() != starter.pid  # killed, so that nobody would stop it

    limit = task.limit.stopped_by(over)
    record: Record = task.record.apart(limit, lambda _: found.send(record.best))
    task = replace(task, record=record, limit=limit)
    members = request.members(task, number, workers)
    try:
        with stopping() as stopped:
            if limit.timed:
                stopped.after(max(0.0, limit.left()), limit.clock)
            run(members, task)
        finished = sum(member.finished for member in members if isinstance(member, Episodes))
        found.send(Report(record.shares, finished, record.failure))
    except LagcoError as error:  # others go on
        found.send(Report(record.shares, 0, error))
    except BrokenPipeError:  # nobody listens any more
        pass
