"""Seats of controllers: in a process of its own where the time counts, else in this one.

The deadline is enforced here, outside the controller: what has not been said when the time is over
is not waited for. A controller that does not come back at all is ended and begins anew.
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
from lagco.live.contract import Controller, Desk, Update, followed
from lagco.runtime.one_thread import one_thread
from lagco.runtime.stopping import leave_signals_to_the_parent
from lagco.solving.portfolio import Limit

#: by name, what deadlines are counted in
_CLOCKS = {"real": time.perf_counter, "processor": time.process_time}
#: part of the deadline that the controller is told, so that its answer is here in time
_TOLD = 0.85
#: deadlines, and seconds at least, after which a late controller is ended
_PATIENCE, _LEAST_PATIENCE = 20.0, 10.0
#: seconds for loading and compiling before the first decision
_PREPARING = 600.0


@dataclass(frozen=True, eq=False)
class Reply:
    """What came of a decision.

    Attributes:
        solution: the configuration that was decided on; None to leave all as it is.
        seconds: from the update to the answer, or to the deadline.
        late: whether there was none in time.
        failure: why the controller gave up; empty where it did not.
    """

    solution: Array | None
    seconds: float
    late: bool = False
    failure: str = ""


class Seat(Protocol):
    """Where a controller is asked."""

    def ask(self, update: Update) -> Reply:
        """Its decision."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class OwnSeat:
    """A controller in this process, whose turns are counted: the same on every machine.

    Args:
        desk: the controller at work.
        turns: for each decision.
    """

    def __init__(self, desk: Desk, turns: int) -> None:
        self._desk = desk
        self._turns = turns

    @one_thread()
    def ask(self, update: Update) -> Reply:
        """Its decision after so many turns."""
        began = time.perf_counter()
        try:
            solution = self._desk.decide(update, Limit(turns=self._turns))
        except UsageError:
            raise
        except LagcoError as error:
            return Reply(None, time.perf_counter() - began, failure=str(error))
        return Reply(solution, time.perf_counter() - began)

    def close(self) -> None:
        """Nothing to end."""


class ProcessSeat:
    """A controller in a process of its own, which has so many seconds for each decision.

    Args:
        controller: decides.
        cls: class of the problem.
        instance: at the beginning.
        seconds: the deadline.
        clock: what it is counted in, `real` time or `processor` time of that process.
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
        """Its decision, if it comes in time."""
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
        """Whether real time does not count, as on a machine that does other work too."""
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
    """Decide, in a process of its own, until nobody asks any more."""
    leave_signals_to_the_parent()
    desk = Desk(controller, cls, instance)
    try:
        desk.prepare()
    except LagcoError as error:
        connection.send(error)
        return
    # what the parent had in memory is left alone from here on: to look through it for garbage would
    # copy all its pages, which takes many deadlines
    gc.collect()
    gc.freeze()
    connection.send(None)
    count = _CLOCKS[clock]
    while True:
        woken = count()  # processor time stands still while nobody asks
        try:
            began, update = connection.recv()
        except (EOFError, OSError):
            return
        if clock != "real":  # which is the same in all processes
            began = woken
        limit = Limit(_TOLD * seconds, since=began, clock=count)
        try:
            answer = desk.decide(update, limit), ""
        except LagcoError as error:
            answer = None, str(error)
        try:
            connection.send((*answer, count() - began))
        except OSError:
            return
