"""Jobs of a worker: what the server may ask, and what it answers."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lagco.core.events import Event
from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError
from lagco.instances.native import instance_bytes
from lagco.serve.options import ServeOptions
from lagco.serve.working.instance_state import InstanceState, Stale
from lagco.serve.working.picture import picture_of
from lagco.serve.working.uploads import instance_of, read_upload
from lagco.store import parse_json, shown
from lagco.store.text import compact_json

#: live instances that a worker keeps in memory; others are read from the store again
_KEPT = 256
#: events of a request
MOST_EVENTS = 1000

Content = dict[str, Any]
#: content and blobs of an answer
Answer = tuple[Content, Sequence[bytes]]


class Jobs:
    """Jobs of a worker on its live instances.

    Args:
        problems: classes of those that are served, by name.
        options: of the service.
        tell: sends the server a better objective while a decision is made.
    """

    def __init__(
        self,
        problems: Mapping[str, type[Problem]],
        options: ServeOptions,
        tell: Callable[[float], None],
    ) -> None:
        self._problems = problems
        self._options = options
        self._tell = tell
        self._states: OrderedDict[str, InstanceState] = OrderedDict()
        self._jobs: Mapping[str, Callable[[Content, Sequence[bytes]], Answer]] = {
            "create": self._create,
            "events": self._events,
            "decide": self._decide,
            "write": self._write,
            "look": self._look,
            "decide-once": self._decide_once,
            "close": self._close,
        }

    def do(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        """Do a job; what cannot be done is an ``error`` with its kind and a sentence."""
        try:
            opening = asked.pop("open", None)
            if opening is not None:
                self._open(asked["id"], opening["version"], blobs)
                blobs = ()
            return self._jobs[asked.pop("job")](asked, blobs)
        except Stale as error:
            return _error("conflict", str(error))
        except LagcoError as error:
            return _error("invalid", str(error))
        except MemoryError:
            self._states.clear()
            return _error("memory", "it needs more memory than a worker has")

    def _open(self, name: str, version: int, blobs: Sequence[bytes]) -> None:
        """Read a live instance, and let happen what happened since that version."""
        instance = instance_of(blobs[0])
        state = InstanceState(self._problems[instance.problem], instance, self._options.agent)
        state.version = version
        for entry in blobs[1:]:
            state.follow(parse_json(entry))
        self._keep(name, state)

    def _keep(self, name: str, state: InstanceState) -> None:
        self._states[name] = state
        self._states.move_to_end(name)
        while len(self._states) > _KEPT:
            self._states.popitem(last=False)

    def _state(self, asked: Content) -> InstanceState:
        """The live instance in the version that the server knows."""
        state = self._states.get(asked["id"])
        if state is None or state.version != asked["version"]:
            raise NotOpen
        self._states.move_to_end(asked["id"])
        return state

    def _create(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        cls, instance = read_upload(asked, blobs, self._problems, self._options)
        state = InstanceState(cls, instance, self._options.agent)
        about = {
            "problem": cls.name,
            "instance": instance.name,
            "size": instance.size,
            "maximise": bool(cls.maximise),
            "notes": [str(note) for note in instance.origin.get("notes", ())],
            **state.summary(),
        }
        self._keep(asked["id"], state)
        return about, [instance_bytes(instance)]

    def _events(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        state = self._state(asked)
        events = events_in(asked["text"])
        before = state.instance
        state.follow({"events": events})
        try:
            summary = state.summary()
        except LagcoError:
            state.instance, state.version = before, state.version - 1
            raise
        kinds = Counter(event["event"] for event in events)
        body = compact_json({"events": events}).encode()
        return {**summary, "events": dict(kinds)}, (body, *_snapshot(state, asked))

    def _decide(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        state = self._state(asked)
        found = state.decide(asked, self._tell)
        put_in_force = asked["confirm"] and bool(found["rows"])
        if put_in_force:
            state.follow({"rows": found["rows"]})
        return found, _snapshot(state, asked) if put_in_force else ()

    def _write(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        state = self._state(asked)
        state.check_rows(asked)
        state.follow({"rows": asked["rows"]})
        return state.summary(), _snapshot(state, asked)

    def _look(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        state = self._state(asked)
        cls, solution = state.cls, state.incumbent
        values = cls.elements(state.instance, solution)
        names = cls.element_names(state.instance)
        return {
            **state.summary(),
            "fullest": state.fullest(solution),
            "configuration": {
                name: cls.value_text(state.instance, element, values[element])
                for element, name in enumerate(names)
            },
            "picture": picture_of(state),
        }, ()

    def _decide_once(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        cls, instance = read_upload(asked, blobs, self._problems, self._options)
        state = InstanceState(cls, instance, self._options.agent)
        if asked["text"]:
            state.follow({"events": events_in(asked["text"])})
        found = state.decide(asked, self._tell)
        return {**found, "problem": cls.name, "instance": instance.name}, ()

    def _close(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        self._states.pop(asked["id"], None)
        return {}, ()


class NotOpen(Exception):
    """The worker does not have the live instance in the version that the server means."""


def _snapshot(state: InstanceState, asked: Content) -> Sequence[bytes]:
    return [instance_bytes(state.instance)] if asked.get("snapshot") else ()


def _error(kind: str, detail: str) -> Answer:
    return {"error": kind, "detail": detail}, ()


def events_in(text: str) -> list[dict[str, Any]]:
    """The events in the text of a request.

    Raises:
        InstanceError: it holds something else.
    """
    try:
        content = parse_json(text.encode())
    except ValueError as error:
        raise InstanceError(f"no JSON ({error})") from None
    events = content.get("events") if isinstance(content, dict) else None
    if not isinstance(events, list) or not 0 < len(events) <= MOST_EVENTS:
        raise InstanceError(f"give an object with events, a list of 1 to {MOST_EVENTS}")
    if set(content) != {"events"}:
        raise InstanceError("give nothing but events")
    for event in events:
        if not isinstance(event, dict):
            raise InstanceError(f"an event is {shown(event)}; give an object with event and fields")
        Event.of(event)
    return events
