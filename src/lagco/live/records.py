"""Records of a replay: a line per decision, so that one that was stopped goes on where it was.

``run.json`` says what is replayed, ``records.jsonl`` what came of every decision, and
``times.jsonl`` how long it took: with turns instead of seconds the first two are the same on every
machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import LagcoError, UsageError
from lagco.store import Kind, object_of, parse_json

RUN, RECORDS, TIMES = "run.json", "records.jsonl", "times.jsonl"
#: what was left out of the timeline, or filled in: a line each
NOTES = "notes.txt"
SETTINGS = Kind(
    format="lagco-live",
    version=1,
    noun="a replay",
    remedy="replay it again in another folder",
    schema=object_of(settings={"type": "object"}),
    description=RUN,
)


@dataclass(frozen=True)
class Record:
    """What came of one decision.

    Attributes:
        round: its number, from 0 on.
        time: of the events before it, in seconds since the timeline began.
        by: whose it was.
        before: objective after these events and before the decision.
        after: objective after it.
        changes: number of elements that were changed.
        rows: rows of the configuration that were written, with their values.
        unserved: share of what is demanded that could not be served.
        overloads: links, hosts, … that were filled beyond what they have, after the decision.
        late: whether there was no answer in time.
        refused: why an answer was not put in force; empty where it was, or there was none.
    """

    round: int
    time: float
    by: str
    before: float
    after: float
    changes: int = 0
    rows: tuple[tuple[int, Any], ...] = ()
    unserved: float = 0.0
    overloads: int = 0
    late: bool = False
    refused: str = ""

    def apply_to(self, incumbent: Array) -> Array:
        """The configuration that was put in force."""
        found = np.array(incumbent)
        for row, value in self.rows:
            found[row] = value
        return found


def written_rows(incumbent: Array, solution: Array) -> tuple[tuple[int, Any], ...]:
    """Rows of a configuration that differ from the one before, with their values."""
    differs = incumbent != solution
    rows = np.flatnonzero(differs if differs.ndim == 1 else differs.any(axis=1))
    return tuple((row, solution[row].tolist()) for row in rows.tolist())


class Log:
    """The records of one replay, in a folder or only in memory.

    Args:
        folder: where they are kept; None for memory.
        settings: of the replay.

    Raises:
        UsageError: the folder holds a replay with other settings.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any]) -> None:
        self._folder = folder
        self.records: list[Record] = []
        self.seconds: dict[tuple[int, str], float] = {}
        self._streams: list[Any] = []
        if folder is None:
            return
        if (folder / RUN).exists():
            known = SETTINGS.read(folder).content["settings"]
            _refuse_others(folder, known, json.loads(json.dumps(settings)))
            self._read(folder)
        else:
            SETTINGS.write(folder, {"settings": dict(settings)})
        self._streams = [(folder / name).open("ab") for name in (RECORDS, TIMES)]

    def known(self) -> dict[tuple[int, str], Record]:
        """The records there are, by round and controller."""
        return {(record.round, record.by): record for record in self.records}

    def add(self, record: Record, seconds: float) -> None:
        """Keep a record, and the time that its decision took."""
        self.records.append(record)
        self.seconds[record.round, record.by] = seconds
        if self._streams:
            took = {"round": record.round, "by": record.by, "seconds": seconds}
            for stream, content in zip(self._streams, (asdict(record), took), strict=True):
                stream.write((json.dumps(content) + "\n").encode())
                stream.flush()

    def close(self) -> None:
        """End writing, once all is on disk."""
        for stream in self._streams:
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
        self._streams = []

    def _read(self, folder: Path) -> None:
        """Read what is there; a last line that was cut off when the replay was stopped goes."""
        for content in _whole_lines(folder / RECORDS):
            rows = tuple((int(row), value) for row, value in content.pop("rows"))
            self.records.append(Record(**content, rows=rows))
        for content in _whole_lines(folder / TIMES):
            self.seconds[content["round"], content["by"]] = content["seconds"]


def read_records(folder: str | Path) -> tuple[dict[str, Any], Log]:
    """Settings and records of a replay in a folder."""
    folder = Path(folder)
    settings: dict[str, Any] = SETTINGS.read(folder).content["settings"]
    log = Log(None, settings)
    log._read(folder)
    return settings, log


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    for number, line in enumerate(content[:end].splitlines(), start=1):
        try:
            yield parse_json(line)
        except ValueError as error:
            raise LagcoError(f"{path}, line {number}: damaged ({error})") from None
    if end < len(content):
        with path.open("rb+") as stream:
            stream.truncate(end)


def _refuse_others(folder: Path, known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    for name in sorted(known.keys() | given.keys()):
        if known.get(name) != given.get(name):
            raise UsageError(
                f"out={folder}: holds a replay with {name}={known.get(name)!r}, not "
                f"{given.get(name)!r}; give another folder, or the same settings to go on"
            )
