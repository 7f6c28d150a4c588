"""Runner of a controller in a decision service."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import numpy as np

from lagco.client import Client, Decision, LiveInstance, ServiceError
from lagco.core.changes import incumbent_of
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.instances.native import instance_bytes
from lagco.live.contract import Update, followed
from lagco.live.runners import Reply

#: variable of the environment with the token of the service
TOKEN = "LAGCO_TOKEN"


class RemoteRunner:
    """A controller of a decision service, which is told what happens, and asked.

    Args:
        url: of the service.
        by: name of the controller there.
        cls: class of the problem.
        instance: at the beginning.
        limit: ``deadline_ms`` or ``turns`` of every decision.
    """

    def __init__(
        self, url: str, by: str, cls: type[Problem], instance: Instance, limit: dict[str, Any]
    ) -> None:
        self._cls, self._instance = cls, instance
        self._asked = {"by": by, **limit}
        client = Client(url, os.environ.get(TOKEN))
        self._live: LiveInstance = client.create(("instance.npz", instance_bytes(instance)))
        self._last: Decision | None = None

    def ask(self, update: Update) -> Reply:
        """Its decision, if the service gave one in time."""
        self._instance = followed(self._cls, self._instance, update)
        began = time.perf_counter()
        if self._last is not None and self._last.rows:
            if update.applied is None:
                self._live.reject(self._last)
            else:
                self._live.confirm(self._last, force=True)
        if update.events:
            self._live.tell(*(event.as_dict() for event in update.events))
        self._last = self._live.decide(seed=update.seed, round=update.number, **self._asked)
        seconds = time.perf_counter() - began
        return Reply(self._solution(self._last), seconds, self._last.late, self._last.refused)

    def close(self) -> None:
        """Let the service forget the instance."""
        with suppress(ServiceError):
            self._live.delete()

    def _solution(self, decision: Decision) -> Any:
        incumbent = incumbent_of(self._cls, self._instance)
        if not decision.rows or incumbent is None:
            return None
        found = np.array(incumbent)
        for row, value in decision.rows:
            found[row] = value
        return found
