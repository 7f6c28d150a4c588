"""A data set: a folder of instance files and the manifest that lists and vouches for them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, SupportsIndex, overload

from lagco.errors import InstanceError
from lagco.instances.formats import read
from lagco.instances.formats.registry import read_opened
from lagco.instances.formats.source import open_file
from lagco.instances.instance import Instance
from lagco.results.described import SelfDescribing
from lagco.store import COUNT, SHA256, Kind, Schema, array_of, canonical_json, object_of, sha256

MANIFEST = "manifest.json"
TIMINGS = "timings.json"
_NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 500}
DATA_SET = Kind(
    format="lagco-dataset",
    version=2,
    noun="the manifest of a data set",
    remedy="generate the data set again, in another folder",
    error=InstanceError,
    description=MANIFEST,
    schema=object_of(
        problem=_NAME,
        generation={"type": "object", "properties": {"n": COUNT}},
        instances=array_of(
            object_of(
                file=_NAME,
                name={"type": "string", "maxLength": 500},
                size=COUNT,
                sha256=SHA256,
                checksum=SHA256,
                extents={"type": "object", "additionalProperties": COUNT},
            )
        ),
    ),
)
#: seconds that references took, per file; they are measured, so no checksum covers them
TIMES = Kind(
    format="lagco-timings",
    version=1,
    noun="the timings of a data set",
    remedy="it is not needed, remove it",
    error=InstanceError,
    description=TIMINGS,
    schema=object_of(),
)


_MISSING = "no such folder or file; lagco generate makes data sets"


@dataclass(frozen=True)
class Entry:
    """One instance of a data set, as its manifest lists it.

    Attributes:
        file: name of the file in the folder.
        name: name of the instance.
        size: number of decision variables.
        sha256: checksum of the whole file.
        checksum: identity of the instance (:attr:`Instance.checksum`).
        extents: sizes that padding depends on, such as nodes, edges and actions.
    """

    file: str
    name: str
    size: int
    sha256: str
    checksum: str
    extents: Mapping[str, int]

    @classmethod
    def of(cls, path: Path, instance: Instance, extents: Mapping[str, int]) -> Entry:
        """The entry of an instance that was read from, or written to, a file."""
        with open_file(path) as stream:
            digest = _digest(stream)
        return cls(
            file=path.name,
            name=instance.name,
            size=instance.size,
            sha256=digest,
            checksum=instance.checksum,
            extents=extents,
        )


@dataclass(frozen=True, repr=False)
class DataSet(SelfDescribing, Sequence[Instance]):
    """Instances of one problem, in the order in which they were generated.

    A sequence that reads as it is asked: ``data[i]`` reads and verifies instance i, iterating reads
    one after the other, and a slice (``data[:2]``) is the data set of those entries alone.
    """

    folder: Path
    problem: str
    entries: tuple[Entry, ...]
    generation: Mapping[str, Any]

    @classmethod
    def load(cls, folder: str | Path, problem: str | None = None) -> DataSet:
        """Read the manifest of the data set in `folder`; the instances are read when asked for.

        An instance file, of any format that can be read, is a data set of one; `problem` says
        what it shall serve where it could serve several.
        """
        folder = Path(folder)
        if folder.is_file():
            return cls._of_file(folder, problem)
        path = folder / MANIFEST
        if not path.exists():
            remedy = "is it complete? 'lagco generate' writes the manifest last"
            what = f"holds no {MANIFEST}; {remedy}" if folder.is_dir() else _MISSING
            raise InstanceError(f"{folder}: {what}")
        manifest = DATA_SET.read(folder).content
        entries = tuple(Entry(**entry) for entry in manifest["instances"])
        for entry in entries:
            if Path(entry.file).name != entry.file:
                raise InstanceError(f"{path}: instance file {entry.file!r} is outside the folder")
        return cls(folder, manifest["problem"], entries, manifest["generation"])

    @classmethod
    def _of_file(cls, path: Path, problem: str | None) -> DataSet:
        instance = read(path, problem)
        entry = Entry.of(path, instance, {})
        return cls(path.parent, instance.problem, (entry,), dict(instance.origin))

    @classmethod
    def write(
        cls,
        folder: str | Path,
        problem: str,
        entries: Sequence[Entry],
        generation: Mapping[str, Any],
    ) -> DataSet:
        """Write the manifest over instance files that are already in `folder`."""
        listed = [vars(entry) | {"extents": dict(entry.extents)} for entry in entries]
        content = {"problem": problem, "generation": dict(generation), "instances": listed}
        DATA_SET.write(folder, content)
        return cls.load(folder)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The largest value of every extent over all instances."""
        largest: dict[str, int] = {}
        for entry in self.entries:
            for name, value in entry.extents.items():
                largest[name] = max(value, largest.get(name, 0))
        return largest

    def facts(self) -> dict[str, object]:
        """Problem, number and sizes of the instances, and where they are."""
        sizes = sorted(entry.size for entry in self.entries)
        span = f"{sizes[0]} to {sizes[-1]}" if sizes else "none"
        about = {"problem": self.problem, "instances": len(self), "sizes": span}
        return {**about, "folder": str(self.folder)}

    @property
    def checksum(self) -> str:
        """Identity of the data set: problem and instances, in order."""
        content = [self.problem, [entry.sha256 for entry in self.entries]]
        return sha256(canonical_json(content).encode())

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> DataSet: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Instance | DataSet:
        if isinstance(index, slice):
            return replace(self, entries=self.entries[index])
        try:
            entry = self.entries[index]
        except IndexError:
            raise IndexError(
                f"{self.folder}: there is no instance {index}, the data set has {len(self)}; "
                f"give {-len(self)} to {len(self) - 1}"
                if self.entries
                else f"{self.folder}: there is no instance {index}, the data set is empty"
            ) from None
        return self._read(entry)

    def __iter__(self) -> Iterator[Instance]:
        return map(self._read, self.entries)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Instance) and any(
            e.checksum == value.checksum for e in self.entries
        )

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Place of the first instance with the same content; nothing is read."""
        places = range(len(self))[start:stop]
        found = (i for i in places if self.entries[i].checksum == getattr(value, "checksum", None))
        place = next(found, None)
        if place is None:
            raise ValueError(f"{self.folder}: the data set has no such instance: {value!r}")
        return place

    def count(self, value: Any) -> int:
        """Number of instances with the same content; nothing is read."""
        return sum(e.checksum == getattr(value, "checksum", None) for e in self.entries)

    def _read(self, entry: Entry) -> Instance:
        path = self.folder / entry.file
        try:
            stream = open_file(path, follow=False)
        except InstanceError as error:
            raise InstanceError(f"{error}; {self.folder / MANIFEST} lists it") from error
        with stream:
            digest = _digest(stream)
            if digest != entry.sha256:
                raise InstanceError(
                    f"{path}: differs from what {self.folder / MANIFEST} lists "
                    f"(sha256 {digest[:12]}…, listed {entry.sha256[:12]}…); "
                    "generate the data set again or restore the file"
                )
            return read_opened(path, stream, self.problem)


def _digest(stream: Any) -> str:
    """SHA-256 of a file, read piece by piece; the next reading begins at its start."""
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    stream.seek(0)
    return digest
