"""Claims on tasks, respected by processes on one or many machines.

A claim is a file that names its owner. Claims are only made and taken over while holding one lock
(``flock``, which a dying process releases), so two processes never get the same task. A claim is
stale if its process is gone or, where the process is on another machine and cannot be looked at, if
its heartbeat has stopped; then the next one takes it over.

No clock is compared with another: a heartbeat is any change of the file's modification time, and
how long there was none is counted by whoever waits for it, by its own monotonic clock.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lagco.errors import LagcoError
from lagco.store import TEXT, Kind, object_of

CLAIM = Kind(
    format="lagco-claim",
    version=1,
    noun="the claim of a task",
    remedy="remove the file",
    schema=object_of(
        owner=TEXT,
        host=TEXT,
        machine=TEXT,
        pid={"type": "integer"},
        born={"type": ["string", "null"]},
    ),
)
#: seconds between two heartbeats, and after how many without one a claim from elsewhere is stale
HEARTBEAT, STALE = 2.0, 120.0


class ClaimLost(LagcoError):
    """The task was taken over by another process, because this one seemed to be gone."""


class Claims:
    """The claims of a ledger.

    Args:
        folder: where the claims are.
        stale: seconds without a heartbeat after which a claim from another machine is stale.
    """

    def __init__(self, folder: Path, stale: float = STALE) -> None:
        self._folder = folder
        self._stale = stale
        #: by file, the last sign of life and when it was first seen here
        self._signs: dict[str, tuple[str, float]] = {}

    def take(self, name: str, over: str | None = None) -> Claim | None:
        """Claim a task; None if another process works on it.

        Args:
            name: of the task.
            over: what :meth:`silent` returned, perhaps in another process: a claim that has given
                no other sign of life since is taken over.
        """
        path = self._path(name)
        with locked(self._folder):
            if self._held(path) and (over is None or _sign(path) != over):
                return None
            owner = {"owner": uuid.uuid4().hex, "host": socket.gethostname(), **_process()}
            CLAIM.write_file(path, owner)
        return Claim(self, path, owner["owner"])

    def remove(self, path: Path, owner: str) -> None:
        """Remove a claim if it still is that owner's."""
        with locked(self._folder):
            if _owner(path) == owner:
                path.unlink(missing_ok=True)

    def holder(self, name: str) -> dict[str, Any] | None:
        """The process that works on a task, as its claim describes it; None if there is none."""
        path = self._path(name)
        if not path.exists():  # most are not, and looking takes no lock
            return None
        with locked(self._folder):
            return _read(path) if self._held(path) else None

    def silent(self, name: str) -> str | None:
        """The last sign of life of a claim from another machine that gives none any more."""
        path = self._path(name)
        return self._silent(path) if path.exists() else None

    def age(self, name: str) -> float | None:
        """Seconds since the last heartbeat by the clock on the wall; to be shown, not relied on."""
        try:
            return max(0.0, time.time() - self._path(name).stat().st_mtime)
        except OSError:
            return None

    def abandoned(self, name: str) -> bool:
        """Whether the last process to work on a task died over it."""
        path = self._path(name)
        with locked(self._folder):
            return path.exists() and not self._held(path)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _held(self, path: Path) -> bool:
        claim = _read(path)
        if claim is None:
            return False
        if claim.get("machine") == _machine():
            return _born(claim.get("pid", -1)) == claim.get("born")
        return self._silent(path) is None

    def _silent(self, path: Path) -> str | None:
        sign, now = _sign(path), _now()
        seen, since = self._signs.get(path.name, (None, now))
        if sign is None or sign != seen:
            self._signs[path.name] = (sign or "", now)
            return None
        return sign if now - since >= self._stale else None


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclusive use of a folder among all processes that ask for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise LagcoError(
            f"{folder}: cannot hold the claims of a study ({error.strerror or error}); remove what "
            "stands there, or choose a folder that you may write to"
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            raise LagcoError(
                f"{folder}: the file system cannot lock files ({error}); choose a folder on one "
                "that can"
            ) from error
        yield
    finally:
        os.close(handle)


class Claim:
    """A claimed task; its heartbeat runs until it is released."""

    def __init__(self, claims: Claims, path: Path, owner: str) -> None:
        self._claims = claims
        self._path = path
        self._owner = owner
        self._done = threading.Event()
        self._lost = False
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise :class:`ClaimLost` if the task was taken over."""
        if self._lost:
            raise ClaimLost(f"{self._path}: another process has taken this task over")

    def release(self) -> None:
        """Give up the task."""
        self._done.set()
        self._thread.join()
        self._claims.remove(self._path, self._owner)

    def _beat(self) -> None:
        while not self._done.wait(HEARTBEAT):
            with contextlib.suppress(OSError):  # a file system may be away for a moment
                if _owner(self._path) != self._owner:
                    self._lost = True
                    return
                os.utime(self._path)


_now = time.monotonic


def _sign(path: Path) -> str | None:
    """Last sign of life in a claim: its owner and the opaque time of its last heartbeat."""
    try:
        return f"{_owner(path)} {path.stat().st_mtime_ns}"
    except OSError:
        return None


def _owner(path: Path) -> str | None:
    claim = _read(path)
    return None if claim is None else claim.get("owner")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return CLAIM.read_file(path).content
    except LagcoError:
        return None


def _process() -> dict[str, Any]:
    pid = os.getpid()
    return {"machine": _machine(), "pid": pid, "born": _born(pid)}


@functools.cache
def _machine() -> str:
    """Identity of the machine, as long as it runs, and of the space its process ids count in."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _born(pid: int) -> str | None:
    """Start of a process, None if there is none: a process id alone may be used again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except OSError:
        return None
    else:
        return None if fields[0] in "ZX" else fields[19]
    try:
        os.kill(pid, 0)  # no /proc here
    except ProcessLookupError:
        return None
    except OSError:
        pass
    return "alive"
