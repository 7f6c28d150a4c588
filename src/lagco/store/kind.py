"""Described files: a JSON description, perhaps with tensors, under one checksum.

A description says its format and version, then everything that decides; ``measured`` holds what was
measured while it was made (seconds, versions), and ``sha256`` is the checksum over all but the
measurements: format, version, the deciding part as it stands, and the tensors. So two files that
decide the same are equal up to ``measured``, and no part that decides can change unnoticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.store.files import open_plain, write_atomically
from lagco.store.schema import Mismatch, Schema, check
from lagco.store.tensors import (
    JoinedRows,
    Tensors,
    check_extent,
    header_of,
    pieces,
    tensor_chunks,
    unpack_tensors,
)
from lagco.store.text import compact_json, parse_json, readable_json

#: a JSON schema of plain text: no code, path or import
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
#: bytes of a description
_MOST_TEXT = 256 << 20
_OWN = ("format", "version", "measured", "sha256")


@dataclass(frozen=True)
class Described:
    """Checked contents of a described file.

    Attributes:
        path: of the description.
        content: everything that decides, but the tensors.
        measured: what was measured.
        checksum: of all but the measurements.
        tensors: by name; none where the kind has none.
    """

    path: Path
    content: dict[str, Any]
    measured: dict[str, Any]
    checksum: str
    tensors: Tensors


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of described file.

    Attributes:
        format: what the file calls itself.
        version: the one that is written and read.
        noun: what messages call it, such as ``an encoder``.
        schema: of the deciding part, as an object.
        remedy: what to do about a file that is damaged or of another version.
        error: class of the errors.
        description: name of the JSON file, where the kind is a folder.
        tensors: name of the tensor file, where it has one.
        indented: whether the description is laid out for people.
        finite: whether tensors hold finite numbers alone.
        largest: no number of a tensor is further from 0; weights that are would overflow in use.
        most_bytes: larger files are not opened; of texts no more than 256 MiB.
    """

    format: str
    version: int
    noun: str
    schema: Schema
    remedy: str
    error: type[LagcoError] = LagcoError
    description: str = ""
    tensors: str = ""
    indented: bool = True
    finite: bool = True
    largest: float | None = None
    most_bytes: int = 1 << 30
    _object: Schema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_object", {"type": "object", **self.schema})

    # -- writing

    def write(
        self,
        folder: str | Path,
        content: Mapping[str, Any],
        tensors: Mapping[str, Array] | None = None,
        measured: Mapping[str, Any] | None = None,
    ) -> str:
        """Write a folder, the description last, so that a folder with it is whole; its checksum."""
        folder = Path(folder)
        sealed = self.sealed(folder, content, _tensor_parts(tensors or {}), measured)
        if self.tensors:
            write_atomically(folder / self.tensors, tensor_chunks(tensors or {}))
        write_atomically(folder / self.description, self._text(sealed))
        return str(sealed["sha256"])

    def write_file(
        self,
        path: str | Path,
        content: Mapping[str, Any],
        measured: Mapping[str, Any] | None = None,
    ) -> str:
        """Write a description that stands alone; its checksum."""
        sealed = self.sealed(path, content, (), measured)
        write_atomically(path, self._text(sealed))
        return str(sealed["sha256"])

    def write_with_header(
        self,
        path: str | Path,
        content: Mapping[str, Any],
        tensors: Mapping[str, Array | JoinedRows],
    ) -> str:
        """Write one file of tensors that carries the description in its header; its checksum."""
        sealed = self.sealed(path, content, _tensor_parts(tensors))
        write_atomically(path, tensor_chunks(tensors, compact_json(sealed)))
        return str(sealed["sha256"])

    def sealed(
        self,
        path: str | Path,
        content: Mapping[str, Any],
        parts: Iterable[tuple[str, Any]] = (),
        measured: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The description over `content` and `parts` (head, bytes), with its checksum."""
        head = {"format": self.format, "version": self.version, **content}
        try:
            # as it will be read, so that what is written can be
            check(json.loads(compact_json(content)), self._object)
            checksum = _digest(head, parts)
        except (Mismatch, ValueError) as error:
            raise self.error(f"{path}: cannot be written as {self.noun} ({error})") from error
        return {**head, "measured": dict(measured or {}), "sha256": checksum}

    def _text(self, sealed: Mapping[str, Any]) -> bytes:
        return readable_json(sealed) if self.indented else (compact_json(sealed) + "\n").encode()

    # -- reading

    def read(self, folder: str | Path, expected: str | None = None) -> Described:
        """Read a folder.

        Args:
            folder: what :meth:`write` wrote.
            expected: checksum by which another file refers to it; then the folder is a part of
                that file's, and reading stays inside it: it may not be a link.
        """
        folder = Path(folder)
        if expected is not None and folder.is_symlink():
            raise self.error(f"{folder}: is a link; copy the folder itself to where it belongs")
        path = folder / self.description
        description = self.parsed(path, self._bytes(path))
        tensors = Tensors(path, {}, self.error)
        if self.tensors:
            place = folder / self.tensors
            content = self._bytes(place, tensors=True)
            tensors = self._unpacked(place, content)
        found = self.opened(path, description, _tensor_parts(tensors), tensors)
        if expected not in (None, found.checksum):
            raise self.error(
                f"{path}: is another one than it belongs to (checksum {found.checksum[:12]}…, "
                f"expected {str(expected)[:12]}…); {self.remedy}"
            )
        return found

    def read_file(self, path: str | Path) -> Described:
        """Read a description that stands alone."""
        path = Path(path)
        return self.opened(path, self.parsed(path, self._bytes(path)))

    def read_with_header(self, path: str | Path) -> Described:
        """Read one file of tensors that carries the description in its header."""
        path = Path(path)
        content = self._bytes(path, tensors=True)
        try:
            text = header_of(content)
        except ValueError as error:
            raise self.error(f"{path}: not {self.noun} ({error}); {self.remedy}") from error
        description = self.parsed(path, text)
        tensors = self._unpacked(path, content)
        return self.opened(path, description, _tensor_parts(tensors), tensors)

    def parsed(self, path: Path, text: str | bytes) -> dict[str, Any]:
        """A description of this format and version, not yet checked any further."""
        try:
            description = parse_json(text)
        except ValueError as error:
            raise self.error(f"{path}: damaged, not JSON ({error}); {self.remedy}") from error
        if not isinstance(description, dict) or description.get("format") != self.format:
            raise self.error(f"{path}: not {self.noun} (no format {self.format!r})")
        version = description.get("version")
        if version != self.version or isinstance(version, bool):
            newer = isinstance(version, int) and version > self.version
            remedy = "install the lagco that wrote it" if newer else self.remedy
            raise self.error(
                f"{path}: {self.format} version {version!r} is not supported, this lagco reads "
                f"version {self.version}; {remedy}"
            )
        return description

    def opened(
        self,
        path: Path,
        description: Mapping[str, Any],
        parts: Iterable[tuple[str, Any]] = (),
        tensors: Tensors | None = None,
    ) -> Described:
        """The content of a parsed description, its checksum and schema checked."""
        head = {k: v for k, v in description.items() if k not in ("measured", "sha256")}
        checksum, measured = description.get("sha256"), description.get("measured", {})
        if checksum != _digest(head, parts):
            both = "" if tensors is None or tensors.path == path else f", with {tensors.path.name},"
            raise self.error(
                f"{path}: damaged, it{both} does not match its checksum; {self.remedy}"
            )
        content = {name: value for name, value in head.items() if name not in _OWN}
        try:
            check(content, self._object)
            check({"measured": measured}, _MEASURED)
        except Mismatch as error:
            raise self.error(f"{path}: not {self.noun}, {error}; {self.remedy}") from error
        return Described(
            path, content, measured, str(checksum), tensors or Tensors(path, {}, self.error)
        )

    def _unpacked(self, path: Path, content: bytes) -> Tensors:
        return unpack_tensors(path, content, self.error, finite=self.finite, largest=self.largest)

    def _bytes(self, path: Path, tensors: bool = False) -> bytes:
        most = self.most_bytes if tensors else min(self.most_bytes, _MOST_TEXT)
        try:
            with open_plain(path, most) as stream:
                size = os.fstat(stream.fileno()).st_size
                if tensors:
                    check_extent(stream, size)
                return stream.read(size)  # as much room as is asked for
        except FileNotFoundError:
            what = "no such file" if path.parent.is_dir() else "no such folder"
            raise self.error(f"{path}: {what}; is this {self.noun}?") from None
        except (OSError, ValueError) as error:  # a null byte in the path is a ValueError
            raise self.error(f"{path}: cannot be read ({error})") from error


_MEASURED: Schema = {"properties": {"measured": {"type": "object"}}}


def _tensor_parts(tensors: Mapping[str, Array | JoinedRows]) -> Iterable[tuple[str, Any]]:
    for name in sorted(tensors):
        array = tensors[name]
        little = array.dtype.newbyteorder("<")
        yield compact_json([name, little.str, list(array.shape)]), array


def _digest(head: Mapping[str, Any], parts: Iterable[tuple[str, Any]]) -> str:
    """Checksum of a description and of named parts: bytes, or arrays."""
    digest = hashlib.sha256(compact_json(head).encode())
    for name, content in parts:
        plain = isinstance(content, (bytes, memoryview))
        size = len(content) if plain else content.nbytes
        digest.update(f"\0{name}\0{size}\0".encode())
        for piece in (content,) if plain else pieces(content):
            digest.update(piece)
    return digest.hexdigest()
