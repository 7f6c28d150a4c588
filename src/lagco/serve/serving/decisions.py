"""Decisions: asked for, answered in time, and confirmed, rejected or taken back.

Whatever happens to the worker, a decision is answered: where nothing better has come in time, with
the configuration in force.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

from lagco.serve.messages import Message
from lagco.serve.serving.faults import Fault, unknown_instance
from lagco.serve.serving.live import Live
from lagco.serve.serving.pool import Tell, WorkerLost
from lagco.serve.serving.service import Content, Service
from lagco.serve.storing.store import Entry
from lagco.store.text import compact_json

#: seconds of a deadline that are kept for writing down and answering, and their largest share
_SPARE, _SPARE_SHARE = 0.006, 0.2
#: share of a deadline that may pass before a decision is begun
_WAITING = 0.5
#: what an answer has of the worker's findings, beside those that the log alone needs
_TOLD = (
    "before", "after", "changes", "rows", "refused", "fullest_before", "fullest_after", "unserved",
)  # fmt: skip
_LISTS = ("changes", "rows", "fullest_before", "fullest_after")
#: states from which a decision may be confirmed, rejected, taken back
_FROM = {"confirm": "proposed", "reject": "proposed", "undo": "confirmed"}
_INTO = {"confirm": "confirmed", "reject": "rejected", "undo": "undone"}


class Decisions:
    """Decisions of a service.

    Args:
        service: with the live instances.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def decide(
        self, id: str, asked: Content, key: str | None, tell: Tell = lambda objective: None
    ) -> Content:
        """Decide on a live instance, before the deadline.

        Args:
            id: of the live instance.
            asked: ``by``, ``deadline_ms`` or ``turns``, ``max_changes``, ``seed``, ``round`` and
                ``confirm``.
            key: by which the client recognises the request.
            tell: is told of better objectives meanwhile.
        """
        began = time.monotonic()
        service, live = self._service, self._service.live(id)
        known = await service.known_answer(live, "decision", key)
        if known is not None:
            return known
        until = self._until(asked, began)
        seconds = None if asked["turns"] is not None else _WAITING * (until - began)
        with service.pool.place(live.slot, seconds):
            number, live.decisions = live.decisions, live.decisions + 1
            if asked["round"] is None:
                asked = {**asked, "round": number}
            try:
                async with asyncio.timeout_at(until):
                    await live.lock.acquire()
            except TimeoutError:
                return await self._note(live, asked, number, None, key, began)
            try:
                if live.deleted:
                    raise unknown_instance()
                found = await self._found(live, asked, until, tell)
                return await self._note(live, asked, number, found, key, began)
            finally:
                live.lock.release()

    async def decide_once(self, asked: Content, blobs: Sequence[bytes]) -> Content:
        """Decide on an instance that is not kept."""
        began = time.monotonic()
        pool = self._service.pool
        slot = pool.quietest()
        until = self._until(asked, began)
        timed = asked["turns"] is None
        job = {**asked, "job": "decide-once", "until": until}
        with pool.place(slot, _WAITING * (until - began) if timed else None):
            try:
                async with asyncio.timeout_at(until):
                    answer = await self._service.upload(job, blobs, slot, urgent=timed)
            except TimeoutError:
                if timed:
                    return {**_nothing(None), "late": True, "milliseconds": _since(began)}
                raise Fault(422, "took longer than a request may") from None
        found = answer.content
        return {**_told(found), "late": False, "milliseconds": _since(began)}

    async def settle(self, id: str, number: int, what: str, force: bool, key: Any) -> Content:
        """Confirm, reject or take back a decision."""
        service, live = self._service, self._service.live(id)
        known = await service.known_answer(live, what, key)
        if known is not None:
            return known
        with service.pool.place(live.slot):
            async with service.held(live):
                decision, state = await self._state(live, number)
                if state != _FROM[what]:
                    raise Fault(409, f"the decision is {state}, not {_FROM[what]}")
                told: Content = {"decision": number, "state": _INTO[what]}
                if what == "reject":
                    told |= {"version": live.version, "objective": live.objective}
                    entry = service.entry(live, what, "{}", told, key, number=number)
                    await service.add(live, entry)
                    return told
                rows = {"rows": decision["rows"], "was": decision["was"]}
                if what == "undo":
                    rows = {"rows": decision["was"], "was": decision["rows"]}
                elements = decision["elements"]
                forced = force or what == "undo"
                job = {**rows, "elements": elements, "force": forced, "job": "write"}
                answer = await service.ask(live, {**job, **service.snapshot_of(live)})
                told |= {"version": live.version + 1, **answer.content}
                body = compact_json({"rows": rows["rows"]})
                entry = service.entry(live, what, body, told, key, number=number, changes=True)
                await service.change(live, entry, answer.blobs)
                return told

    async def decision(self, id: str, number: int) -> Content:
        """A decision as it was answered, and its present state."""
        live = self._service.live(id)
        entries = await self._about(live, number)
        return {**entries[0].told, "state": _state_of(entries)}

    async def _found(self, live: Live, asked: Content, until: float, tell: Tell) -> Message | None:
        """What a worker has found in time; None where nothing came."""
        job = {**asked, "job": "decide", "until": until, **self._service.snapshot_of(live)}
        try:
            async with asyncio.timeout_at(until):
                timed = asked["turns"] is None
                return await self._service.ask(live, job, until, tell, urgent=timed)
        except TimeoutError:
            return None
        except WorkerLost:
            return None
        except Fault as fault:
            if fault.status == 503:  # the configuration in force does until a worker is back
                return None
            raise

    async def _note(
        self,
        live: Live,
        asked: Content,
        number: int,
        found: Message | None,
        key: str | None,
        began: float,
    ) -> Content:
        """Write a decision down, and answer it."""
        content = _nothing(live.objective) if found is None else found.content
        confirmed = bool(asked["confirm"] and content["rows"])
        state = "confirmed" if confirmed else "proposed" if content["rows"] else "held"
        told = {
            "decision": number,
            "state": state,
            "by": asked["by"],
            **_told(content),
            "late": found is None,
            "version": live.version + confirmed,
            "objective": content["after"] if confirmed else content["before"],
            "milliseconds": _since(began),
        }
        body = {
            **asked,
            "based_on": live.version,
            "before": content["before"],
            "after": content["after"],
            **{name: content.get(name, []) for name in ("rows", "was")},
            "elements": content.get("elements", ""),
            "late": found is None,
        }
        text = compact_json(body)
        entry = self._service.entry(
            live, "decision", text, told, key, number=number, changes=confirmed
        )
        if confirmed:
            assert found is not None
            await self._service.change(live, entry, found.blobs)
        else:
            await self._service.add(live, entry)
        return told

    async def _state(self, live: Live, number: int) -> tuple[Content, str]:
        """The body of a decision, and its present state."""
        entries = await self._about(live, number)
        body: Content = json.loads(entries[0].body)
        return body, _state_of(entries)

    async def _about(self, live: Live, number: int) -> list[Entry]:
        entries = await self._service.journal.read(
            lambda reader: reader.about_decision(live.id, number)
        )
        if not entries:
            raise Fault(404, "there is no decision of that number")
        return entries

    def _until(self, asked: Content, began: float) -> float:
        """Moment at which the answer is given, if none has come by then."""
        if asked["turns"] is not None:
            return began + self._service.options.max_seconds
        deadline = asked["deadline_ms"] / 1000.0
        return began + deadline - min(_SPARE, _SPARE_SHARE * deadline)


def _state_of(entries: Sequence[Entry]) -> str:
    last = entries[-1]
    return last.told["state"] if last.kind == "decision" else _INTO[last.kind]


def _told(content: Content) -> Content:
    return {name: content[name] for name in _TOLD}


def _nothing(objective: float | None) -> Content:
    """Findings of nobody: the configuration in force."""
    found: Content = {name: [] for name in _LISTS}
    return found | {"before": objective, "after": objective, "refused": "", "unserved": None}


def _since(began: float) -> float:
    return round(1000.0 * (time.monotonic() - began), 3)
