"""A foreign file, read into memory with a limit, and errors that name its lines.

Every reader takes its text, lines, numbers and names from here, so that each failure names the
file, the line and the reason, and no file can make a reader allocate more than it could hold.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from lagco.errors import InstanceError
from lagco.results.numbers import of_things
from lagco.store import open_plain, shown

#: largest text that is read, packed or unpacked
MAX_BYTES = 256 << 20
#: bytes that a packed file may unpack to, in addition to a hundred times its size
SPARE_BYTES = 64 << 20
#: largest file of lagco's own instances
MAX_NATIVE_BYTES = 1 << 30
#: largest file of a kind that is read as a tree or table of Python objects (JSON, XML, CSV)
MAX_TREE_BYTES = 32 << 20
#: numbers beyond it are refused: whole numbers are no longer exact there
MAX_NUMBER = 1e15
#: characters of a name
MAX_NAME = 200
#: characters of a number: longer words are refused before anything looks at their digits
MAX_DIGITS = 100
#: nodes that a file may declare beyond one per byte
SPARE_NODES = 1000

_MAX_MEMBERS = 64
_MAX_RATIO = 100
_DIGITS = 16
#: more zero bytes in a row than any encoding of a text has
_HOLE = b"\0" * 64
_INTEGER = re.compile(r"[+-]?[0-9]{1,16}")
# possessive, so that no run of digits is matched twice
_REAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
#: what stands where bytes were not UTF-8
SURROGATE = re.compile("[\ud800-\udfff]")
_DECLARED_ENCODING = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding=["']([A-Za-z0-9._-]+)["']""")
_LATIN = ("iso-8859-1", "latin-1", "windows-1252", "us-ascii", "ascii")


class Source:
    """The content of a file.

    Args:
        path: what messages call it.
        content: its bytes, unpacked.
    """

    def __init__(self, path: str | Path, content: bytes | bytearray) -> None:
        self.path = Path(path)
        self.content = content

    @classmethod
    def load(cls, path: str | Path) -> Source:
        """Read a file, unpacking it if it is packed by gzip."""
        with open_file(path) as stream:
            return cls.of(path, stream)

    @classmethod
    def of(cls, path: str | Path, stream: BinaryIO) -> Source:
        """Read what :func:`open_file` opened."""
        path = Path(path)
        size = os.fstat(stream.fileno()).st_size
        if size > MAX_BYTES:
            raise InstanceError(f"{path}: more than {MAX_BYTES >> 20} MiB, the most that is read")
        try:
            content: bytes | bytearray = stream.read(size)  # as much room as is asked for
        except OSError as error:
            raise InstanceError(f"{path}: cannot be read ({error})") from error
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(path, content)
        if _HOLE in content:
            raise InstanceError(
                f"{path}: not a text, {len(_HOLE)} zero bytes stand in a row "
                f"(from byte {content.find(_HOLE)} on)"
            )
        return cls(path, content)

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        name = self.path.name
        name = name[: -len(".gz")] if name.lower().endswith(".gz") else name
        stem = Path(name).stem or name
        return clean(stem) or "instance"

    @cached_property
    def text(self) -> str:
        """The content as text with plain line ends.

        Bytes that are not UTF-8 stay as lone surrogates: harmless in a comment, refused by name
        wherever they would mean something.
        """
        content = self.content
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            try:
                text = content.decode("utf-16")
            except UnicodeDecodeError as error:
                raise self.error(
                    f"not UTF-16, though it begins like that ({error.reason})"
                ) from None
        elif (declared := _declared_encoding(content)) in _LATIN:
            text = content.decode("cp1252" if declared == "windows-1252" else "latin-1", "replace")
        else:
            text = content.decode("utf-8-sig", "surrogateescape")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def lines(self) -> Lines:
        """Every line that is not blank, stripped, with its number from 1 on."""
        return Lines(self.text)

    @cached_property
    def declaration(self) -> str:
        """First line that is not a comment of DIMACS or PACE; empty if there is none."""
        for _, text in self.lines():
            if text != "c" and not text.startswith(("c ", "c\t")):
                return text
        return ""

    def error(self, reason: str, line: int | None = None) -> InstanceError:
        """The error to raise about this file."""
        where = f", line {line}" if line is not None else ""
        return InstanceError(f"{self.path}{where}: {reason}")

    def refuse_large(self, kind: str) -> None:
        """An error if the file is too large to be read as a tree of Python objects."""
        if len(self.content) > MAX_TREE_BYTES:
            raise self.error(f"{kind} of more than {MAX_TREE_BYTES >> 20} MiB is not read")

    def integer(
        self,
        token: str,
        what: str,
        line: int | None,
        low: int = -int(MAX_NUMBER),
        high: int = int(MAX_NUMBER),
    ) -> int:
        """A whole number within bounds."""
        # most tokens are plain digits, for which this is quicker than the pattern
        plain = token.isdigit() and token.isascii() and len(token) <= _DIGITS
        if not plain and not _INTEGER.fullmatch(token):
            raise self.error(f"{what} is {shown(token)}, not a whole number", line)
        value = int(token)
        if not low <= value <= high:
            raise self.error(f"{what} is {value}, it must be {low} to {high}", line)
        return value

    def real(
        self,
        token: str,
        what: str,
        line: int | None,
        low: float = -MAX_NUMBER,
        high: float = MAX_NUMBER,
    ) -> float:
        """A finite number within bounds."""
        if len(token) > MAX_DIGITS or not _REAL.fullmatch(token):
            raise self.error(f"{what} is {shown(token)}, not a number", line)
        value = float(token)
        if not low <= value <= high:
            raise self.error(f"{what} is {shown(token)}, it must be {low:g} to {high:g}", line)
        return value

    def named(self, token: str, what: str, line: int | None) -> str:
        """A name that can be stored, shown and written again."""
        if not token or len(token) > MAX_NAME:
            raise self.error(
                f"{what} has {of_things(len(token), 'characters')}, give 1 to {MAX_NAME}", line
            )
        if not token.isprintable():
            kind = "bytes that are not UTF-8" if has_surrogate(token) else "unprintable characters"
            raise self.error(f"{what} {shown(token)} has {kind}", line)
        return token

    def nodes(self, token: str, line: int) -> int:
        """A declared number of nodes, which must be in proportion to the size of the file."""
        count = self.integer(token, "the number of nodes", line, low=1)
        most = SPARE_NODES + len(self.content)
        if count > most:
            raise self.error(
                f"declares {of_things(count, 'nodes')}, more than a file of "
                f"{of_things(len(self.content), 'bytes')} is about "
                f"(at most {most})",
                line,
            )
        return count


class Lines(Iterator[tuple[int, str]]):
    """The lines of a text that are not blank, stripped, with their numbers.

    Attributes:
        position: where in the text the next line begins.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._number = 0

    def __next__(self) -> tuple[int, str]:
        text = self.text
        while self.position < len(text):
            end = text.find("\n", self.position)
            end = len(text) if end < 0 else end
            line = text[self.position : end].strip()
            self.position = end + 1
            self._number += 1
            if line:
                return self._number, line
        raise StopIteration


def clean(text: str, most: int = MAX_NAME) -> str:
    """`text` with single spaces, without what cannot be printed, and not too long."""
    return "".join(c for c in " ".join(text[: 4 * most].split()) if c.isprintable())[:most].strip()


def has_surrogate(text: str) -> bool:
    """Whether bytes that are not UTF-8 stood there."""
    return SURROGATE.search(text) is not None


def _declared_encoding(content: bytes | bytearray) -> str | None:
    found = _DECLARED_ENCODING.match(content[:200])
    return found[1].decode().lower() if found else None


def _unpacked(path: Path, content: bytes | bytearray) -> bytearray:
    most = min(MAX_BYTES, SPARE_BYTES + _MAX_RATIO * len(content))
    unpacked = bytearray()
    for _ in range(_MAX_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked += member.decompress(content, most - len(unpacked) + 1)
        except zlib.error as error:
            raise InstanceError(f"{path}: damaged, gzip cannot unpack it ({error})") from error
        if len(unpacked) > most:
            raise InstanceError(
                f"{path}: unpacks to more than {most >> 20} MiB, the most that is read of "
                f"{len(content)} packed bytes"
            )
        if not member.eof:
            raise InstanceError(f"{path}: cut off, gzip cannot unpack it to the end")
        content = member.unused_data.lstrip(b"\0")
        if not content:
            return unpacked
    raise InstanceError(f"{path}: gzip with more than {_MAX_MEMBERS} members is not read")


def open_file(path: str | Path, *, follow: bool = True) -> BinaryIO:
    """Open a plain file of at most :data:`MAX_NATIVE_BYTES`.

    Args:
        path: the file.
        follow: whether it may be a link; files that the user names may, files named in files not.

    Raises:
        InstanceError: it is missing or no plain file, is too large or cannot be read.
    """
    path = Path(path)
    try:
        return open_plain(path, MAX_NATIVE_BYTES, follow=follow)
    except FileNotFoundError:
        raise InstanceError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # a null byte in the path is a ValueError
        raise InstanceError(f"{path}: cannot be read ({error})") from error
