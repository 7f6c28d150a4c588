"""A study as one file: the records of a ledger, without names of machines and folders."""

from __future__ import annotations

import lzma
import re
import socket
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from lagco.errors import LagcoError
from lagco.store import COUNT, TEXT, Kind, array_of, object_of, write_atomically
from lagco.store.files import read_plain
from lagco.store.text import compact_json
from lagco.study.records.ledger import FAILURE, NOTE, RECORD, Ledger, Record, machine
from lagco.study.settings import SETTINGS

_REMEDY = "make it again: lagco study export DIR --out FILE"
#: first line of the file; records follow, one line each, as they stand in a ledger
ARCHIVE = Kind(
    format="lagco-records",
    version=1,
    noun="a file of records",
    remedy=_REMEDY,
    indented=False,
    schema=object_of(
        name=TEXT,
        records=COUNT,
        studies={
            "type": "object",
            "additionalProperties": NOTE.schema["properties"]["settings"],
        },
        failures=array_of(FAILURE.schema),
    ),
)
#: bytes of the file and of the text in it, and of memory to unpack it
_MOST_PACKED, _MOST_TEXT, _MEMORY = 1 << 27, 1 << 29, 1 << 28
#: no part of a published record
_PRIVATE = ("host", "pid")
_FOLDERS = re.compile(r"(?<![\w.…])(?:[A-Za-z]:)?[\\/](?:[^\s\\/\"':,;]+[\\/])+")


class Snapshot(Ledger):
    """Contents of a ledger, read once: from its folder, or from an exported file.

    A file has the records, the settings of the studies and the failures; agents and data it has
    not, and nothing can be added to it.

    Args:
        place: the folder or the file.
    """

    def __init__(self, place: str | Path) -> None:
        super().__init__(place)
        if not (self.root.is_file() or self.root.is_dir()):
            raise LagcoError(f"{place}: no such folder or file; give the folder of a study")
        self.is_file = self.root.is_file()
        self._file = _unpacked(self.root) if self.is_file else None

    @property
    def name(self) -> str:
        """Name of the study: that of the folder which it was made in."""
        return self.root.name if self._file is None else str(self._file[0]["name"])

    @cached_property
    def _all(self) -> list[Record]:
        return super()._stored(None) if self._file is None else self._file[1]

    @cached_property
    def _latest(self) -> list[Record]:
        return super().records()

    @cached_property
    def _by_key(self) -> dict[tuple[str, str], Record]:
        return {(record.kind, record.key): record for record in self._all}

    def _stored(self, kind: str | None) -> list[Record]:
        return [record for record in self._all if kind in (None, record.kind)]

    def records(self, kind: str | None = None, *, superseded: bool = False) -> list[Record]:
        """See :class:`Ledger`."""
        if superseded:
            return super().records(kind, superseded=True)
        return [record for record in self._latest if kind in (None, record.kind)]

    def find(self, kind: str, key: str | None) -> Record:
        """The record with that key."""
        known = self._by_key.get((kind, str(key)))
        return super().find(kind, key) if known is None else known

    def settings(self) -> dict[str, dict[str, Any]]:
        """See :class:`Ledger`."""
        return super().settings() if self._file is None else dict(self._file[0]["studies"])

    def failures(self) -> list[dict[str, Any]]:
        """See :class:`Ledger`; folders in the texts are left out."""
        if self._file is not None:
            return list(self._file[0]["failures"])
        names = FAILURE.schema["required"]
        texts = [{name: failure[name] for name in names} for failure in super().failures()]
        return [
            {name: without_folders(v) if isinstance(v, str) else v for name, v in entry.items()}
            for entry in texts
        ]

    def _path(self, part: str, kind: str, name: str) -> Path:
        return self._refuse() if self.is_file else super()._path(part, kind, name)

    def _refuse(self) -> NoReturn:
        raise LagcoError(f"{self.root}: a file of records; studies are run in folders")


def without_folders(text: str) -> str:
    """The text with only the last part of every absolute path."""
    return _FOLDERS.sub("…/", text)


def export(folder: str | Path, out: str | Path, *, name: str | None = None) -> Path:
    """Write the records of a study to one compressed file, the same bytes for the same records.

    Machines are numbered instead of named, and where this is one of them, its cores and memory are
    added to records that lack them. ``lagco report`` makes the same page from the file as from the
    folder, but for drawn episodes.

    Args:
        folder: of the study.
        out: the file, by custom ``NAME.jsonl.xz``.
        name: of the study; that of the folder by default.
    """
    study = Snapshot(folder)
    records = study.records(superseded=True)
    if not records:
        raise LagcoError(
            f"{folder}: holds no record of a study; give the folder that lagco study wrote to"
        )
    numbers = machine_names(records)
    lines = [
        RECORD.sealed(out, record.content(), (), _public(record, numbers)) for record in records
    ]
    content = {
        "name": name or study.name,
        "records": len(lines),
        "studies": study.settings(),
        "failures": study.failures(),
    }
    text = "".join(compact_json(line) + "\n" for line in (ARCHIVE.sealed(out, content), *lines))
    write_atomically(out, lzma.compress(text.encode(), preset=6 | lzma.PRESET_EXTREME))
    return Path(out)


def import_records(file: str | Path, out: str | Path) -> int:
    """Add the records of an exported file to the folder of a study, which continues from there.

    Records that are there already stay as they are. Data sets and encoders are not in the file:
    where a task needs one, it is made again from its specification.

    Args:
        file: written by :func:`export`.
        out: folder of the study; made where there is none.

    Returns:
        How many records were added.
    """
    archive, ledger = Snapshot(file), Ledger(out)
    if not archive.is_file:
        raise LagcoError(f"{file}: a folder; give a file that lagco study export wrote")
    added = sum(ledger.adopt(record) for record in archive.records(superseded=True))
    known = ledger.settings()
    for study, settings in archive.settings().items():
        if study in SETTINGS and study not in known:
            ledger.write_settings(study, settings)
    return added


def machine_names(records: Sequence[Record]) -> dict[str, str]:
    """From the host names of records to numbers, in the order in which machines finished first."""
    first: dict[str, str] = {}
    for record in records:
        host, time = host_of(record), str(record.measured.get("finished", ""))
        first[host] = min(time, first.get(host, time))
    ordered = sorted(first, key=lambda host: (first[host], host))
    return {host: f"machine {number}" for number, host in enumerate(ordered, 1)}


def host_of(record: Record) -> str:
    """Machine that a record was computed on."""
    return str(record.measured.get("host", "unknown"))


def _public(record: Record, names: Mapping[str, str]) -> dict[str, Any]:
    """Measurements without names of machines and numbers of processes."""
    here = machine() if host_of(record) == socket.gethostname() else {}
    kept = {name: v for name, v in record.measured.items() if name not in _PRIVATE}
    return {**here, **kept, "host": names[host_of(record)]}


def _unpacked(path: Path) -> tuple[dict[str, Any], list[Record]]:
    """Head and records of a file, checked."""
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)
        text = unpacker.decompress(read_plain(path, _MOST_PACKED), max_length=_MOST_TEXT)
    except (OSError, lzma.LZMAError) as error:
        raise LagcoError(f"{path}: not {ARCHIVE.noun} ({error}); {_REMEDY}") from error
    if not unpacker.eof or unpacker.unused_data:
        why = "it is cut off or followed by something else, or holds more than 512 MiB"
        raise LagcoError(f"{path}: damaged ({why}); {_REMEDY}")
    first, *rest = text.split(b"\n")
    head = ARCHIVE.opened(path, ARCHIVE.parsed(path, first)).content
    if rest[-1:] != [b""] or len(rest) - 1 != head["records"]:
        raise LagcoError(
            f"{path}: damaged, it has {max(len(rest) - 1, 0)} records and should have "
            f"{head['records']}; {_REMEDY}"
        )
    records = []
    for number, line in enumerate(rest[:-1], start=2):
        place = path.with_name(f"{path.name}, line {number}")
        file = RECORD.opened(place, RECORD.parsed(place, line))
        records.append(Record(**file.content, measured=file.measured))
    return head, records
