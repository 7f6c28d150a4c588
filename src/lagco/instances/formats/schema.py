"""Checking JSON against the part of JSON Schema that our own schemas use.

The schemas lie beside this module, for other tools; this is what they are checked by here, so the
two cannot disagree. A keyword that is not known is an error of ours, not of the file.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from lagco.errors import suggest
from lagco.instances.formats.source import shown

Path = tuple[str | int, ...]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}
_ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default"}


class Mismatch(Exception):
    """A value that does not fit its schema: where it is, and why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


@lru_cache(maxsize=8)
def load_schema(name: str) -> dict[str, Any]:
    """The schema of that name."""
    file = resources.files("lagco.instances.formats") / "schemas" / f"{name}.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return schema


def check(value: Any, schema: dict[str, Any], root: dict[str, Any], path: Path = ()) -> None:
    """Raise a :class:`Mismatch` unless `value` fits `schema`."""
    for keyword, wanted in schema.items():
        if keyword == "$ref":
            check(value, root["$defs"][wanted.removeprefix("#/$defs/")], root, path)
        elif keyword == "type":
            if not _is(value, wanted):
                raise Mismatch(path, f"is {shown(value)}, it must be {_article(wanted)}")
        elif keyword not in _ANNOTATIONS:
            _CHECKS[keyword](value, wanted, schema, root, path)


def spelled_path(path: Path) -> str:
    """A path as people write it: ``hosts[3].services[0]``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "the whole"


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _check_properties(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if isinstance(value, dict):
        for name, inner in wanted.items():
            if name in value:
                check(value[name], inner, root, (*path, name))


def _check_required(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if isinstance(value, dict):
        for name in wanted:
            if name not in value:
                raise Mismatch(path, f"has no {name!r}")


def _check_additional(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if isinstance(value, dict) and wanted is False:
        for name in value:
            if name not in schema["properties"]:
                raise Mismatch(path, suggest("field", shown(name)[1:-1], schema["properties"]))


def _check_items(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if isinstance(value, list):
        for position, item in enumerate(value):
            check(item, wanted, root, (*path, position))


def _check_unique(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if isinstance(value, list) and wanted:
        seen: set[Any] = set()
        for position, item in enumerate(value):
            if item in seen:
                raise Mismatch((*path, position), f"{shown(item)} stands there twice")
            seen.add(item)


def _check_size(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    low, high = schema.get("minItems", 0), schema.get("maxItems", 1 << 62)
    if isinstance(value, list) and not low <= len(value) <= high:
        bounds = f"at least {low}" if len(value) < low else f"at most {high}"
        raise Mismatch(path, f"has {len(value)} entries, there must be {bounds}")


def _check_range(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    low, high = schema["minimum"], schema["maximum"]
    if _is(value, "number") and not low <= value <= high:
        raise Mismatch(path, f"is {shown(value)}, it must be {low:g} to {high:g}")


def _check_length(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    low, high = schema["minLength"], schema["maxLength"]
    if isinstance(value, str) and not low <= len(value) <= high:
        raise Mismatch(path, f"has {len(value)} characters, give {low} to {high}")


def _check_const(value: Any, wanted: Any, schema: Any, root: Any, path: Path) -> None:
    if value != wanted or isinstance(value, bool):
        raise Mismatch(path, f"is {shown(value)}, this lagco reads {wanted!r}")


_CHECKS = {
    "properties": _check_properties,
    "required": _check_required,
    "additionalProperties": _check_additional,
    "items": _check_items,
    "uniqueItems": _check_unique,
    "minItems": _check_size,
    "maxItems": _check_size,
    "minimum": _check_range,
    "maximum": _check_range,
    "minLength": _check_length,
    "maxLength": _check_length,
    "const": _check_const,
}
