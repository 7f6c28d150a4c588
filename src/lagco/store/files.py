"""Atomic writes, and reading of plain files up to a size limit.

What is written goes to a file ``.NAME.0.part`` next to the one that it will replace. Its writer
holds a lock on it; one that nobody holds was left by a writer that was killed, and the next writer
of the same file removes it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from lagco.errors import WriteError

#: processes that write the same file at the same time; further ones wait
_WRITERS = 8


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
        handle, part = _new_part(folder / path.name)
        part.unlink()
        os.close(handle)
    except OSError as error:
        raise WriteError(
            f"{path}: cannot be written ({error.strerror or error}); name a file in a folder that "
            "you may write to"
        ) from error


def _replace(path: Path, content: bytes | Iterable[bytes | memoryview]) -> None:
    handle, part = _new_part(path)
    with os.fdopen(handle, "wb") as stream:  # it is locked until it is closed
        try:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(handle)
            os.fchmod(handle, 0o666 & ~_umask())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    for number in range(_WRITERS):
        _remove_left(_part(path, number))
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _part(path: Path, number: int) -> Path:
    return path.with_name(f".{path.name}.{number}.part")


def _new_part(path: Path) -> tuple[int, Path]:
    """Open and lock a new file that no other writer of `path` uses."""
    number = 0
    while True:
        part = _part(path, number)
        try:
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            last = number == _WRITERS - 1
            if not _remove_left(part, wait=last):
                if last:
                    raise
                number += 1
            continue
        _lock(handle)
        if _is_open_at(handle, part):
            return handle, part
        os.close(handle)  # taken for one that was left, before it was locked


def _remove_left(part: Path, wait: bool = False) -> bool:
    """Remove a file that a killed writer left; False if it lives, or the file cannot be removed.

    Args:
        part: the file, which need not exist.
        wait: for a living writer to finish.
    """
    try:
        handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # somebody else's
    try:
        if not _lock(handle, wait):
            return False
        if _is_open_at(handle, part):
            part.unlink(missing_ok=True)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def _lock(handle: int, wait: bool = True) -> bool:
    """Lock an open file; False if another process has it. Some file systems cannot lock."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return wait  # then nothing is known about other writers, whose files stay
    return True


def _is_open_at(handle: int, path: Path) -> bool:
    """Whether that path still leads to the open file."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def open_plain(path: Path, most: int, *, follow: bool = False) -> BinaryIO:
    """Open a plain file of at most `most` bytes for reading.

    The kind and the size are checked before it is opened, since opening alone can block (a named
    pipe) or have effects (a device), and again on what was opened.

    Args:
        path: the file.
        most: bytes that it may have.
        follow: whether it may be a link to such a file.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be opened, is a link or no plain file, or is larger.
    """
    status = path.stat() if follow else path.lstat()
    _refuse_unplain(status, most)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _refuse_unplain(os.fstat(handle), most)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_plain(path: Path, most: int, *, follow: bool = False) -> bytes:
    """Bytes of a plain file of at most `most` bytes; errors as of :func:`open_plain`."""
    with open_plain(path, most, follow=follow) as stream:
        return stream.read(os.fstat(stream.fileno()).st_size)  # as much room as is asked for


def _refuse_unplain(status: os.stat_result, most: int) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError("it is a link; copy the file itself")
    if stat.S_ISDIR(status.st_mode):
        raise OSError("it is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a plain file")
    if status.st_size > most:
        raise OSError(f"it has {status.st_size} bytes, {most} are the most that is read")


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256 of `content`."""
    return hashlib.sha256(content).hexdigest()
