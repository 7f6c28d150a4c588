"""Facts about live instances that the server has without asking a worker."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from lagco.serve.serving.pool import Slot
from lagco.serve.storing.store import StoredInstance


@dataclass(eq=False)
class Live:
    """A live instance.

    Attributes:
        id: by which clients name it.
        created: seconds since 1970.
        about: what was found in its files.
        slot: of the worker that has it in memory.
        seq: of the last entry of its log.
        version: after the last entry that changed it.
        decisions: number of decisions so far.
        objective: the last that is known.
        opened_by: number of the worker that has this version in memory; 0 where none has.
        lock: held while it is changed or decided on.
        deleted: whether it is gone.
        bucket: limit to the rate of events.
    """

    id: str
    created: float
    about: dict[str, Any]
    slot: Slot
    seq: int = 0
    version: int = 0
    decisions: int = 0
    objective: float | None = None
    opened_by: int = 0
    deleted: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    bucket: Bucket = field(default_factory=lambda: Bucket(0.0))

    @classmethod
    def known(cls, known: StoredInstance, slot: Slot) -> Live:
        """A live instance from the store."""
        return cls(
            known.id,
            known.created,
            known.about,
            slot,
            known.seq,
            known.version,
            known.decisions,
            known.about["objective"] if known.version == 0 else known.objective,
        )


class Bucket:
    """A limit to a rate: tokens that come back with time.

    Args:
        rate: tokens per second; there may be twice as many.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._most = max(1.0, 2.0 * rate)
        self._tokens = self._most
        self._looked = time.monotonic()

    def wait(self) -> float:
        """Seconds until there is a token; 0 where there is one."""
        now = time.monotonic()
        self._tokens = min(self._most, self._tokens + self._rate * (now - self._looked))
        self._looked = now
        return 0.0 if self._tokens > 0.0 else (1.0 - self._tokens) / self._rate

    def take(self, count: int) -> None:
        """Take tokens, which may leave a debt."""
        self._tokens -= count
