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
from lagco.serve.working.course import Course, Stale
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


class Desk:
    """All live instances of a worker.

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
        self._courses: OrderedDict[str, Course] = OrderedDict()
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
            self._courses.clear()
            return _error("memory", "it needs more memory than a worker has")

    def _open(self, name: str, version: int, blobs: Sequence[bytes]) -> None:
        """Read a live instance, and let happen what happened since that version."""
        instance = instance_of(blobs[0])
        course = Course(self._problems[instance.problem], instance, self._options.agent)
        course.version = version
        for entry in blobs[1:]:
            course.follow(parse_json(entry))
        self._keep(name, course)

    def _keep(self, name: str, course: Course) -> None:
        self._courses[name] = course
        self._courses.move_to_end(name)
        while len(self._courses) > _KEPT:
            self._courses.popitem(last=False)

    def _course(self, asked: Content) -> Course:
        """The live instance in the version that the server knows."""
        course = self._courses.get(asked["id"])
        if course is None or course.version != asked["version"]:
            raise NotOpen
        self._courses.move_to_end(asked["id"])
        return course

    def _create(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        cls, instance = read_upload(asked, blobs, self._problems, self._options)
        course = Course(cls, instance, self._options.agent)
        about = {
            "problem": cls.name,
            "instance": instance.name,
            "size": instance.size,
            "maximise": bool(cls.maximise),
            "notes": [str(note) for note in instance.origin.get("notes", ())],
            **course.summary(),
        }
        self._keep(asked["id"], course)
        return about, [instance_bytes(instance)]

    def _events(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        course = self._course(asked)
        events = events_in(asked["text"])
        before = course.instance
        course.follow({"events": events})
        try:
            summary = course.summary()
        except LagcoError:
            course.instance, course.version = before, course.version - 1
            raise
        kinds = Counter(event["event"] for event in events)
        body = compact_json({"events": events}).encode()
        return {**summary, "events": dict(kinds)}, (body, *_snapshot(course, asked))

    def _decide(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        course = self._course(asked)
        found = course.decide(asked, self._tell)
        put_in_force = asked["confirm"] and bool(found["rows"])
        if put_in_force:
            course.follow({"rows": found["rows"]})
        return found, _snapshot(course, asked) if put_in_force else ()

    def _write(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        course = self._course(asked)
        course.check_rows(asked)
        course.follow({"rows": asked["rows"]})
        return course.summary(), _snapshot(course, asked)

    def _look(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        course = self._course(asked)
        cls, solution = course.cls, course.incumbent
        values = cls.elements(course.instance, solution)
        names = cls.element_names(course.instance)
        return {
            **course.summary(),
            "fullest": course.fullest(solution),
            "configuration": {
                name: cls.value_text(course.instance, element, values[element])
                for element, name in enumerate(names)
            },
            "picture": picture_of(course),
        }, ()

    def _decide_once(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        cls, instance = read_upload(asked, blobs, self._problems, self._options)
        course = Course(cls, instance, self._options.agent)
        if asked["text"]:
            course.follow({"events": events_in(asked["text"])})
        found = course.decide(asked, self._tell)
        return {**found, "problem": cls.name, "instance": instance.name}, ()

    def _close(self, asked: Content, blobs: Sequence[bytes]) -> Answer:
        self._courses.pop(asked["id"], None)
        return {}, ()


class NotOpen(Exception):
    """The worker does not have the live instance in the version that the server means."""


def _snapshot(course: Course, asked: Content) -> Sequence[bytes]:
    return [instance_bytes(course.instance)] if asked.get("snapshot") else ()


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
