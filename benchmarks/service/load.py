"""Load: what saturates the service, half of that, and four times as much."""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.service.running import Connections, Service
from lagco.client import Client
from lagco.instances.native import instance_bytes
from lagco.problems.ospf import OSPF

#: live instances, nodes of each (as GEANT has), events that are drawn for each
INSTANCES, NODES, EVENTS = 100, 22, 8
DEADLINE_MS, MAX_CHANGES = 50.0, 3
#: milliseconds beyond the deadline that an answer may take where there is too much to do
SPARE_MS = 20.0
#: times the load of saturation, milliseconds between the requests of a connection meanwhile, and
#: decisions per second that a client asks for to see what becomes of them
_TIMES, _DELAY_MS, _PROBES = 4, 200, 20.0
#: times that its memory is looked at meanwhile
_LOOKS = 20


class Load:
    """Live instances of GEANT's size and what happens to them.

    Args:
        service: that has them.
    """

    def __init__(self, service: Service) -> None:
        client = Client(service.url)
        self.host = f"{service.host}:{service.port}"
        self.events: list[bytes] = []
        network = OSPF.generate(NODES, seed=1)
        for moment in OSPF.draw_timeline(network, seed=1, until=300.0 * EVENTS):
            self.events.append(json.dumps({"events": [moment.event.as_dict()]}).encode())
        content = instance_bytes(network)
        self.ids = [client.create(("n.npz", content)).id for _ in range(INSTANCES)]
        asked = {"by": "greedy", "deadline_ms": DEADLINE_MS, "max_changes": MAX_CHANGES}
        self.decision = json.dumps({**asked, "confirm": True}).encode()

    def request(self, path: str, body: bytes) -> bytes:
        """A request as it goes over the wire."""
        return (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body

    def event(self, rng: random.Random) -> bytes:
        """A matrix for one of the instances."""
        return self.request(f"/v1/instances/{rng.choice(self.ids)}/events", rng.choice(self.events))

    def asks(self, rng: random.Random) -> bytes:
        """A question for a decision on one of them."""
        return self.request(f"/v1/instances/{rng.choice(self.ids)}/decisions", self.decision)


async def at_rate(service: Service, load: Load, rate: float, seconds: float) -> dict[str, Any]:
    """Events and decisions at a rate that does not wait for answers: half of each."""
    connections, rng = Connections(service), random.Random(7)
    decisions: list[tuple[int, float, bool]] = []
    others: Counter[int] = Counter()

    async def one(asks: bool) -> None:
        request = load.asks(rng) if asks else load.event(rng)
        status, took, content = await connections.send(request)
        if asks:
            decisions.append((status, took, status == 200 and b'"late":true' in content))
        else:
            others[status] += 1

    began = time.perf_counter()
    before = _figures(service)
    tasks = []
    for number in range(int(2 * rate * seconds)):
        pause = began + number / (2 * rate) - time.perf_counter()
        if pause > 0:
            await asyncio.sleep(pause)
        tasks.append(asyncio.ensure_future(one(number % 2 == 0)))
    await asyncio.gather(*tasks)
    wall = time.perf_counter() - began
    events = {str(status): count for status, count in sorted(others.items())}
    about = {"asked_per_second": rate, "events": events, "seconds": wall}
    return summary(decisions) | about | _shares(before, service, wall)


def summary(decisions: list[tuple[int, float, bool]]) -> dict[str, Any]:
    """Answers by status, and how long the decisions among them took."""
    took = np.array([ms for status, ms, _ in decisions if status == 200])
    every = np.array([ms for _, ms, _ in decisions])
    return {
        "statuses": {
            str(status): count
            for status, count in sorted(Counter(status for status, _, _ in decisions).items())
        },
        "answers": len(took),
        "held_as_late": sum(late for _, _, late in decisions),
        "median_ms": float(np.median(took)),
        "p99_ms": float(np.percentile(took, 99.0)),
        "slowest_ms": float(every.max()),
        "within_deadline": float((took <= DEADLINE_MS).mean()),
        "beyond_spare": int((every > DEADLINE_MS + SPARE_MS).sum()),
    }


def wrk_script(load: Load, delay_ms: int) -> str:
    """A script by which wrk asks for events and decisions in turn."""
    bodies = ",".join(json.dumps(body.decode()) for body in load.events)
    ids = ",".join(f'"{id}"' for id in load.ids)
    return f"""
local ids, bodies = {{{ids}}}, {{{bodies}}}
local asked, n = {json.dumps(load.decision.decode())}, 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function delay() return math.random(0, {2 * delay_ms}) end
function request()
  n = n + 1
  local path = "/v1/instances/" .. ids[math.random(#ids)]
  if n % 2 == 0 then return wrk.format(nil, path .. "/decisions", nil, asked) end
  return wrk.format(nil, path .. "/events", nil, bodies[math.random(#bodies)])
end
"""


def begin_wrk(
    service: Service, load: Load, connections: int, seconds: int, delay_ms: int = 0
) -> subprocess.Popen[str]:
    """Let wrk ask over so many connections, each again at random within twice a delay."""
    script = Path(tempfile.mkdtemp(prefix="lagco-wrk-")) / "ask.lua"
    script.write_text(wrk_script(load, delay_ms))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    return subprocess.Popen([*command, service.url], stdout=subprocess.PIPE, text=True)


def read_wrk(said: str) -> dict[str, Any]:
    """Requests per second and latencies, in milliseconds, that wrk tells."""
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    found: dict[str, Any] = {"requests_per_second": float(_after(said, r"Requests/sec:\s+(\S+)"))}
    for name, pattern in (
        ("median_ms", r"50%\s+([0-9.]+)(\w+)"),
        ("p99_ms", r"99%\s+([0-9.]+)(\w+)"),
        ("slowest_ms", r"Latency\s+\S+\s+\S+\s+([0-9.]+)(\w+)"),
    ):
        match = re.search(pattern, said)
        assert match is not None, said
        found[name] = float(match[1]) * units[match[2]]
    found["requests"] = int(_after(said, r"(\d+) requests in"))
    other = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    found["refused"] = int(other[1]) if other else 0
    return found


def _after(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]


def saturated(service: Service, load: Load, seconds: int) -> dict[str, Any]:
    """What gets answered where four connections ask again at once."""
    before, began = _figures(service), time.perf_counter()
    decisions = service.figure("lagco_decisions_total")
    said, _ = begin_wrk(service, load, 4, seconds).communicate()
    wall = time.perf_counter() - began
    decided = service.figure("lagco_decisions_total") - decisions
    return {
        "decisions_per_second": decided / wall,
        **_shares(before, service, wall),
        "wrk": read_wrk(said),
    }


def overloaded(service: Service, load: Load, most: float, seconds: int) -> dict[str, Any]:
    """Four times the load of saturation by wrk, and a client that looks what becomes of it."""
    wanted = 2 * _TIMES * most  # events and decisions
    connections = max(8, round(wanted * _DELAY_MS / 1000.0))
    memory, before, began = [service.memory_mib()], _figures(service), time.perf_counter()
    storm = begin_wrk(service, load, connections, seconds, _DELAY_MS)
    over = threading.Event()

    def look() -> None:
        while not over.wait(seconds / _LOOKS):
            memory.append(service.memory_mib())

    looking = threading.Thread(target=look)
    looking.start()
    found = asyncio.run(at_rate(service, load, _PROBES, seconds - 2.0))
    over.set()
    said, _ = storm.communicate()
    wall = time.perf_counter() - began
    looking.join()
    shares = _shares(before, service, wall)
    return found | shares | {"wrk": read_wrk(said), "memory_mib": memory}


def _figures(service: Service) -> tuple[float, float]:
    return service.figure("process_cpu_seconds_total"), service.figure("lagco_worker_seconds")


def _shares(before: tuple[float, float], service: Service, wall: float) -> dict[str, float]:
    """Processor time of the server, and time that the worker worked, per second."""
    server, worker = (b - a for a, b in zip(before, _figures(service), strict=True))
    return {"server_share_of_a_core": server / wall, "worker_share_of_time": worker / wall}


def measure_load(seconds: int) -> dict[str, Any]:
    """Saturation, half of it, and four times as much."""
    with Service() as service:
        load = Load(service)
        asyncio.run(at_rate(service, load, 10.0, 4.0))  # everything in memory
        found: dict[str, Any] = {"saturated": saturated(service, load, seconds // 6)}
        most = found["saturated"]["decisions_per_second"]
        found["half"] = asyncio.run(at_rate(service, load, most / 2, 0.4 * seconds))
        found["four times"] = overloaded(service, load, most, seconds)
    return found
