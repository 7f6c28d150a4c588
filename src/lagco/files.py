"""Files that are either wholly there or not at all, with checksums over what they hold."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def write_atomically(path: str | Path, content: bytes) -> None:
    """Write `content` beside `path`, flush it to disk, then rename it into place."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def canonical_json(value: Any) -> str:
    """One spelling per value: sorted keys, no spaces, no NaN. Used under checksums."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def readable_json(value: Any) -> bytes:
    """JSON for people: indented, keys in the given order, a newline at the end."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()
