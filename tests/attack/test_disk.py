"""Disks that are full or read-only: an error that names the file, and nothing is lost."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from lagco.errors import WriteError
from lagco.store import write_atomically
from tests.attack.kills import COMMANDS, prepare

#: bytes that a file may have: less than any encoder, agent or page
ROOM = 2048


def _no_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def _run(argv, **options):
    return subprocess.run(argv, capture_output=True, text=True, **options)


def test_what_was_there_stays(tmp_path):
    path = tmp_path / "kept.bin"
    write_atomically(path, b"before")
    script = (
        "import sys; from lagco.store import write_atomically; "
        f"write_atomically(sys.argv[1], bytes({2 * ROOM}))"
    )
    result = _run([sys.executable, "-c", script, str(path)], preexec_fn=_no_room)
    assert "WriteError" in result.stderr and "kept.bin: cannot be written" in result.stderr
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.bin"]


def test_a_folder_that_is_a_file_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(WriteError, match="taken/x.json: cannot be written"):
        write_atomically(tmp_path / "taken" / "x.json", b"1")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    prepare(folder)
    return folder


LONG = ("generate, two workers", "pretrain", "train projection", "train from the solver", "study",
        "report")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_a_command_on_a_full_disk_says_so_and_goes_on_later(name, inputs, tmp_path):
    command = COMMANDS[name]
    whole, full = tmp_path / "whole", tmp_path / "full"
    for folder in (whole, full):
        folder.mkdir()
    assert _run(command.argv(inputs, whole)).returncode == 0
    stopped = _run(command.argv(inputs, full), preexec_fn=_no_room)
    assert stopped.returncode == 1
    assert "cannot be written (File too large)" in stopped.stdout + stopped.stderr
    if "-m" in command.arguments:
        assert "Traceback" not in stopped.stderr
    finished = _run(command.argv(inputs, full))
    assert finished.returncode == 0, finished.stderr
    assert not list(full.rglob("*.part"))
    assert command.result(full) == command.result(whole)
