"""Described files: schema, version and checksum, atomic writes, strict reading.

:class:`Kind` is one kind of file: format, version, schema, checksum, tensors. What every kind of
file holds is listed in ``docs/reference/files.md``.
"""

from lagco.store.files import check_writable, open_plain, sha256, write_atomically
from lagco.store.kind import SHA256, Described, Kind
from lagco.store.schema import (
    COUNT,
    TEXT,
    Mismatch,
    Place,
    Schema,
    array_of,
    check,
    object_of,
    spelled_path,
)
from lagco.store.tensors import MAX_WEIGHT, Tensors
from lagco.store.text import (
    canonical_json,
    parse_json,
    read_text,
    read_toml,
    readable_json,
    shown,
)

__all__ = [
    "COUNT",
    "MAX_WEIGHT",
    "SHA256",
    "TEXT",
    "Described",
    "Kind",
    "Mismatch",
    "Place",
    "Schema",
    "Tensors",
    "array_of",
    "canonical_json",
    "check",
    "check_writable",
    "object_of",
    "open_plain",
    "parse_json",
    "read_text",
    "read_toml",
    "readable_json",
    "sha256",
    "shown",
    "spelled_path",
    "write_atomically",
]
