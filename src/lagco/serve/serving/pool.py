"""Workers as the server sees them: bounded queues for each, deadlines, and their ends.

A worker has two queues, of jobs with a deadline and of others, and takes from both in turn: events
do not hold up decisions, nor decisions events. A worker that does not answer when it should is
killed, and so is replaced; what waits for it waits on, until its own time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lagco.serve.messages import Message, packed, received

log = logging.getLogger("lagco.serve")
#: seconds beyond its time after which a worker that does not answer is killed
_PATIENCE = 5.0
#: weight of the last job in the mean time of jobs
_WEIGHT = 0.1

Tell = Callable[[float], None]


class Busy(Exception):
    """There is no room in the queue, or no time.

    Args:
        seconds: after which it may be tried again.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class WorkerLost(Exception):
    """A worker has ended before it answered.

    Args:
        slow: whether it was killed since it took too long.
    """

    def __init__(self, slow: bool) -> None:
        super().__init__(slow)
        self.slow = slow


@dataclass(eq=False)
class _Job:
    message: Message
    until: float
    tell: Tell
    done: asyncio.Future[Message]
    queue: Queue


class Queue:
    """Jobs of one kind that wait for a worker.

    Attributes:
        jobs: in the order in which they came.
        seconds: that one takes, on average.
        admitted: requests that wait for it, in whatever way.
    """

    def __init__(self) -> None:
        self.jobs: deque[_Job] = deque()
        self.seconds = 0.0
        self.admitted = 0

    def pop(self) -> _Job | None:
        """The next job that is still wanted."""
        while self.jobs:
            job = self.jobs.popleft()
            if not job.done.done():
                return job
        return None


@dataclass(eq=False)
class Slot:
    """The place of one worker.

    Attributes:
        worker: number of the worker that sits here, another for each; 0 while there is none.
        busy: seconds that workers here have worked.
        urgent: jobs with a deadline.
        others: jobs without.
    """

    worker: int = 0
    busy: float = 0.0
    urgent: Queue = field(default_factory=Queue)
    others: Queue = field(default_factory=Queue)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: int = 0

    @property
    def waiting(self) -> int:
        """Requests that wait for it."""
        return self.urgent.admitted + self.others.admitted

    def expected(self, queue: Queue) -> float:
        """Seconds until another job of a queue would be begun."""
        other = self.others if queue is self.urgent else self.urgent
        waiting = queue.admitted
        return waiting * queue.seconds + min(waiting, other.admitted) * other.seconds

    async def attend(
        self, worker: int, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Give a worker jobs until it ends."""
        self.worker = worker
        # it says nothing unasked, so that whatever comes now is its end
        ended: asyncio.Future[Message] = asyncio.ensure_future(received(reader))
        try:
            while not (ended.done() and ended.exception()):
                job = await self._next(ended)
                if job is None:
                    return
                began = time.monotonic()
                try:
                    ended = await self._carry_out(job, reader, writer, ended)
                finally:
                    took = time.monotonic() - began
                    self.busy += took
                    job.queue.seconds += _WEIGHT * (took - job.queue.seconds)
        finally:
            self.worker = 0
            ended.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await ended
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            writer.close()

    def put(self, job: _Job) -> None:
        """Add a job."""
        job.queue.jobs.append(job)
        self._news.set()

    async def _next(self, ended: asyncio.Future[Message]) -> _Job | None:
        """The next job that is still wanted; None where the worker has ended."""
        while True:
            self._turn += 1
            first, second = self.urgent, self.others
            if self._turn % 2:
                first, second = second, first
            job = first.pop() or second.pop()
            if job is not None:
                return job
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait((news, ended), return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            if ended.done():
                return None

    async def _carry_out(
        self,
        job: _Job,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: asyncio.Future[Message],
    ) -> asyncio.Future[Message]:
        """Let a job be done; the future of what the worker says next."""
        try:
            writer.write(packed(job.message))
            await writer.drain()
            async with asyncio.timeout(max(0.0, job.until - time.monotonic()) + _PATIENCE):
                while True:
                    said = await answer
                    answer = asyncio.ensure_future(received(reader))
                    if "done" in said.content:
                        break
                    if not job.done.done():
                        job.tell(said.content["objective"])
        except (EOFError, OSError, ValueError, TimeoutError) as error:
            if not job.done.done():
                job.done.set_exception(WorkerLost(isinstance(error, TimeoutError)))
            log.warning("worker lost", extra={"reason": type(error).__name__})
            raise EOFError from error
        if not job.done.done():
            job.done.set_result(Message(said.content["done"], said.blobs))
        return answer


class Pool:
    """All workers.

    Args:
        workers: so many.
        queue: jobs that may wait for each.
    """

    def __init__(self, workers: int, queue: int) -> None:
        self.slots = [Slot() for _ in range(workers)]
        self._most = queue
        self._workers = 0

    async def welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Give a worker a place, and work until it ends."""
        try:
            pid = int((await received(reader)).content["pid"])
        except (EOFError, KeyError, ValueError):
            writer.close()
            return
        slot = next((slot for slot in self.slots if slot.worker == 0), None)
        if slot is None:
            writer.close()
            return
        self._workers += 1
        with contextlib.suppress(EOFError):
            await slot.attend(self._workers, pid, reader, writer)

    @property
    def ready(self) -> bool:
        """Whether all workers are there."""
        return all(slot.worker for slot in self.slots)

    @property
    def begun(self) -> int:
        """Workers that there have been."""
        return self._workers

    @property
    def waiting(self) -> int:
        """Requests that wait for workers."""
        return sum(slot.waiting for slot in self.slots)

    def quietest(self) -> Slot:
        """The place with the fewest jobs."""
        return min(self.slots, key=lambda slot: (slot.worker == 0, slot.waiting))

    @contextlib.contextmanager
    def place(self, slot: Slot, seconds: float | None = None) -> Iterator[None]:
        """Room in a queue for the time of the block.

        Args:
            slot: that it is for.
            seconds: within which a job with a deadline has to begin; None for others.

        Raises:
            Busy: there is no room, or it could not be begun in time.
        """
        queue = slot.others if seconds is None else slot.urgent
        expected = slot.expected(queue)
        late = seconds is not None and queue.admitted and expected > seconds
        if queue.admitted >= self._most or late:
            raise Busy(max(1.0, expected))
        queue.admitted += 1
        try:
            yield
        finally:
            queue.admitted -= 1

    async def run(
        self,
        slot: Slot,
        content: dict[str, Any],
        blobs: Sequence[bytes],
        until: float,
        tell: Tell = lambda objective: None,
        *,
        urgent: bool = False,
    ) -> Message:
        """Let a worker do a job; cancel it to wait no longer.

        Args:
            slot: whose worker.
            content: of the job.
            blobs: that go with it.
            until: moment at which it should be done.
            tell: is told of better objectives meanwhile.
            urgent: whether it has a deadline.

        Raises:
            WorkerLost: the worker has ended before it was done.
        """
        done: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        queue = slot.urgent if urgent else slot.others
        slot.put(_Job(Message(content, tuple(blobs)), until, tell, done, queue))
        return await done
