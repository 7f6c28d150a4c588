"""Stopping long work with what it has found: at a moment, or on a signal.

Python runs a signal handler only between two instructions of its own, so never within a compiled
search; and an exception that a handler raises just before or after one reaches Python as a
``SystemError``. Therefore signals are noted here instead, and compiled searches look at a flag. A
thread sets it, which can run because the searches release the interpreter's lock::

    with stopping() as stop:
        stop.keeps = True  # from here on there is something to lose
        stop.after(2.0)
        best = search(..., stop_flag())  # compiled with nogil=True
        if stop.signal is not None:
            ...

A loop that looks at the flag has to write to some array as well, as searches do: a compiler reads
once what nothing in a loop can change.

Within ``with signals_interrupt()``, as in every command, SIGTERM and SIGHUP are treated as Ctrl-C.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Flag: TypeAlias = npt.NDArray[np.uint8]

#: what ends a command; Windows has no SIGHUP
_ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
#: what shells add to the number of the signal that ended a command
_BY_SIGNAL = 128


class Interrupted(KeyboardInterrupt):
    """A signal has asked the process to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stop:
    """When work has to end.

    Attributes:
        flag: (1,) 1 as soon as it has to; compiled loops look at it.
        signal: the signal that asked for it; None without.
        keeps: whether there is something to lose: before, a signal raises :class:`Interrupted`.
    """

    def __init__(self) -> None:
        self.flag: Flag = _lowered()
        self.signal: int | None = None
        self.keeps = False
        self._moment: float | None = None
        self._clock: Callable[[], float] = time.monotonic
        self._closed = False
        self._lock = threading.RLock()  # a signal may come while this very thread holds it
        self._ear, self._mouth = socket.socketpair()
        self._mouth.setblocking(False)

    def after(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Set the flag after so many seconds, or not at all; it is lowered until then.

        A clock may go more slowly than time does, such as that of the processor.
        """
        with self._lock:
            self._clock = clock
            self._moment = None if seconds is None else clock() + seconds
            self.flag[0] = self.signal is not None
        self._wake()

    def note(self, number: int) -> None:
        """Set the flag because of a signal."""
        with self._lock:
            self.signal = self.signal or number
            self.flag[0] = 1

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is awake
            self._mouth.send(b"\0")

    def _watch(self) -> None:
        """Raise the flag at the moment, or when the interpreter has written that a signal came."""
        while not self._closed:
            with self._lock:
                moment, clock = self._moment, self._clock
            left = None if moment is None else max(0.0, moment - clock())
            ready, _, _ = select.select([self._ear], [], [], left)
            came = self._ear.recv(64) if ready else b""
            with self._lock:
                if not ready and self._moment == moment and (moment is None or clock() >= moment):
                    self.flag[0], self._moment = 1, None
                elif self.keeps and any(number in _ENDING for number in came):
                    self.flag[0] = 1

    @contextlib.contextmanager
    def _open(self) -> Iterator[None]:
        watching = threading.Thread(target=self._watch, daemon=True)
        watching.start()
        try:
            with self._told_of_signals():
                yield
        finally:
            self._closed = True
            self._wake()
            watching.join()
            self._ear.close()
            self._mouth.close()

    @contextlib.contextmanager
    def _told_of_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():  # which alone has handlers
            yield
            return
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt)
            restored = signal.default_int_handler
        else:
            restored = None
        told = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(told, warn_on_full_buffer=False)
            if restored is not None:
                signal.signal(signal.SIGINT, restored)


_current: ContextVar[Stop | None] = ContextVar("stop", default=None)


def _lowered() -> Flag:
    """A flag that is not set; numpy is not needed before, by ``lagco --help`` for one."""
    import numpy as np

    return np.zeros(1, dtype=np.uint8)


@cache
def _never() -> Flag:
    return _lowered()


@contextlib.contextmanager
def stopping() -> Iterator[Stop]:
    """Stop with which the block, and all that it calls, may be asked to end.

    Within another such block it is the same one.
    """
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    stop = Stop()
    token = _current.set(stop)
    try:
        with stop._open():
            yield stop
    finally:
        _current.reset(token)


def stop_flag() -> Flag:
    """The flag (1,) that compiled searches look at: that of the block, else one that stays 0."""
    stop = _current.get()
    return _never() if stop is None else stop.flag


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Handler of signals: note one where there is something to keep, else raise.

    A second Ctrl-C ends what does not come to its end.
    """
    stop = _current.get()
    again = stop is not None and stop.signal is not None and number == signal.SIGINT
    if stop is None or not stop.keeps or again:
        raise Interrupted(number)
    stop.note(number)


@contextlib.contextmanager
def signals_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as Ctrl-C inside the block.

    A signal that the process was started to ignore stays so (SIGHUP under nohup, SIGINT in the
    background of a script), but SIGTERM always ends it.
    """
    before = {}
    for number in _ENDING:
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_signals_to_the_parent() -> None:
    """In a worker process: end on SIGTERM at once, and leave the others to the parent process."""
    signal.set_wakeup_fd(-1)
    _current.set(None)
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)


def interruption(error: BaseException) -> KeyboardInterrupt | None:
    """The interruption that an error is, or that compiled code has made one of; else None."""
    if isinstance(error, KeyboardInterrupt):
        return error
    cause = error.__cause__ if isinstance(error, SystemError) else None
    return cause if isinstance(cause, KeyboardInterrupt) else None


def exit_code(interrupted: KeyboardInterrupt | int | None) -> int:
    """Exit code of a command that was ended by a signal; without a number that of Ctrl-C."""
    if isinstance(interrupted, KeyboardInterrupt):
        interrupted = getattr(interrupted, "number", None)
    return _BY_SIGNAL + int(interrupted or signal.SIGINT)
