"""Atomic writes, and reading of files up to a size limit."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from lagco.errors import WriteError


def write_atomically(path: str | Path, content: bytes | Iterable[bytes | memoryview]) -> None:
    """Write `content` to a file next to `path`, flush it to disk, then rename it into place.

    Raises:
        WriteError: it cannot be written; what was there before is unchanged.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror or error}); what was there is unchanged: "
            "make room or choose another place, and run the same again"
        ) from error


def check_writable(path: str | Path) -> None:
    """Find out whether a file could be written, before the work for it begins.

    Nothing is left behind: neither the file nor folders above it are made.

    Raises:
        WriteError: it could not.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".part", dir=folder):
            pass
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror or error}); name a file in a folder that "
            "you may write to"
        ) from error


def _replace(path: Path, content: bytes | Iterable[bytes | memoryview]) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
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


def read_plain(path: Path, most: int) -> bytes:
    """Bytes of a plain file of at most `most` bytes.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read, is a link or no plain file, or is larger.
    """
    if path.is_symlink():
        raise OSError("it is a link; copy the file itself")
    size = path.stat().st_size
    if not path.is_file():
        raise OSError("it is not a plain file")
    if size > most:
        raise OSError(f"it has {size} bytes, {most} are the most that is read")
    with path.open("rb") as stream:
        return stream.read(size)  # as much room is made as is asked for


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()
