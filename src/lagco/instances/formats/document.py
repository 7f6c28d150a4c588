"""JSON files with a schema: read strictly, checked, errors that name the path inside the file."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from lagco.errors import InstanceError
from lagco.instances.formats.source import Source
from lagco.store import Mismatch, Place, Schema, check, parse_json, shown, spelled_path

VERSION = 1
_HEAD = 10_000


class Document:
    """A checked JSON object.

    Args:
        source: the file.
        content: what it holds.
        schema: name of the schema.
        lines: where the parts of a file that is no JSON stand: line of each (part, position).
    """

    def __init__(
        self,
        source: Source,
        content: dict[str, Any],
        schema: str,
        lines: dict[tuple[str, int], int] | None = None,
    ) -> None:
        self.source = source
        self.content = content
        self._lines = lines
        try:
            check(content, load_schema(schema))
        except Mismatch as mismatch:
            raise self.error(mismatch.path, mismatch.reason) from None

    def error(self, path: Place, reason: str) -> InstanceError:
        """Error about the value at `path`."""
        if self._lines is None or len(path) < 2:
            return self.source.error(f"{spelled_path(path)}: {reason}")
        line = self._lines[str(path[0]), int(path[1])]
        field = f"{spelled_path(path[2:])}: " if len(path) > 2 else ""
        return self.source.error(f"{field}{reason}", line)

    def index(self, part: str) -> dict[str, int]:
        """Position of every entry of a part by its name; an error if two share one."""
        found: dict[str, int] = {}
        for position, entry in enumerate(self.content[part]):
            name = entry["name"]
            if not name.isprintable():
                raise self.error((part, position, "name"), f"{shown(name)} is not printable")
            if name in found:
                raise self.error((part, position, "name"), f"{shown(name)} stands there twice")
            found[name] = position
        return found

    def look_up(self, index: dict[str, int], name: str, path: Place) -> int:
        """Position of the entry of that name."""
        if name not in index:
            raise self.error(path, f"there is no {shown(name)}")
        return index[name]


@cache
def load_schema(name: str) -> Schema:
    """The schema of that name."""
    file = resources.files("lagco.instances.formats") / "schemas" / f"{name}.schema.json"
    schema: Schema = json.loads(file.read_text(encoding="utf-8"))
    return schema


def json_value(source: Source) -> Any:
    """The value of a JSON file; no constant but true, false and null, no key twice."""
    source.refuse_large("JSON")
    try:
        return parse_json(source.text)
    except json.JSONDecodeError as error:
        raise source.error(f"damaged JSON: {error.msg}", error.lineno) from error
    except ValueError as error:
        raise source.error(f"damaged JSON: {error}") from error


def declares(source: Source, name: str) -> bool:
    """Whether a JSON object says that it is of the format `name`, damaged or not."""
    head = source.text[:_HEAD].lstrip()
    return head.startswith("{") and re.search(rf'"format"\s*+:\s*+"{name}"', head) is not None
