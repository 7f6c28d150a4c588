"""The ledger: one JSON file per finished task, and the folders that tasks write."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from lagco.errors import LagcoError
from lagco.instances import DataSet
from lagco.store import COUNT, SHA256, TEXT, Kind, Schema, array_of, canonical_json, object_of
from lagco.study.running.claims import Claims, locked
from lagco.study.task import Task, file_name, slot
from lagco.study.tasks import KINDS

_REMEDY = "remove the file and give the command again to compute it anew"
_OBJECT: Schema = {"type": "object"}
RECORD = Kind(
    format="lagco-record",
    version=3,
    noun="a record of a study",
    remedy=_REMEDY,
    indented=False,
    schema=object_of(
        kind=TEXT,
        name=TEXT,
        key=SHA256,
        revision={"type": "integer", "minimum": 1},
        spec=_OBJECT,
        result=_OBJECT,
        environment=_OBJECT,
    ),
)
#: failure of a task the last time
FAILURE = Kind(
    format="lagco-failure",
    version=1,
    noun="the failure of a task",
    remedy="remove the file",
    schema=object_of(kind=TEXT, name=TEXT, key=SHA256, error=TEXT, traceback=TEXT, attempts=COUNT),
)
#: settings with which a study was last started
NOTE = Kind(
    format="lagco-study",
    version=2,
    noun="the settings of a study",
    remedy="give the options with which the study was started",
    schema=object_of(
        study=TEXT,
        settings={
            "type": "object",
            "required": ["problems"],
            "properties": {"problems": array_of(TEXT)},
        },
    ),
)
#: folders of what tasks make, by kind
FOLDERS = {
    "data": "data",
    "encoder": "encoders",
    "run": "agents",
    "training": "agents",
    "trial": "trials",
}
#: kinds whose folder other tasks read: without it they are done again
READ_BY_OTHERS = ("data", "encoder")
_PACKAGES = ("lagco", "torch", "stable-baselines3", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Record:
    """A finished task.

    Attributes:
        kind: what was done.
        name: for people.
        key: SHA-256 of kind and specification.
        revision: 1 for the first record of what was asked for, and one more for every later one
            under other code, data or encoder; the largest counts.
        spec: everything that determined the outcome.
        result: the outcome.
        environment: versions of what it was computed with.
        measured: times and where they were taken; no part of the ledger's identity.
    """

    kind: str
    name: str
    key: str
    revision: int
    spec: Mapping[str, Any]
    result: Mapping[str, Any]
    environment: Mapping[str, Any]
    measured: Mapping[str, Any]

    def content(self) -> dict[str, Any]:
        """Everything but the measurements."""
        return {
            "kind": self.kind,
            "name": self.name,
            "key": self.key,
            "revision": self.revision,
            "spec": dict(self.spec),
            "result": dict(self.result),
            "environment": dict(self.environment),
        }


class Ledger:
    """The folder of a study.

    Reading it never runs code and needs no problem class.

    Args:
        folder: made when something is written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.root = Path(os.path.realpath(folder))  # of links in a circle, too
        self.claims = Claims(self.root / "claims")

    # -- reading

    def records(self, kind: str | None = None, *, superseded: bool = False) -> list[Record]:
        """All records, or those of a kind, sorted by name.

        Args:
            kind: ``run``, ``policy``, ``latency``, …
            superseded: also those for which there is one of a later revision.
        """
        found = sorted(
            self._stored(kind), key=lambda record: (record.kind, record.name, record.key)
        )
        if superseded:
            return found
        latest: dict[str, Record] = {}
        for record in sorted(found, key=lambda record: (record.revision, record.key)):
            latest[slot(record.kind, record.spec)] = record
        kept = {record.key for record in latest.values()}
        return [record for record in found if record.key in kept]

    def _stored(self, kind: str | None) -> list[Record]:
        """Records of a kind, or all, whether superseded or not."""
        pattern = f"{kind or '*'}/*.json"
        return [self._read(path) for path in sorted((self.root / "records").glob(pattern))]

    def get(self, task: Task) -> Record | None:
        """The record of a task, None if it is not done."""
        path = self._path("records", task.kind, task.file_name)
        return self._read(path) if path.exists() else None

    def has(self, task: Task) -> bool:
        """Whether a task is done, and the folder that other tasks read is there."""
        made = task.kind not in READ_BY_OTHERS or self.folder(task).exists()
        return made and self._path("records", task.kind, task.file_name).exists()

    def find(self, kind: str, key: str | None) -> Record:
        """The record with that key."""
        if key is None:
            raise LagcoError(f"{self.root}: no key is given, so there is no {kind} to find")
        for path in (self.root / "records" / kind).glob(f"*-{key[:16]}.json"):
            return self._read(path)
        raise LagcoError(f"{self.root}: there is no record of the {kind} {key[:16]}")

    def folder(self, what: Task | Record) -> Path:
        """Folder that a task writes."""
        if what.kind not in FOLDERS:
            raise LagcoError(f"{what.kind} {what.name} makes nothing that is kept in a folder")
        return self.root / FOLDERS[what.kind] / file_name(what.name, what.key)

    def data(self, what: Task | Record) -> DataSet:
        """The data set that a task or record uses."""
        key = what.key if what.kind == "data" else str(what.spec["data"])
        found = DataSet.load(self.folder(self.find("data", key)))
        wanted = what.spec.get("data_checksum", found.checksum)
        if found.checksum != wanted:
            raise LagcoError(
                f"{found.folder}: checksum {found.checksum[:12]}…, {what.name} was planned for "
                f"{str(wanted)[:12]}…; restore the data or use another folder"
            )
        return found

    def failure(self, task: Task) -> dict[str, Any] | None:
        """Failure of a task the last time, with error and traceback; None if there was none."""
        return _read_failure(self._path("failures", task.kind, task.file_name))

    def failures(self) -> list[dict[str, Any]]:
        """Failures of tasks that were not done since, by kind and name."""
        paths = sorted((self.root / "failures").glob("*/*.json"))
        found = [content for path in paths if (content := _read_failure(path)) is not None]
        return sorted(found, key=lambda f: (str(f.get("kind")), str(f.get("name"))))

    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings with which studies were last started here, by study."""
        found: dict[str, dict[str, Any]] = {}
        for path in sorted((self.root / "studies").glob("*.json")):
            with contextlib.suppress(LagcoError):
                found[path.stem] = self.read_settings(path.stem)
        return found

    def read_settings(self, study: str) -> dict[str, Any]:
        """Settings with which a study was last started here."""
        path = self.root / "studies" / f"{study}.json"
        if not path.exists():
            raise LagcoError(f"{self.root}: no {study} study was started here")
        settings: dict[str, Any] = NOTE.read_file(path).content["settings"]
        return settings

    def contents(self) -> dict[str, str]:
        """Key to canonical text of every record, without measurements."""
        records = self.records(superseded=True)
        return {record.key: canonical_json(record.content()) for record in records}

    def equals(self, other: Ledger) -> bool:
        """Whether both hold the same records, measurements apart."""
        return self.contents() == other.contents()

    # -- writing

    def write(self, task: Task, result: Mapping[str, Any], measured: Mapping[str, Any]) -> Record:
        """Add the record of a task."""
        path = self._path("records", task.kind, task.file_name)
        with locked(self.root / "records"):
            record = Record(
                kind=task.kind,
                name=task.name,
                key=task.key,
                revision=self._next_revision(task),
                spec=dict(task.spec),
                result=dict(result),
                environment=environment(),
                measured={**measured, **_where()},
            )
            RECORD.write_file(path, record.content(), record.measured)
        self._path("failures", task.kind, task.file_name).unlink(missing_ok=True)
        return record

    def adopt(self, record: Record) -> bool:
        """Add a record of another ledger as it is; returns whether it was not here before."""
        key = Task(record.kind, record.name, record.spec).key
        if record.kind not in KINDS or key != record.key:  # it would stand for another task
            raise LagcoError(
                f"{record.kind[:40]} {record.name[:80]}: no record of a task of lagco's, its key "
                f"should be {key[:16]}… and is {record.key[:16]}…; export the study again"
            )
        path = self._path("records", record.kind, file_name(record.name, record.key))
        with locked(self.root / "records"):
            if path.exists():
                return False
            RECORD.write_file(path, record.content(), record.measured)
        return True

    def _next_revision(self, task: Task) -> int:
        """One more than the largest revision of the other records of what a task asks for."""
        digits = "[0-9a-f]" * len(task.file_name.rpartition("-")[2])
        pattern = f"{task.file_name.rpartition('-')[0]}-{digits}.json"
        wanted, last = slot(task.kind, task.spec), 0
        for path in (self.root / "records" / task.kind).glob(pattern):
            with contextlib.suppress(LagcoError):  # a damaged one is named when records are read
                other = self._read(path)
                if other.key != task.key and slot(other.kind, other.spec) == wanted:
                    last = max(last, other.revision)
        return last + 1

    def write_settings(self, study: str, settings: Mapping[str, Any]) -> None:
        """Note the settings with which a study is started."""
        path = self.root / "studies" / f"{study}.json"
        content = {"study": study, "settings": dict(settings)}
        NOTE.write_file(path, content, {"lagco": _version("lagco")})

    def write_failure(self, task: Task, error: BaseException | str) -> None:
        """Note that a task failed."""
        known = self.failure(task) or {}
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        trace = [] if isinstance(error, str) else traceback.format_exception(error)
        content = {
            "kind": task.kind,
            "name": task.name,
            "key": task.key,
            "error": text,
            "traceback": "".join(trace),
            "attempts": known.get("attempts", 0) + 1,
        }
        FAILURE.write_file(self._path("failures", task.kind, task.file_name), content, _where())

    def _path(self, part: str, kind: str, name: str) -> Path:
        return self.root / part / kind / f"{name}.json"

    def _read(self, path: Path) -> Record:
        file = RECORD.read_file(path)
        record = Record(**file.content, measured=file.measured)
        if path.parent.name != record.kind or not path.stem.endswith(f"-{record.key[:16]}"):
            raise LagcoError(
                f"{path}: this file holds the record of another task, {record.kind[:40]} "
                f"{record.key[:16]}; take it away, and the task is done again"
            )
        return record


def _read_failure(path: Path) -> dict[str, Any] | None:
    """Failure that a file describes; None without one that can be read."""
    try:
        file = FAILURE.read_file(path)
    except LagcoError:
        return None
    return {**file.content, **file.measured}


@cache
def environment() -> dict[str, Any]:
    """Versions of Python and the packages that results are computed with."""
    return {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _where() -> dict[str, Any]:
    finished = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"host": socket.gethostname(), **machine(), "pid": os.getpid(), "finished": finished}


@cache
def machine() -> dict[str, Any]:
    """Processor, cores and gigabytes of memory of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gib": round(memory)}


def rounded(values: Iterable[float | None], digits: int = 6) -> list[float | None]:
    """Numbers as records keep them: to some significant digits, None for what is not finite."""
    return [significant(value, digits) for value in values]


def significant(value: float | None, digits: int = 6) -> float | None:
    """One number as records keep it."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value:.{digits}g}")
