"""Atomic writes beside writers that live and writers that were killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from lagco.errors import WriteError
from lagco.store import check_writable, open_plain, write_atomically
from tests.killed import killed_at

WRITE = "import sys; from lagco.store import write_atomically; write_atomically(sys.argv[1], b'1')"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def killed_writer(path, marker):
    """Leave what a writer leaves that is killed before it renames its file into place."""
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(path)], env=killed_at(str(path), marker), timeout=120
    )
    assert done.returncode == -signal.SIGKILL


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "kept.bin"
    killed_writer(path, tmp_path / "marker")
    (left,) = names(folder)
    assert left.startswith(".kept.bin.") and left.endswith(".part")
    write_atomically(folder / "other.bin", b"2")
    assert left in names(folder)  # it belongs to the writers of another file
    write_atomically(path, b"3")
    assert names(folder) == ["kept.bin", "other.bin"]
    assert path.read_bytes() == b"3"


def test_a_living_writer_keeps_its_file(tmp_path):
    path = tmp_path / "kept.bin"
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        yield b"slow "
        begun.set()
        assert go_on.wait(60)
        yield b"writer"

    writer = threading.Thread(target=write_atomically, args=(path, slow()))
    writer.start()
    assert begun.wait(60)
    write_atomically(path, b"quick writer")
    assert path.read_bytes() == b"quick writer"
    assert len(names(tmp_path)) == 2
    go_on.set()
    writer.join()
    assert path.read_bytes() == b"slow writer"
    assert names(tmp_path) == ["kept.bin"]


def test_many_writers_of_one_file_leave_one_whole_file(tmp_path):
    path = tmp_path / "kept.bin"
    contents = [bytes([k]) * 4096 for k in range(24)]
    writers = [threading.Thread(target=write_atomically, args=(path, c)) for c in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["kept.bin"]


def test_a_link_where_the_part_is_written_is_not_followed(tmp_path):
    kept = tmp_path / "precious"
    kept.write_bytes(b"before")
    path = tmp_path / "out.bin"
    (tmp_path / ".out.bin.0.part").symlink_to(kept)
    write_atomically(path, b"1")
    assert kept.read_bytes() == b"before" and path.read_bytes() == b"1"


def test_a_check_leaves_nothing_and_a_failure_neither(tmp_path):
    check_writable(tmp_path / "new" / "x.bin")
    assert names(tmp_path) == []

    def broken():
        yield b"1"
        raise KeyError

    with pytest.raises(KeyError):
        write_atomically(tmp_path / "x.bin", broken())
    assert names(tmp_path) == []
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match="folder: cannot be written"):
        check_writable(tmp_path / "folder")


def test_what_is_opened_is_a_plain_file(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    link = tmp_path / "link"
    link.symlink_to(path)
    with open_plain(path, 4) as stream:
        assert stream.read() == b"1234"
    with open_plain(link, 4, follow=True) as stream:
        assert stream.read() == b"1234"
    for place, reason in ((link, "it is a link"), (tmp_path, "a folder"), ("/dev/null", "plain")):
        with pytest.raises(OSError, match=reason):
            open_plain(type(tmp_path)(place), 4)
    with pytest.raises(OSError, match="4 bytes, 3 are the most"):
        open_plain(path, 3)
