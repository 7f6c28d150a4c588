"""A service in a folder of its own, and connections to it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = ("--problems", "ospf", "--controllers", "hold,greedy", "--workers", "1")


class Service:
    """`lagco serve` in a folder that is gone afterwards."""

    def __init__(self, *words: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lagco-bench-")
        self.store = Path(self._folder.name) / "store.db"
        command = [sys.executable, "-m", "lagco", "serve", "--port", "0", *OPTIONS, *words]
        log = (Path(self._folder.name) / "log").open("ab")
        command += ["--store", str(self.store)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip().removeprefix("serving on ")
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        self.host, self.port = host, int(port)

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> None:
        """End it as a service manager does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(60)

    def processes(self) -> dict[int, str]:
        """State of every child process."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = path.read_text().rpartition(")")
            except OSError:
                continue
            state, parent = rest.split()[:2]
            if int(parent) == self._process.pid:
                found[int(name.split()[0])] = state
        return found

    def memory_mib(self) -> float:
        """Memory of the processes that is theirs alone."""
        total = 0
        for pid in self.processes():
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean", "Private_Dirty")):
                    total += int(line.split()[1])
        return total / 1024

    def figure(self, name: str) -> float:
        """A figure of /metrics."""
        text = urllib.request.urlopen(f"{self.url}/metrics").read().decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def audit(self) -> str:
        """What the replay of the log says, once the service has ended."""
        command = [sys.executable, "-m", "lagco", "serve", "--audit", "--store", str(self.store)]
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()


class Connections:
    """Connections that are kept, as many as there are requests at the same time."""

    def __init__(self, service: Service) -> None:
        self._place = service.host, service.port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def send(self, request: bytes) -> tuple[int, float, bytes]:
        """Status of the answer, milliseconds until it was there, its content."""
        while True:
            fresh = not self._free
            pair = await asyncio.open_connection(*self._place) if fresh else self._free.pop()
            reader, writer = pair
            began = time.perf_counter()
            writer.write(request)
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                break
            except (asyncio.IncompleteReadError, ConnectionError):
                if fresh:
                    raise  # else it was closed for being idle
        status = int(head[9:12])
        length = next(
            int(line[16:])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        content = await reader.readexactly(length)
        took = 1000.0 * (time.perf_counter() - began)
        self._free.append((reader, writer))
        return status, took, content
