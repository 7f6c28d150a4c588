"""Kills of server and workers under load."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from typing import Any

from benchmarks.service.load import DEADLINE_MS, EVENTS, NODES
from benchmarks.service.running import Service
from lagco.client import Client
from lagco.errors import LagcoError
from lagco.instances.native import instance_bytes
from lagco.problems.ospf import OSPF

#: clients while processes are killed, and seconds between two kills
_CLIENTS, _BETWEEN_KILLS = 3, (0.4, 1.2)
#: seconds between two requests of a client
_PAUSE = 0.03


def measure_kills(seconds: int) -> dict[str, Any]:
    """Server or worker killed again and again, while clients ask and keep what they were told."""
    with Service() as service:
        clients = [_Client(service, number) for number in range(_CLIENTS)]
        kills = 0
        for client in clients:
            client.start()
        until = time.monotonic() + seconds
        rng = random.Random(3)
        while time.monotonic() < until:
            time.sleep(rng.uniform(*_BETWEEN_KILLS))
            alive = sorted(service.processes())
            if alive:
                victim = rng.choice(alive)
                kills += 1
                os.kill(victim, signal.SIGKILL)
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join()
        time.sleep(1.0)
        zombies = sum(state == "Z" for state in service.processes().values())
        lost = sum(client.lost() for client in clients)
        service.stop()
        audit = service.audit()
    return {
        "kills": kills,
        "requests": sum(len(client.told) for client in clients),
        "unanswered": sum(client.unanswered for client in clients),
        "lost": lost,
        "zombies": zombies,
        "audit": audit,
        "seconds": seconds,
    }


class _Client(threading.Thread):
    """A client that sends again what got no answer, and remembers every answer."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__()
        self.ended = threading.Event()
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.unanswered = 0
        self._client = Client(service.url, tries=100)
        network = OSPF.generate(NODES, seed=number)
        day = OSPF.draw_timeline(network, seed=number, until=300.0 * EVENTS)
        self._events = [moment.event.as_dict() for moment in day]
        self._live = self._client.create(("n.npz", instance_bytes(network)))

    def run(self) -> None:
        number = 0
        while not self.ended.is_set():
            number += 1
            try:
                event = self._events[number % len(self._events)]
                self.told.append(("events", self._live.tell(event)))
                limit = {"turns": 3} if number % 2 else {"deadline_ms": DEADLINE_MS}
                path, asked = f"/v1/instances/{self._live.id}/decisions", {"by": "greedy", **limit}
                told = self._client.ask("POST", path, {**asked, "confirm": number % 3 > 0})
                self.told.append(("decision", told))
            except LagcoError:
                self.unanswered += 1
            time.sleep(_PAUSE)

    def lost(self) -> int:
        """Answers that are not in the history, or stand there otherwise."""
        history, last = [], 0
        while page := self._live.history(last, 1000):
            history += page
            last = page[-1]["seq"]
        kept = [(entry["kind"], entry["answer"]) for entry in history]
        keys = {json.dumps(entry, sort_keys=True) for entry in kept}
        return sum(json.dumps(answer, sort_keys=True) not in keys for answer in self.told)
