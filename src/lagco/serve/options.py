"""Options of `serve`, declared once for the function and the command line."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lagco.errors import UsageError, suggest
from lagco.live.controllers import CONTROLLERS
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class ServeOptions:
    """How to serve decisions; what cannot be honoured is refused here, before any work.

    Attributes:
        host: address to listen on; any other than loopback needs tokens.
        port: to listen on; 0 for any that is free.
        names: further names by which clients call the server, separated by commas; on loopback
            others than localhost are refused.
        store: file of the live instances and their log, or a URL postgresql://….
        tokens: file of tokens, a line each: read or write, and the token; without, everybody who
            reaches the port may do everything.
        workers: processes that decide; by default one less than there are cores.
        problems: that are served, separated by commas; by default all of lagco's that can be
            decided on live. Others are module:Class.
        controllers: that may be asked, separated by commas.
        agent: folder of an agent for the controllers agent and portfolio; by default the one that
            comes with lagco.
        queue: requests that may wait for each worker; beyond it they are refused.
        max_upload: MiB that a request may have.
        max_nodes: nodes that an instance may have.
        max_size: decision variables (links, demands, machines, …) that an instance may have.
        max_instances: live instances at the same time.
        max_events: events per second that a live instance takes.
        max_seconds: seconds that a request may take, reading its files included.
        max_memory: MiB that a worker may use beyond what it has at the beginning.
        audit: replay the log of the store instead, and compare every decision.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    names: str | None = None
    store: str = "lagco-serve.db"
    tokens: str | Path | None = None
    workers: int | None = None
    problems: Any = None
    controllers: Any = "hold,greedy,solver,agent,portfolio"
    agent: Any = None
    queue: int = 16
    max_upload: float = 8.0
    max_nodes: int = 1000
    max_size: int = 20000
    max_instances: int = 1000
    max_events: float = 50.0
    max_seconds: float = 60.0
    max_memory: int = 2048
    audit: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise UsageError(f"port={self.port}: give a number from 0 to 65535")
        for name in ("queue", "max_nodes", "max_size", "max_instances", "max_memory"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: give 1 or more")
        for name in ("max_upload", "max_events", "max_seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name}={getattr(self, name)}: give a positive number")
        if self.workers is not None and self.workers < 1:
            raise UsageError(f"workers={self.workers}: give 1 or more")
        if self.tokens is None and not self.on_loopback:
            raise UsageError(
                f"host={self.host!r}: reached from other machines, so it needs tokens: give "
                "tokens=FILE with a line 'write TOKEN', or listen on 127.0.0.1"
            )
        for name in self.controller_names:
            if name not in CONTROLLERS:
                raise UsageError(suggest("controller", name, CONTROLLERS))

    @property
    def on_loopback(self) -> bool:
        """Whether this machine alone reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """Names by which it may be called; None for any, where tokens guard it."""
        more = tuple(_listed(self.names))
        return (*LOOPBACK_HOSTS, *more) if self.on_loopback else more or None

    @property
    def processes(self) -> int:
        """How many workers there are."""
        return self.workers or max(1, (os.cpu_count() or 2) - 1)

    @property
    def controller_names(self) -> list[str]:
        """The controllers one by one."""
        return _listed(self.controllers)

    @property
    def problem_names(self) -> list[str]:
        """The problems one by one, as instances name them."""
        if self.problems is None:
            return [name for name in ENTRIES if _is_live(name)]
        return [problem_class(name).name for name in _listed(self.problems)]

    @property
    def upload_bytes(self) -> int:
        """Bytes that a request may have."""
        return int(self.max_upload * (1 << 20))


def _listed(given: str | Sequence[str] | None) -> list[str]:
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return list(given or ())


def _is_live(name: str) -> bool:
    cls = problem_class(name)
    return cls.present is not None and bool(cls.events)
