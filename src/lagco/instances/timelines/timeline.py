"""Timelines: an instance and events with times, read when they are reached.

The file is JSON lines: a header with format, version, problem, and the file of the instance, then
an event per line with its ``time`` in seconds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from lagco.errors import InstanceError
from lagco.instances.formats import read
from lagco.instances.formats.source import open_file
from lagco.instances.instance import Instance
from lagco.instances.native import write_instance
from lagco.instances.timelines.event import TIME, Event
from lagco.problem_table import ENTRIES
from lagco.results.described import SelfDescribing
from lagco.store import Mismatch, Schema, check, parse_json, shown, write_atomically

FORMAT, VERSION = "lagco-timeline", 1
SUFFIX = ".jsonl"
#: longest line of a file, in bytes
_LONGEST_LINE = 64 << 20
_HEADER: Schema = {
    "type": "object",
    "required": ["format", "version", "problem"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": FORMAT},
        "version": {"const": VERSION},
        "problem": {"type": "string", "maxLength": 500},
        "instance": {"type": "string", "minLength": 1, "maxLength": 500},
        "origin": {"type": "object"},
    },
}


class Moment(NamedTuple):
    """An event of a timeline.

    Attributes:
        time: seconds since the timeline began; never less than that of the one before.
        event: what happens.
        where: file and line, or member of an archive, for messages; empty without.
    """

    time: float
    event: Event
    where: str = ""


class ChecksEvents(Protocol):
    """A problem, as readers of timelines ask it."""

    name: str

    def check_event(self, event: Event) -> object:
        """Raise an :class:`InstanceError` where the problem declares no such event."""


@dataclass(eq=False, repr=False)
class Timeline(SelfDescribing):
    """An instance and events with times; iterating reads them, from the first every time.

    Attributes:
        problem: name of the problem.
        instance: what there is at the beginning.
        events: gives the moments, in the order of time.
        name: what people call it.
        origin: where it comes from (file, or generator and seed).
        notes: what readers left out or filled in; complete once all was read.
    """

    problem: str
    instance: Instance
    events: Callable[[], Iterator[Moment]]
    name: str = ""
    origin: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Moment]:
        last = None
        self.notes.clear()
        for moment in self.events():
            if last is not None and moment.time < last:
                where = f"{moment.where}: " if moment.where else ""
                raise InstanceError(
                    f"{where}time runs backwards, from {last:g} to {moment.time:g}: put the events "
                    "in the order of time"
                )
            last = moment.time
            yield moment

    def facts(self) -> dict[str, object]:
        """Problem, instance, and where it comes from."""
        found: dict[str, object] = {"problem": self.problem, "instance": self.instance.name}
        return found | ({"generator": self.origin["generator"]} if self.is_synthetic else {})

    @property
    def is_synthetic(self) -> bool:
        """Whether a generator made it."""
        return "generator" in self.origin

    @classmethod
    def of(
        cls,
        instance: Instance,
        moments: Iterable[tuple[float, Event]],
        name: str = "",
        **origin: Any,
    ) -> Timeline:
        """A timeline of events that are in memory."""
        kept = [Moment(float(time), event) for time, event in moments]
        return cls(instance.problem, instance, lambda: iter(kept), name or instance.name, origin)


def write_timeline(timeline: Timeline, path: str | Path) -> None:
    """Write a timeline to ``….jsonl``, and its instance beside it as ``….npz``."""
    path = Path(path)
    beside = path.with_suffix(".npz")
    write_instance(timeline.instance, beside)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "problem": timeline.problem,
        "instance": beside.name,
        "origin": timeline.origin,
    }
    write_atomically(path, (line for line in _lines(header, timeline)))


def _lines(header: dict[str, Any], timeline: Timeline) -> Iterator[bytes]:
    yield _line(header)
    for moment in timeline:
        yield _line({TIME: moment.time, **moment.event.as_dict()})


def _line(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_timeline(
    path: str | Path,
    problem: ChecksEvents | None = None,
    instance: Instance | None = None,
) -> Timeline:
    """Read a timeline; its events are read and checked when they are reached.

    Args:
        path: the file.
        problem: class of the problem, which a file only names; without, one of lagco's.
        instance: what there is at the beginning, instead of the file's own.

    Raises:
        InstanceError: names the file, the line and the reason; of a wrong event when it is reached.
    """
    path = Path(path)
    with open_file(path) as stream:
        first = stream.readline(_LONGEST_LINE)
    header = _parsed(path, 1, first)
    try:
        check(header, _HEADER)
    except Mismatch as error:
        raise InstanceError(f"{path}, line 1: {error}; a timeline begins with a header") from None
    name = header["problem"]
    if problem is None:
        if name not in ENTRIES:
            raise InstanceError(
                f"{path}: for the problem {name!r}, which is not one of lagco's; say which class "
                "it is with problem="
            )
        problem = ENTRIES[name].load()
    assert problem is not None
    if problem.name != name:
        raise InstanceError(f"{path}: a timeline of {name!r}, not of {problem.name!r}")
    if instance is None:
        if "instance" not in header:
            raise InstanceError(f"{path}: names no instance; give one, such as instance=")
        given = Path(header["instance"])
        if given.is_absolute() or ".." in given.parts:
            raise InstanceError(
                f"{path}: names the instance {shown(header['instance'])}; it has to lie beside it"
            )
        instance = read(path.parent / given, name)
    asked = problem
    return Timeline(
        name,
        instance,
        lambda: _moments(path, asked),
        path.stem,
        dict(header.get("origin", {})) | {"file": path.name},
    )


def _moments(path: Path, problem: ChecksEvents) -> Iterator[Moment]:
    with open_file(path) as stream:
        stream.readline(_LONGEST_LINE)
        number = 1
        while line := stream.readline(_LONGEST_LINE):
            number += 1
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            content = _parsed(path, number, line)
            time = content.get(TIME) if isinstance(content, dict) else None
            if not isinstance(time, int | float) or isinstance(time, bool):
                raise InstanceError(
                    f"{where}: time is {shown(time)}; give the seconds since the timeline began"
                )
            try:
                event = Event.of(content)
                problem.check_event(event)
            except InstanceError as error:
                raise InstanceError(f"{where}: {error}") from None
            yield Moment(float(time), event, where)


def _parsed(path: Path, number: int, line: bytes) -> Any:
    if len(line) >= _LONGEST_LINE:
        raise InstanceError(f"{path}, line {number}: longer than {_LONGEST_LINE >> 20} MiB")
    try:
        return parse_json(line)
    except ValueError as error:
        raise InstanceError(
            f"{path}, line {number}: broken, no JSON ({error}); mend or remove the line"
        ) from None
