"""A service under test, in processes of its own, on a port that is free."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lagco.client import Client
from lagco.instances.native import instance_bytes
from lagco.problems.ospf import OSPF

NETWORK = OSPF.generate(8, seed=4)
FILE = ("network.npz", instance_bytes(NETWORK))
DAY = OSPF.draw_timeline(NETWORK, seed=1, until=1500.0, failures=0.3)
QUICK = ("--problems", "ospf", "--controllers", "hold,greedy,solver", "--workers", "1")
#: patience of clients on a busy machine, in seconds
PATIENCE = 120.0


def run_async(work):
    """What a coroutine function gives, in a thread: a browser under test has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


class Running:
    """`lagco serve`, until the block ends."""

    def __init__(self, folder, *words, port=0, **environment):
        self.folder = Path(folder)
        command = [sys.executable, "-m", "lagco", "serve", "--port", str(port), *QUICK, *words]
        self._log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **environment},
        )
        self.said = self.process.stdout.readline().strip()
        assert self.said.startswith("serving on "), self.said + (self.folder / "log").read_text()
        self.url = self.said.removeprefix("serving on ")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """End it as a service manager does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(ValueError):
            self.process.stdout.close()
        code = self.process.wait(PATIENCE)
        self._log.close()
        return code

    def client(self, token=None, **options):
        return Client(self.url, token, seconds=PATIENCE, **options)

    def raw(self, method, path, body=None, **headers):
        """Status, headers and content of an answer, without retries or keys."""
        address = self.url.removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def post(self, path, content=None, **headers):
        """Status and JSON of an answer."""
        body = None if content is None else json.dumps(content)
        status, _, text = self.raw("POST", path, body, Content_Type="application/json", **headers)
        return status, json.loads(text)

    def children(self):
        """Processes of the service by the first letter of their state."""
        found = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                name, _, rest = stat.read_text().rpartition(")")
                state, parent = rest.split()[:2]
                if int(parent) == self.process.pid:
                    found[int(name.split()[0])] = state
        return found

    def workers(self):
        """Those of them that decide, which are the ones with less priority."""
        own = os.getpriority(os.PRIO_PROCESS, self.process.pid)
        return [pid for pid in self.children() if os.getpriority(os.PRIO_PROCESS, pid) > own]

    def wait_until_ready(self):
        patience = time.monotonic() + PATIENCE
        while time.monotonic() < patience:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.raw("GET", "/readyz")[0] == 200:
                    return
            time.sleep(0.02)
        raise AssertionError("not ready")
