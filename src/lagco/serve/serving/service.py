"""Live instances: requests become jobs of workers and entries of the log, in that order.

Nothing is acknowledged before it is in the store, and nothing is in the store that a worker has not
carried out on the same version of the instance.
"""

from __future__ import annotations

import json
import secrets
import time
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from lagco.serve.messages import Message
from lagco.serve.options import ServeOptions
from lagco.serve.serving.faults import Fault, busy, unavailable, unknown_instance
from lagco.serve.serving.live import Bucket, Live
from lagco.serve.serving.pool import Pool, Slot, Tell, WorkerLost
from lagco.serve.storing.journal import Journal
from lagco.serve.storing.store import Entry, addition, creation, deletion

#: versions after which an instance is kept as it is
_SNAPSHOT = 100
#: times that a job is given to a worker, if the one before ended
_TRIES = 3
#: bytes of an id
_ID = 9
#: kinds of errors of a worker, as statuses of HTTP
_STATUS = {"conflict": 409, "invalid": 422, "memory": 422}

Content = dict[str, Any]


class Service:
    """All live instances.

    Args:
        pool: the workers.
        journal: the store.
        options: limits.
    """

    def __init__(self, pool: Pool, journal: Journal, options: ServeOptions) -> None:
        self.pool = pool
        self.journal = journal
        self.options = options
        self.lives: dict[str, Live] = {}
        for known in journal.reader.instances():
            self._add(Live.known(known, self._slot(known.id)))

    # -- live instances

    def live(self, id: str) -> Live:
        """A live instance by its id."""
        found = self.lives.get(id)
        if found is None:
            raise unknown_instance()
        return found

    def full(self, path: str) -> Fault | None:
        """The refusal of what has no room, found out before anything else is done about it."""
        parts = path.split("/")  # "", v1, instances, id, events or decisions
        live = self.lives.get(parts[3]) if len(parts) == 5 else None
        if live is None:
            return None
        queue = live.slot.urgent if parts[4] == "decisions" else live.slot.others
        return busy(live.slot.expected(queue)) if queue.admitted >= self.options.queue else None

    async def create(self, asked: Content, blobs: Sequence[bytes], key: str | None) -> Live:
        """Make a live instance of the files of a request."""
        if key is not None:
            known = await self.journal.read(lambda reader: reader.named(key))
            if known in self.lives:
                return self.lives[known]
        if len(self.lives) >= self.options.max_instances:
            most = self.options.max_instances
            raise Fault(409, f"there are {most} live instances, as many as may be: delete one")
        id = secrets.token_urlsafe(_ID)
        slot = self._slot(id)
        worker = slot.worker
        with self.pool.place(slot):
            answer = await self.upload({**asked, "job": "create", "id": id}, blobs, slot)
        about, (content,) = answer.content, answer.blobs
        live = Live(id, time.time(), about, slot, objective=about["objective"], opened_by=worker)
        await self.journal.write(creation(id, live.created, about, content, key))
        self._add(live)
        return live

    async def delete(self, id: str) -> None:
        """Forget a live instance and its log."""
        live = self.live(id)
        async with live.lock:
            self.live(id)
            await self.journal.write(deletion(id))
            self.lives.pop(id)
            live.deleted = True

    async def upload(
        self, asked: Content, blobs: Sequence[bytes], slot: Slot, *, urgent: bool = False
    ) -> Message:
        """Let a worker read the files of a request, for which there is room."""
        until = time.monotonic() + self.options.max_seconds
        try:
            answer = await self.pool.run(slot, asked, blobs, until, urgent=urgent)
        except WorkerLost as lost:
            if lost.slow:
                raise Fault(422, f"took longer than {self.options.max_seconds:g} s") from None
            raise unavailable() from None
        return _checked(answer)

    # -- what happens to them

    async def events(self, id: str, text: str, key: str | None) -> Content:
        """Let events happen to a live instance, all of them or none."""
        live = self.live(id)
        known = await self.known_answer(live, "events", key)
        if known is not None:
            return known
        later = live.bucket.wait()
        if later > 0.0:
            raise busy(later)
        with self.pool.place(live.slot):
            async with self.held(live):
                asked = {"job": "events", "text": text, **self.snapshot_of(live)}
                message = await self.ask(live, asked)
                summary, (body, *snapshot) = message.content, message.blobs
                told = {"version": live.version + 1, **summary}
                entry = self.entry(live, "events", body.decode(), told, key, changes=True)
                await self.change(live, entry, snapshot)
        live.bucket.take(sum(summary["events"].values()))
        return told

    async def look(self, id: str) -> Content:
        """The present state of a live instance."""
        live = self.live(id)
        with self.pool.place(live.slot):
            async with self.held(live):
                message = await self.ask(live, {"job": "look"})
                return {"version": live.version, "entries": live.seq, **message.content}

    # -- for decisions

    async def ask(
        self,
        live: Live,
        asked: Content,
        until: float | None = None,
        tell: Tell = lambda objective: None,
        *,
        urgent: bool = False,
    ) -> Message:
        """Let the worker of a live instance do a job on its present version."""
        if until is None:
            until = time.monotonic() + self.options.max_seconds
        asked = {**asked, "id": live.id, "version": live.version}
        for _ in range(_TRIES):
            opening, blobs = await self._opening(live)
            try:
                answer = await self.pool.run(
                    live.slot, {**asked, **opening}, blobs, until, tell, urgent=urgent
                )
            except WorkerLost as lost:
                live.opened_by = 0
                if lost.slow:
                    raise unavailable() from None
                continue
            if answer.content.get("error") != "not-open":
                live.opened_by = live.slot.worker
                return _checked(answer)
            live.opened_by = 0
        raise unavailable()

    async def known_answer(self, live: Live, kind: str, key: str | None) -> Content | None:
        """What a client was told when it sent a request of a kind before."""
        if key is None:
            return None
        entry = await self.journal.read(lambda reader: reader.by_key(live.id, key))
        if entry is not None and entry.kind != kind:
            raise Fault(409, "the key belongs to another request: take a new one for each")
        return None if entry is None else entry.told

    async def add(self, live: Live, entry: Entry) -> None:
        """Write an entry that changes nothing."""
        await self.journal.write(addition(live.id, entry))

    async def change(self, live: Live, entry: Entry, snapshot: Sequence[bytes]) -> None:
        """Write an entry that a worker has carried out; the lock has to be held."""
        # a worker that is ahead of the log because this failed is noticed by its version
        await self.journal.write(addition(live.id, entry, snapshot[0] if snapshot else None))
        assert entry.version is not None
        live.version, live.objective = entry.version, entry.objective

    def entry(
        self,
        live: Live,
        kind: str,
        body: str,
        told: Content,
        key: str | None = None,
        *,
        number: int | None = None,
        changes: bool = False,
    ) -> Entry:
        """The next entry of a log; its objective is what the client is told of it."""
        live.seq += 1
        return Entry(
            seq=live.seq,
            version=live.version + 1 if changes else None,
            number=number,
            kind=kind,
            at=time.time(),
            objective=told.get("objective"),
            body=body,
            answer=json.dumps(told),
            key=key,
        )

    @asynccontextmanager
    async def held(self, live: Live) -> AsyncIterator[None]:
        """The lock of a live instance that is still there."""
        async with live.lock:
            if live.deleted:
                raise unknown_instance()
            yield

    def snapshot_of(self, live: Live) -> Content:
        """Whether the next version is one that is kept."""
        return {"snapshot": (live.version + 1) % _SNAPSHOT == 0}

    # -- own

    def _slot(self, id: str) -> Slot:
        slots = self.pool.slots
        return slots[zlib.crc32(id.encode()) % len(slots)]

    def _add(self, live: Live) -> None:
        live.bucket = Bucket(self.options.max_events)
        self.lives[live.id] = live

    async def _opening(self, live: Live) -> tuple[Content, Sequence[bytes]]:
        """What a worker needs to have the present version in memory; nothing where it has."""
        if live.opened_by and live.opened_by == live.slot.worker:
            return {}, ()
        version, content, bodies = await self.journal.read(lambda found: found.opening(live.id))
        return {"open": {"version": version}}, (content, *(body.encode() for body in bodies))


def _checked(answer: Message) -> Message:
    """An answer of a worker, or the fault that it tells of."""
    error = answer.content.get("error")
    if error is None:
        return answer
    raise Fault(_STATUS[error], answer.content["detail"])
