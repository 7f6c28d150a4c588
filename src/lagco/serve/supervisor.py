"""The first process: it gets ready once, and forks server and workers, again where one ends.

It does nothing else, so that it does not fail itself. The sockets are its own: while the server is
replaced, connections wait instead of being refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lagco.errors import UsageError
from lagco.problems import problem_class
from lagco.runtime.parents import end_with
from lagco.serve.logs import log_lines
from lagco.serve.options import ServeOptions
from lagco.serve.serving.guard import Tokens
from lagco.serve.storing.database import POSTGRES, Database
from lagco.serve.working.worker import warm, work

log = logging.getLogger("lagco.serve")
SERVER, WORKER = "server", "worker"
#: a process that ends sooner is replaced after a pause of so many seconds
_SOON, _PAUSE = 1.0, 0.5
#: seconds for all to end
_ENDING = 10.0
_BACKLOG = 2048


def supervise(options: ServeOptions, tell: Callable[[str], None]) -> None:
    """Serve until a signal.

    Args:
        options: of the service.
        tell: is told the address, once clients may come.
    """
    from lagco.serve.server import run_server

    log_lines()
    _try(options)
    with _only_one(options), _listening(options) as listening, _rendezvous() as (address, workers):
        problems = {cls.name: cls for cls in map(problem_class, options.problem_names)}
        warm(problems, options)
        gc.collect()
        gc.freeze()  # what is there stays in memory that all processes share
        parent = os.getpid()

        def serve() -> None:
            run_server(listening, workers, options, parent)

        def decide() -> None:
            end_with(parent)
            listening.close()
            workers.close()
            work(address, problems, options)

        family = Family({SERVER: serve, WORKER: decide})
        listening.listen(_BACKLOG)
        workers.listen(options.processes)
        try:
            family.begin(SERVER)
            for _ in range(options.processes):
                family.begin(WORKER)
            host, port = listening.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            tell(f"serving on http://{shown}:{port}")
            family.keep()
        finally:
            family.end()


class Family:
    """Child processes by what they do.

    Args:
        roles: what a process of each name does.
    """

    def __init__(self, roles: dict[str, Callable[[], None]]) -> None:
        self._roles = roles
        self._children: dict[int, tuple[str, float]] = {}

    def begin(self, role: str) -> None:
        """Fork a process."""
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self._children[pid] = role, time.monotonic()
            return
        code = 1
        try:
            self._roles[role]()
            code = 0
        except KeyboardInterrupt:
            code = 0
        except BaseException:
            log.exception("process failed", extra={"role": role})
        finally:
            sys.stderr.flush()
            os._exit(code)

    def keep(self) -> None:
        """Replace whoever ends, until a signal raises KeyboardInterrupt."""
        while True:
            pid, status = os.wait()
            if pid not in self._children:
                continue
            role, began = self._children.pop(pid)
            code = os.waitstatus_to_exitcode(status)
            log.warning("replaced", extra={"role": role, "pid": pid, "code": code})
            if time.monotonic() - began < _SOON and code > 0:
                time.sleep(_PAUSE)
            self.begin(role)

    def end(self) -> None:
        """End all: the server first, so that it answers what it has taken."""
        for role in (SERVER, WORKER):
            self._send(signal.SIGTERM, role)
            patience = time.monotonic() + _ENDING
            while self._left(role) and time.monotonic() < patience:
                self._reap()
                time.sleep(0.01)
            self._send(signal.SIGKILL, role)
        while self._children:
            pid, _ = os.wait()
            self._children.pop(pid, None)

    def _left(self, role: str) -> list[int]:
        return [pid for pid, (its, _) in self._children.items() if its == role]

    def _send(self, number: int, role: str) -> None:
        for pid in self._left(role):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _reap(self) -> None:
        for pid in list(self._children):
            found, _ = os.waitpid(pid, os.WNOHANG)
            if found:
                del self._children[pid]


def _try(options: ServeOptions) -> None:
    """Find out now what the server would fail at."""
    if options.tokens is not None:
        Tokens.of(options.tokens)
    database = Database(options.store)
    database.make_tables()
    database.close()


@contextlib.contextmanager
def _listening(options: ServeOptions) -> Iterator[socket.socket]:
    """The socket of clients, bound and not yet open to them."""
    host = options.host.strip("[]")
    try:
        family = socket.getaddrinfo(host, options.port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sends small answers at once only where the protocol is said to be TCP
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise UsageError(f"host={options.host!r}: {error.strerror or error}") from None
    with found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, options.port))
        except OSError as error:
            raise UsageError(
                f"port={options.port}: cannot be listened on at {options.host} "
                f"({error.strerror}); give another one"
            ) from None
        yield found


@contextlib.contextmanager
def _rendezvous() -> Iterator[tuple[str, socket.socket]]:
    """Where workers find the server: a socket in a folder that nobody else may enter."""
    folder = tempfile.mkdtemp(prefix="lagco-serve-")
    address = str(Path(folder) / "workers")
    try:
        with socket.socket(socket.AF_UNIX) as found:
            found.bind(address)
            yield address, found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _only_one(options: ServeOptions) -> Iterator[None]:
    """Refuse a store in SQLite that another service writes to."""
    if str(options.store).startswith(POSTGRES):
        yield
        return
    path = Path(f"{options.store}.lock")
    try:
        stream = path.open("ab")
    except OSError as error:
        raise UsageError(f"store={options.store}: {error.strerror}") from None
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"store={options.store}: another lagco serve uses it; give another store"
            ) from None
        yield
