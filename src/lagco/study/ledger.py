"""The ledger: one JSON file per finished task, and the folders of what tasks make."""

from __future__ import annotations

import contextlib
import json
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
from lagco.files import canonical_json, readable_json, sha256, write_atomically
from lagco.instances import DataSet
from lagco.study.claims import Claims, locked
from lagco.study.task import Task, file_name, slot

FORMAT, VERSION = "lagco-record", 2
STUDY_FORMAT, STUDY_VERSION = "lagco-study", 1
#: folders of what tasks make, by kind
FOLDERS = {
    "data": "data",
    "encoder": "encoders",
    "run": "agents",
    "training": "agents",
    "trial": "trials",
}
_PACKAGES = ("lagco", "torch", "stable-baselines3", "sb3-contrib", "numpy", "scipy", "numba")


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
            "format": FORMAT,
            "version": VERSION,
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
        self.root = Path(folder).resolve()
        self.claims = Claims(self.root / "claims")

    # -- reading

    def records(self, kind: str | None = None, *, superseded: bool = False) -> list[Record]:
        """All records, or those of a kind, sorted by name.

        Args:
            kind: ``run``, ``policy``, ``latency``, …
            superseded: also those for which there is one of a later revision.
        """
        pattern = f"{kind or '*'}/*.json"
        found = [self._read(path) for path in sorted((self.root / "records").glob(pattern))]
        found.sort(key=lambda record: (record.kind, record.name, record.key))
        if superseded:
            return found
        latest: dict[str, Record] = {}
        for record in sorted(found, key=lambda record: (record.revision, record.key)):
            latest[slot(record.kind, record.spec)] = record
        kept = {record.key for record in latest.values()}
        return [record for record in found if record.key in kept]

    def get(self, task: Task) -> Record | None:
        """The record of a task, None if it is not done."""
        path = self._path("records", task.kind, task.file_name)
        return self._read(path) if path.exists() else None

    def has(self, task: Task) -> bool:
        """Whether a task is done."""
        return self._path("records", task.kind, task.file_name).exists()

    def find(self, kind: str, key: str | None) -> Record:
        """The record with that key."""
        if key is None:
            raise LagcoError(f"{self.root}: no key is given, so there is no {kind} to find")
        for path in (self.root / "records" / kind).glob(f"*-{key[:16]}.json"):
            return self._read(path)
        raise LagcoError(f"{self.root}: there is no record of the {kind} {key[:16]}")

    def folder(self, what: Task | Record) -> Path:
        """Folder of what a task makes."""
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
        return _object(self._path("failures", task.kind, task.file_name))

    def failures(self) -> list[dict[str, Any]]:
        """Failures of tasks that were not done since, by kind and name."""
        paths = sorted((self.root / "failures").glob("*/*.json"))
        found = [content for path in paths if (content := _object(path)) is not None]
        return sorted(found, key=lambda f: (str(f.get("kind")), str(f.get("name"))))

    def settings(self) -> dict[str, dict[str, Any]]:
        """Settings with which studies were last started here, by study."""
        paths = sorted((self.root / "studies").glob("*.json"))
        found = {path.stem: _object(path) or {} for path in paths}
        return {
            name: content["settings"]
            for name, content in found.items()
            if content.get("format") == STUDY_FORMAT and isinstance(content.get("settings"), dict)
        }

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
            content = record.content()
            checksum = sha256(canonical_json(content).encode())
            content |= {"measured": dict(record.measured), "sha256": checksum}
            write_atomically(path, (json.dumps(content, allow_nan=False) + "\n").encode())
        self._path("failures", task.kind, task.file_name).unlink(missing_ok=True)
        return record

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
        content = {
            "format": STUDY_FORMAT,
            "version": STUDY_VERSION,
            "study": study,
            "lagco": _version("lagco"),
            "settings": dict(settings),
        }
        write_atomically(self.root / "studies" / f"{study}.json", readable_json(content))

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
            "attempts": int(known.get("attempts", 0)) + 1,
            **_where(),
        }
        path = self._path("failures", task.kind, task.file_name)
        write_atomically(path, readable_json(content))

    def _path(self, part: str, kind: str, name: str) -> Path:
        return self.root / part / kind / f"{name}.json"

    def _read(self, path: Path) -> Record:
        try:
            content = json.loads(path.read_bytes())
        except OSError as error:
            raise LagcoError(f"{path}: cannot be read ({error})") from error
        except (ValueError, RecursionError) as error:
            raise LagcoError(f"{path}: damaged, not JSON ({error}); {_REMEDY}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise LagcoError(f"{path}: not a record of a study (no format {FORMAT!r}); {_REMEDY}")
        if content.get("version") != VERSION:
            raise LagcoError(
                f"{path}: record version {content.get('version')!r}, this lagco reads {VERSION}"
            )
        measured, declared = content.pop("measured", None), content.pop("sha256", None)
        try:
            if declared != sha256(canonical_json(content).encode()):
                raise LagcoError(f"{path}: damaged, it does not match its checksum; {_REMEDY}")
            parts = [content["spec"], content["result"], content["environment"], measured]
            if not all(isinstance(part, dict) for part in parts):
                raise ValueError("a part of it is no object")
            kind, name, key = (str(content[field]) for field in ("kind", "name", "key"))
            revision = content["revision"]
            if type(revision) is not int or revision < 1:
                raise ValueError(f"revision {revision!r}")
        except (KeyError, ValueError, TypeError) as error:
            raise LagcoError(f"{path}: not a valid record ({error!r}); {_REMEDY}") from error
        return Record(kind, name, key, revision, *parts)


_REMEDY = "remove the file and give the command again to compute it anew"


@cache
def environment() -> dict[str, Any]:
    """Versions of what results are computed with."""
    return {"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _where() -> dict[str, Any]:
    finished = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"host": socket.gethostname(), "cpu": _cpu(), "pid": os.getpid(), "finished": finished}


def _object(path: Path) -> dict[str, Any] | None:
    """JSON object of a file; None if it holds none."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def rounded(values: Iterable[float | None], digits: int = 6) -> list[float | None]:
    """Numbers as records keep them: to some significant digits, None for what is no number."""
    return [significant(value, digits) for value in values]


def significant(value: float | None, digits: int = 6) -> float | None:
    """One number as records keep it."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value:.{digits}g}")
