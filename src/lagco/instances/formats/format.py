"""Description of a file format: how to recognise, read and write it, and its problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from lagco.instances.formats.source import Source, clean
from lagco.instances.instance import Instance


class Model(Protocol):
    """Parsed contents of a file, before the problem is known."""

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `problem`, one of those that the format lists."""


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        name: what :func:`lagco.instances.detect` answers.
        summary: one line about it.
        suffixes: names of files that :func:`lagco.instances.write` writes like this.
        problems: names of problems, the default first; empty for files that are not instances.
        matches: whether a file is of this format, by its content.
        read: parses a file; None for files that are not instances.
        write: the text of an instance; None where only lagco's own bytes do.
        hint: what to do with a file that is not an instance.
    """

    name: str
    summary: str
    problems: tuple[str, ...]
    matches: Callable[[Source], bool]
    read: Callable[[Source], Model] | None = None
    write: Callable[[Instance], str] | None = None
    suffixes: tuple[str, ...] = ()
    hint: str = ""


def origin(source: Source, format_name: str, notes: list[str]) -> dict[str, object]:
    """Origin of an instance: file, format, and notes on what its reader decided or left out."""
    found: dict[str, object] = {"file": clean(source.path.name), "format": format_name}
    return found | ({"notes": notes} if notes else {})


def spelled(value: float) -> str:
    """A number as short as can be without losing a bit."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
