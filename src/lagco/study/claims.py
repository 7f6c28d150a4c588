"""Who works on which task: claims that processes on one or many machines respect.

A claim is a file that names its owner. Claims are only made and taken over while holding one lock
(``flock``, which a dying process releases), so two processes never get the same task. A claim is
stale if its process is gone or, where the process is on another machine and cannot be looked at, if
its heartbeat has stopped; then the next one takes it over.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lagco.errors import LagcoError
from lagco.store import Kind

CLAIM = Kind(
    format="lagco-claim",
    version=1,
    noun="the claim of a task",
    remedy="remove the file",
    schema={
        "required": ["owner", "host", "machine", "pid", "born"],
        "additionalProperties": False,
        "properties": {
            "owner": {"type": "string"},
            "host": {"type": "string"},
            "machine": {"type": "string"},
            "pid": {"type": "integer"},
            "born": {"type": ["string", "null"]},
        },
    },
)
#: seconds between two heartbeats, and after how many without one a claim from elsewhere is stale
HEARTBEAT, STALE = 2.0, 120.0


class ClaimLost(LagcoError):
    """Another process has taken the task over, because this one seemed to be gone."""


class Claims:
    """The claims of a ledger.

    Args:
        folder: where the claims are.
        stale: seconds without a heartbeat after which a claim from another machine is stale.
    """

    def __init__(self, folder: Path, stale: float = STALE) -> None:
        self._folder = folder
        self._stale = stale

    def take(self, name: str) -> Claim | None:
        """Claim a task; None if another process works on it."""
        path = self._path(name)
        with self._locked() as now:
            if self._held(path, now):
                return None
            owner = {"owner": uuid.uuid4().hex, "host": socket.gethostname(), **_process()}
            CLAIM.write_file(path, owner)
        return Claim(self, path, owner["owner"])

    def remove(self, path: Path, owner: str) -> None:
        """Remove a claim if it still is that owner's."""
        with self._locked():
            if _owner(path) == owner:
                path.unlink(missing_ok=True)

    def holder(self, name: str) -> dict[str, Any] | None:
        """Who works on a task; None if nobody does."""
        path = self._path(name)
        if not path.exists():  # most are not, and looking takes no lock
            return None
        with self._locked() as now:
            return _read(path) if self._held(path, now) else None

    def abandoned(self, name: str) -> bool:
        """Whether the last one to work on a task died over it."""
        path = self._path(name)
        with self._locked() as now:
            return path.exists() and not self._held(path, now)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _held(self, path: Path, now: float) -> bool:
        claim = _read(path)
        if claim is None:
            return False
        if claim.get("machine") == _machine():
            return _born(claim.get("pid", -1)) == claim.get("born")
        try:
            return now - path.stat().st_mtime < self._stale
        except OSError:
            return False

    @contextlib.contextmanager
    def _locked(self) -> Iterator[float]:
        """Hold the lock; yields the time by the file system's clock, which heartbeats follow."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError as error:
                raise LagcoError(
                    f"{self._folder}: the file system cannot lock files ({error}); choose a folder "
                    "on one that can"
                ) from error
            os.utime(handle)
            yield os.fstat(handle).st_mtime
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
        """Give the task up."""
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
    """When a process started, None if there is none: a process id alone may be used again."""
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
