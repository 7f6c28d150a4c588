"""A data set: a folder of instance files and the manifest that lists and vouches for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lagco.errors import InstanceError
from lagco.files import canonical_json, readable_json, sha256, write_atomically
from lagco.instances.formats import read
from lagco.instances.instance import Instance

FORMAT = "lagco-dataset"
VERSION = 1
MANIFEST = "manifest.json"
TIMINGS = "timings.json"


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


@dataclass(frozen=True)
class DataSet:
    """Instances of one problem, in the order in which they were generated.

    ``data[i]`` reads and verifies instance i; iterating reads them one by one.
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
        try:
            manifest = json.loads(path.read_bytes())
        except FileNotFoundError:
            remedy = "is it complete? 'lagco generate' writes the manifest last"
            what = f"holds no {MANIFEST}; {remedy}" if folder.is_dir() else "no such folder"
            raise InstanceError(f"{folder}: {what}") from None
        except (OSError, ValueError, RecursionError) as error:
            raise InstanceError(f"{path}: damaged, not JSON ({error})") from error
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise InstanceError(f"{path}: not the manifest of a data set (no format {FORMAT!r})")
        if manifest.get("version") != VERSION:
            raise InstanceError(
                f"{path}: data set format version {manifest.get('version')!r} is not supported, "
                f"this lagco reads version {VERSION}"
            )
        declared = manifest.pop("sha256", None)
        if declared != sha256(canonical_json(manifest).encode()):
            raise InstanceError(f"{path}: damaged, it does not match its checksum {declared!r}")
        try:
            entries = tuple(Entry(**entry) for entry in manifest["instances"])
            problem = str(manifest["problem"])
            generation = dict(manifest["generation"])
        except (KeyError, TypeError, ValueError) as error:
            raise InstanceError(f"{path}: not a valid manifest ({error!r})") from error
        for entry in entries:
            if Path(entry.file).name != entry.file:
                raise InstanceError(f"{path}: instance file {entry.file!r} is outside the folder")
        return cls(folder, problem, entries, generation)

    @classmethod
    def _of_file(cls, path: Path, problem: str | None) -> DataSet:
        instance = read(path, problem)
        entry = Entry(
            file=path.name,
            name=instance.name,
            size=instance.size,
            sha256=sha256(path.read_bytes()),
            checksum=instance.checksum,
            extents={},
        )
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
        manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "problem": problem,
            "generation": dict(generation),
            "instances": [vars(entry) | {"extents": dict(entry.extents)} for entry in entries],
        }
        manifest["sha256"] = sha256(canonical_json(manifest).encode())
        write_atomically(Path(folder) / MANIFEST, readable_json(manifest))
        return cls.load(folder)

    @cached_property
    def extents(self) -> dict[str, int]:
        """The largest value of every extent over all instances."""
        largest: dict[str, int] = {}
        for entry in self.entries:
            for name, value in entry.extents.items():
                largest[name] = max(value, largest.get(name, 0))
        return largest

    @property
    def checksum(self) -> str:
        """Identity of the data set: problem and instances, in order."""
        content = [self.problem, [entry.sha256 for entry in self.entries]]
        return sha256(canonical_json(content).encode())

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Instance:
        entry = self.entries[index]
        path = self.folder / entry.file
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InstanceError(
                f"{path}: listed in {MANIFEST} but not readable ({error})"
            ) from error
        if sha256(content) != entry.sha256:
            raise InstanceError(
                f"{path}: differs from what {self.folder / MANIFEST} lists "
                f"(sha256 {sha256(content)[:12]}…, listed {entry.sha256[:12]}…); "
                "generate the data set again or restore the file"
            )
        return read(path, self.problem)

    def __iter__(self) -> Iterator[Instance]:
        return (self[index] for index in range(len(self)))
