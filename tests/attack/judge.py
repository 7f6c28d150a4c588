"""One mutant tried: what happened, how long it took and how much memory it needed."""

from __future__ import annotations

import gc
import re
import signal
import threading
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path

from lagco.errors import LagcoError

#: seconds of CPU and bytes beyond which a mutant counts as a failure
MOST_SECONDS, MOST_BYTES = 5.0, 500 << 20
#: seconds by the clock after which it counts as waiting for something, such as a named pipe
MOST_WAITING = 300.0


class TooLong(BaseException):
    """The time of a mutant is over."""


class Finding(Exception):
    """A mutant that is a failure; the message says why."""


def try_mutant(kind, folder, sealed):
    """Load and use the mutant in `folder`; ``refused``, ``same`` or ``other``.

    Args:
        kind: what is attacked.
        folder: with the mutated files.
        sealed: whether the checksums were made right again, so that other decisions are allowed.

    Raises:
        Finding: it is a failure.
    """
    _forget_peak()
    before, began = _memory("VmRSS"), time.process_time()
    try:
        with _limited():
            outcome = _outcome(kind, folder, sealed)
    except TooLong:
        raise Finding(
            f"took more than {MOST_SECONDS:g} s of CPU, or waited for {MOST_WAITING:g} s"
        ) from None
    grown, seconds = _memory("VmHWM") - before, time.process_time() - began
    if seconds > MOST_SECONDS:
        raise Finding(f"took {seconds:.1f} s of CPU ({outcome})")
    if grown > MOST_BYTES:
        gc.collect()
        raise Finding(f"took {grown >> 20} MB ({outcome})")
    return outcome


def _outcome(kind, folder, sealed):
    try:
        loaded = kind.load(folder)
    except LagcoError as error:
        names = [path.name for path in folder.rglob("*")] + [folder.name]
        if not any(name in str(error) for name in names):
            raise Finding(f"the message names no file: {str(error)[:300]}") from error
        return "refused"
    except Exception as error:
        raise Finding(f"loading: {_told(error)}") from error
    try:
        behaviour = kind.use(loaded)
    except LagcoError as error:
        if not sealed:
            raise Finding(f"accepted as it was, then refused: {error}") from error
        return "refused"
    except Exception as error:
        raise Finding(f"using: {_told(error)}") from error
    if behaviour == kind.behaviour:
        return "same"
    if not sealed:
        raise Finding("other behaviour under the old checksum")
    return "other"


def _told(error):
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "lagco" in frame.filename] or frames
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]}"


@contextmanager
def _limited():
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_):
        raise TooLong

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, MOST_SECONDS),
        (signal.ITIMER_REAL, signal.SIGALRM, MOST_WAITING),
    )
    before = [signal.signal(sign, stop) for _, sign, _ in timers]
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, sign, _), old in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(sign, old)


def _forget_peak():
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory(field):
    """Bytes that the process has, or had at most since :func:`_forget_peak`."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    return int(found[1]) << 10 if found else 0
