"""Files that were tampered with, sent to the service."""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.service.running import ROOT, Connections, Service
from lagco.client import Client, multipart
from lagco.instances.native import instance_bytes
from lagco.problems.ospf import OSPF

#: files of tests/data that the service reads
FILES = (
    "islands.txt",
    "islands.xml",
    "backbone.graphml",
    "loop.graph",
    "cluster.json",
    "cluster.csv",
)
#: what mutations put in
_TOKENS = (
    b"-1", b"1e308", b"nan", b"99999999999999999999", b"\0" * 64, b"\xff\xfe", b"<!ENTITY x 'y'>",
    b"{" * 200, b"\"" * 3, b"\r\n\r\n", b",,,,", b"PK\x03\x04", b"\x1f\x8b\x08",
)  # fmt: skip


def measure_hostile(requests: int, schemathesis: str | None) -> dict[str, Any]:
    """Mutated files, then requests that are drawn from the OpenAPI description."""
    found = measure_uploads(requests)
    if schemathesis is not None:
        with Service("--max-instances", "50") as service:
            found["schemathesis"] = described(service, schemathesis)
    return found


def described(service: Service, schemathesis: str) -> dict[str, Any]:
    """What schemathesis finds, with a live instance and a decision that it knows."""
    live = Client(service.url).create(("n.npz", instance_bytes(OSPF.generate(8, seed=1))))
    live.decide(by="greedy", turns=3)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "schemathesis.toml").write_text(
            f'[parameters]\nid = "{live.id}"\nnumber = 0\n'
        )
        command = [schemathesis, "run", f"{service.url}/openapi.json", "--max-examples", "100"]
        # what is valid by its form may still name no file, no controller and no node
        command += ["--generation-deterministic", "--exclude-checks", "positive_data_acceptance"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    cases = re.search(r"(\d+) generated, (.*)", done.stdout)
    assert cases is not None, done.stdout + done.stderr
    return {
        "cases": int(cases[1]),
        "outcome": cases[2].strip(),
    }


def measure_uploads(requests: int) -> dict[str, Any]:
    """Mutated files sent to the service: statuses, the slowest answer, memory, workers lost."""
    rng, statuses = random.Random(5), Counter[int]()
    contents = [(name, (ROOT / "tests" / "data" / name).read_bytes()) for name in FILES]
    contents.append(("small.npz", instance_bytes(OSPF.generate(8, seed=1))))
    slowest, memory = 0.0, []
    with Service("--problems", "ospf,traffic,placement", "--max-instances", "100000") as service:
        asyncio.run(_warm_files(service, contents))
        begun = service.figure("lagco_workers_begun")
        memory.append(service.memory_mib())

        async def send_all() -> None:
            nonlocal slowest
            connections = Connections(service)
            for _ in range(requests):
                name, content = rng.choice(contents)
                request = upload_request(service, name, mutated(content, rng), rng)
                status, took, _ = await connections.send(request)
                statuses[status] += 1
                slowest = max(slowest, took)

        asyncio.run(send_all())
        memory.append(service.memory_mib())
        lost = service.figure("lagco_workers_begun") - begun
    return {
        "uploads": requests,
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "slowest_ms": slowest,
        "memory_mib": memory,
        "workers_lost": lost,
    }


async def _warm_files(service: Service, contents: list[tuple[str, bytes]]) -> None:
    connections, rng = Connections(service), random.Random(1)
    for name, content in contents:
        await connections.send(upload_request(service, name, content, rng))


def upload_request(service: Service, name: str, content: bytes, rng: random.Random) -> bytes:
    """A file for a decision on what is not kept."""
    given: dict[str, Any] = {"by": "hold"}
    if rng.random() < 0.1:
        given["problem"] = rng.choice(("ospf", "traffic", "placement"))
    kind, body = multipart({"file": (name, content)}, given)
    return (
        f"POST /v1/decide HTTP/1.1\r\nHost: {service.host}:{service.port}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def mutated(content: bytes, rng: random.Random) -> bytes:
    """A file with some bytes changed, taken out, repeated, or put in from elsewhere."""
    found = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(found) + 1)
        length = rng.choice((1, 2, 4, 16, 64, 512))
        kind = rng.randrange(5)
        if kind == 0:
            found[place : place + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del found[place : place + length]
        elif kind == 2:
            found[place:place] = found[place : place + length] * rng.randint(1, 8)
        elif kind == 3:
            found[place:place] = rng.choice(_TOKENS)
        else:
            found = found[: max(1, place)]
    return bytes(found)
