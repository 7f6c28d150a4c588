"""The store, in SQLite and in PostgreSQL: what is written together, kept, and read again."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import tempfile

import pytest

from lagco.errors import LagcoError
from lagco.serve.storing.database import Database
from lagco.serve.storing.journal import Journal
from lagco.serve.storing.store import Entry, addition, creation, deletion
from tests.serve.running import run_async


@pytest.fixture(scope="module")
def postgres():
    """URL of a server of PostgreSQL that is gone after the tests."""
    pytest.importorskip("psycopg")
    if shutil.which("initdb") is None or shutil.which("pg_ctl") is None:
        pytest.skip("there is no PostgreSQL")
    with tempfile.TemporaryDirectory(prefix="lagco-postgres-") as folder:
        if os.geteuid() == 0:  # which PostgreSQL does not run as
            if not any(entry.pw_name == "postgres" for entry in pwd.getpwall()):
                pytest.skip("there is no user postgres")
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        _run("initdb", "-D", data, "-U", "lagco", "--auth=trust", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        _run("pg_ctl", "-D", data, "-l", f"{folder}/log", "-w", "-o", options, "start")
        yield f"postgresql://lagco@/postgres?host={folder}"
        _run("pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A store of each kind."""
    if request.param == "sqlite":
        return tmp_path / "store.db"
    return request.getfixturevalue("postgres")


def entry(seq, version=None, number=None, kind="events", key=None):
    return Entry(seq, version, number, kind, 1.5 * seq, 0.5, f'{{"n":{seq}}}', '{"told":1}', key)


def with_journal(place, work):
    """What work with a store gives; the store is closed before."""

    async def run():
        journal = Journal(place)
        try:
            return await work(journal)
        finally:
            journal.close()

    return run_async(run)


def test_what_was_written_is_read_again(place):
    entries = [entry(1, 1), entry(2, None, 0, "decision", "k"), entry(3, 2, 0, "confirm")]

    async def write(journal):
        await journal.write(creation("a", 7.0, {"objective": 3.0}, b"\0bytes", "made"))
        await asyncio.gather(*(journal.write(addition("a", one)) for one in entries))

    async def read(journal):
        reader = journal.reader
        (known,) = reader.instances()
        assert (known.id, known.seq, known.version, known.decisions) == ("a", 3, 2, 1)
        assert known.objective == 0.5 and known.about == {"objective": 3.0}
        assert reader.history("a", 0, 10) == entries and reader.history("a", 2, 10) == entries[2:]
        assert reader.opening("a") == (0, b"\0bytes", ['{"n":1}', '{"n":3}'])
        assert reader.about_decision("a", 0) == entries[1:]
        assert reader.by_key("a", "k") == entries[1] and reader.named("made") == "a"
        await journal.write(addition("a", entry(4, 3), b"later"))
        assert reader.opening("a") == (3, b"later", [])
        assert reader.snapshot("a", first=True) == (0, b"\0bytes")
        await journal.write(deletion("a"))
        assert list(reader.instances()) == []

    with_journal(place, write)
    with_journal(place, read)


def test_one_write_that_fails_takes_no_other_with_it(place):
    async def work(journal):
        await journal.write(creation("b", 7.0, {}, b"", None))
        writes = [addition("b", one) for one in (entry(1, key="x"), entry(1), entry(2, key="y"))]
        done = await asyncio.gather(*map(journal.write, writes), return_exceptions=True)
        assert [isinstance(one, Exception) for one in done] == [False, True, False]
        assert [one.seq for one in journal.reader.history("b", 0, 10)] == [1, 2]
        await journal.write(deletion("b"))

    with_journal(place, work)


def test_a_store_that_cannot_be_opened_is_named_without_its_password(tmp_path):
    with pytest.raises(LagcoError, match="cannot be opened"):
        Database(tmp_path / "none" / "store.db")
    with pytest.raises(LagcoError, match="cannot be opened") as caught:
        Database("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def _run(*words):
    user = "postgres" if os.geteuid() == 0 else None
    subprocess.run(words, user=user, cwd="/", check=True, capture_output=True, timeout=120)
