"""Runners of controllers: in a separate process if decisions have a deadline, else in this one.

Deadlines are enforced here, outside the controller: late answers are dropped, and a controller that
does not return at all is ended and started again.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.instances import Instance
from lagco.live.contract import Controller, ControllerSession, Update, followed
from lagco.runtime.one_thread import one_thread
from lagco.runtime.stopping import leave_signals_to_the_parent
from lagco.solving.portfolio import Limit

#: clocks of deadlines by name
_CLOCKS = {"real": time.perf_counter, "processor": time.process_time}
#: share of the deadline given to the controller, so that its answer arrives in time
_TOLD = 0.85
#: a late controller is ended after this many deadlines, and at least this many seconds
_PATIENCE, _LEAST_PATIENCE = 20.0, 10.0
#: seconds for loading and compiling before the first decision
_PREPARING = 600.0


@dataclass(frozen=True, eq=False)
class Reply:
    """The outcome of a decision.

    Attributes:
        solution: the configuration decided on; None to change nothing.
        seconds: from the update to the answer, or to the deadline.
        late: whether there was no answer in time.
        failure: message of an error of the controller, else empty.
    """

    solution: Array | None
    seconds: float
    late: bool = False
    failure: str = ""


class Runner(Protocol):
    """Runs a controller."""

    def ask(self, update: Update) -> Reply:
        """The controller's decision after an update."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


class InlineRunner:
    """A controller in this process, limited by turns: deterministic on every machine.

    Args:
        session: the controller and its instance.
        turns: limit of each decision.
    """

    def __init__(self, session: ControllerSession, turns: int) -> None:
        self._session = session
        self._turns = turns

    @one_thread()
    def ask(self, update: Update) -> Reply:
        """See :class:`Runner`."""
        began = time.perf_counter()
        try:
            solution = self._session.decide(update, Limit(turns=self._turns))
        except UsageError:
            raise
        except LagcoError as error:
            return Reply(None, time.perf_counter() - began, failure=str(error))
        return Reply(solution, time.perf_counter() - began)

    def close(self) -> None:
        """Nothing to end."""


class ProcessRunner:
    """A controller in a separate process, with a deadline for each decision.

    Args:
        controller: the controller.
        cls: class of the problem.
        instance: the initial instance.
        seconds: the deadline.
        clock: `real` time, or `processor` time of that process.
    """

    def __init__(
        self,
        controller: Controller,
        cls: type[Problem],
        instance: Instance,
        seconds: float,
        clock: str = "real",
    ) -> None:
        # a forked process has everything in memory that this one has loaded
        known = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("fork" if "fork" in known else None)
        self._controller, self._cls, self._instance = controller, cls, instance
        self._seconds, self._clock = seconds, clock
        self._patience = max(_LEAST_PATIENCE, _PATIENCE * seconds)
        self._begin()

    def ask(self, update: Update) -> Reply:
        """See :class:`Runner`; late answers are dropped."""
        self._instance = followed(self._cls, self._instance, update)
        began = time.perf_counter()
        try:
            self._connection.send((began, update))
            if not self._connection.poll(self._patience if self._busy else self._seconds):
                self._drop_late_answer()
                return Reply(None, self._seconds, late=True)
            solution, failure, used = self._connection.recv()
        except (EOFError, OSError):
            self._begin()
            ended = "the process of the controller has ended"
            return Reply(None, time.perf_counter() - began, failure=ended)
        if not self._busy:
            return Reply(solution, time.perf_counter() - began, failure=failure)
        if used > self._seconds:
            return Reply(None, self._seconds, late=True)
        return Reply(solution, used, failure=failure)

    @property
    def _busy(self) -> bool:
        """Whether processor time counts, for machines that do other work too."""
        return self._clock != "real"

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(0.2)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(1.0)
        if self._process.is_alive():
            self._process.kill()

    def _begin(self) -> None:
        mine, its = self._context.Pipe()
        arguments = its, self._controller, self._cls, self._instance, self._seconds, self._clock
        self._process = self._context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        its.close()
        self._connection: Connection = mine
        try:
            if not mine.poll(_PREPARING):
                raise LagcoError(
                    f"the controller {self._controller.name} was not ready in {_PREPARING:g} s"
                )
            failure = mine.recv()
        except EOFError:
            failure = LagcoError(f"the controller {self._controller.name} has ended at once")
        if isinstance(failure, LagcoError):
            self.close()
            raise failure

    def _drop_late_answer(self) -> None:
        """Wait until it can be asked again; end it if that takes too long."""
        if self._connection.poll(self._patience):
            self._connection.recv()
        else:
            self._process.terminate()
            self.close()
            self._begin()


@one_thread()
def _serve(
    connection: Connection,
    controller: Controller,
    cls: type[Problem],
    instance: Instance,
    seconds: float,
    clock: str,
) -> None:
    """Answer updates in the separate process until the connection is closed."""
    leave_signals_to_the_parent()
    session = ControllerSession(controller, cls, instance)
    try:
        session.prepare()
    except LagcoError as error:
        connection.send(error)
        return
    # exclude the parent's objects from garbage collection: traversing them would copy all pages of
    # the forked memory, which takes many deadlines
    gc.collect()
    gc.freeze()
    connection.send(None)
    count = _CLOCKS[clock]
    while True:
        woken = count()  # processor time does not pass while waiting
        try:
            began, update = connection.recv()
        except (EOFError, OSError):
            return
        if clock != "real":  # processor time is per process
            began = woken
        limit = Limit(_TOLD * seconds, since=began, clock=count)
        try:
            answer = session.decide(update, limit), ""
        except LagcoError as error:
            answer = None, str(error)
        try:
            connection.send((*answer, count() - began))
        except OSError:
            return
