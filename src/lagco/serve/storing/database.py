"""A connection to SQLite or PostgreSQL, with the same statements for both."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lagco.errors import LagcoError, require_extra

#: how a URL of PostgreSQL begins
POSTGRES = ("postgresql://", "postgres://")
#: seconds that SQLite waits for a lock, and seconds for the advisory lock of a server that ended
_PATIENCE = 10.0
#: of the advisory lock that one service holds: "lagco" as a number
_LOCK = 0x6C6167636F
_TABLES = (
    """CREATE TABLE IF NOT EXISTS lagco_instances (
        id TEXT PRIMARY KEY, created DOUBLE PRECISION NOT NULL, about TEXT NOT NULL,
        key TEXT UNIQUE)""",
    """CREATE TABLE IF NOT EXISTS lagco_log (
        id TEXT NOT NULL, seq INTEGER NOT NULL, version INTEGER, number INTEGER,
        kind TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, objective DOUBLE PRECISION,
        body TEXT NOT NULL, answer TEXT NOT NULL, key TEXT,
        PRIMARY KEY (id, seq), UNIQUE (id, key))""",
    "CREATE INDEX IF NOT EXISTS lagco_numbers ON lagco_log (id, number)",
    """CREATE TABLE IF NOT EXISTS lagco_snapshots (
        id TEXT NOT NULL, version INTEGER NOT NULL, content {bytes} NOT NULL,
        PRIMARY KEY (id, version))""",
)


class Database:
    """A connection; statements have ``?`` where values go.

    Args:
        place: file of SQLite, or a URL of PostgreSQL.
        alone: whether no other service may write to it at the same time.

    Raises:
        LagcoError: it cannot be opened.
    """

    def __init__(self, place: str | Path, *, alone: bool = False) -> None:
        self._place, self._alone = place, alone
        self._is_postgres = str(place).startswith(POSTGRES)
        self._connection = self._connected()

    def make_tables(self) -> None:
        """Make the tables where there are none."""
        with self.transaction():
            for table in _TABLES:
                self.run(table.format(bytes="BYTEA" if self._is_postgres else "BLOB"))

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows that a statement gives."""
        if self._is_postgres:
            statement = statement.replace("?", "%s")
            if self._connection.closed:  # the database was restarted
                self._connection = self._connected()
        cursor = self._connection.execute(statement, values)
        return [] if cursor.description is None else list(cursor.fetchall())

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All statements of the block, or none."""
        self.run("BEGIN")
        try:
            yield
        except BaseException:
            self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _connected(self) -> Any:
        try:
            if not self._is_postgres:
                return _sqlite(self._place)
            connection = _postgres(str(self._place))
        except Exception as error:
            raise LagcoError(
                f"store={_without_password(str(self._place))}: cannot be opened "
                f"({str(error).strip().splitlines()[0]})"
            ) from None
        if self._alone:
            _lock(connection)
        return connection


def _lock(connection: Any) -> None:
    """Keep others from writing, once another server of this store is gone."""
    patience = time.monotonic() + _PATIENCE
    while True:
        (found,) = connection.execute("SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone()
        if found:
            return
        if time.monotonic() > patience:
            raise LagcoError("store: another lagco serve writes to this database")
        time.sleep(0.1)


def _sqlite(place: str | Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA journal_mode=WAL")
    # what was written is there after a kill of any process; a loss of power may cost the last
    # moments, but never what lies before them
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _postgres(url: str) -> Any:
    psycopg = require_extra("psycopg", "serve", "a store in PostgreSQL")
    return psycopg.connect(url, autocommit=True)


def _without_password(place: str) -> str:
    scheme, found, rest = place.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if found else place
