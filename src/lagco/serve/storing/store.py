"""Live instances and their log, as the service reads and writes them.

The log is the truth: an entry has the request that it came from and the answer that was given.
Entries that change an instance have a version; instances are kept as they began, and as they were
every so many versions, so that they are soon read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lagco.serve.storing.database import Database

_ENTRY = "seq, version, number, kind, at, objective, body, answer, key"


@dataclass(frozen=True)
class Entry:
    """An entry of the log of a live instance.

    Attributes:
        seq: its place, from 1 on.
        version: of the instance after it; None where it changes nothing.
        number: of the decision that it is or refers to; None without one.
        kind: ``events``, ``decision``, ``confirm``, ``reject`` or ``undo``.
        at: seconds since 1970.
        objective: of the configuration in force after it; None where it is not known.
        body: what is needed to let it happen again, as JSON.
        answer: what the client was told, as JSON.
        key: by which a client recognises its own request; None without.
    """

    seq: int
    version: int | None
    number: int | None
    kind: str
    at: float
    objective: float | None
    body: str
    answer: str
    key: str | None = None

    @property
    def told(self) -> dict[str, Any]:
        """The answer."""
        found: dict[str, Any] = json.loads(self.answer)
        return found


@dataclass(frozen=True)
class StoredInstance:
    """A live instance in the store.

    Attributes:
        id: by which clients name it.
        created: seconds since 1970.
        about: what was found in its files, as JSON values.
        seq: of its last entry; 0 without.
        version: after the last entry that changed it.
        decisions: number of decisions so far.
        objective: the last that is known.
    """

    id: str
    created: float
    about: dict[str, Any]
    seq: int
    version: int
    decisions: int
    objective: float | None


#: a change of the store
Write = Callable[[Database], None]


def creation(id: str, created: float, about: dict[str, Any], content: bytes, key: Any) -> Write:
    """Add a live instance."""

    def write(database: Database) -> None:
        database.run(
            "INSERT INTO lagco_instances (id, created, about, key) VALUES (?, ?, ?, ?)",
            (id, created, json.dumps(about), key),
        )
        database.run("INSERT INTO lagco_snapshots VALUES (?, ?, ?)", (id, 0, content))

    return write


def addition(id: str, entry: Entry, snapshot: bytes | None = None) -> Write:
    """Add an entry, and the instance as it is after it where that is given."""

    def write(database: Database) -> None:
        values = (id, *(getattr(entry, name.strip()) for name in _ENTRY.split(",")))
        database.run(f"INSERT INTO lagco_log (id, {_ENTRY}) VALUES ({_marks(values)})", values)
        if snapshot is not None:
            database.run(
                "INSERT INTO lagco_snapshots VALUES (?, ?, ?)", (id, entry.version, snapshot)
            )
            database.run(
                "DELETE FROM lagco_snapshots WHERE id = ? AND version > 0 AND version < ?",
                (id, entry.version),
            )

    return write


def deletion(id: str) -> Write:
    """Remove a live instance and all that is known of it."""

    def write(database: Database) -> None:
        for table in ("lagco_log", "lagco_snapshots", "lagco_instances"):
            database.run(f"DELETE FROM {table} WHERE id = ?", (id,))

    return write


class Reader:
    """Reads the store.

    Args:
        database: a connection of its own.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def instances(self) -> Iterator[StoredInstance]:
        """All live instances, oldest first."""
        rows = self._database.run(
            """SELECT i.id, i.created, i.about,
                (SELECT COALESCE(MAX(seq), 0) FROM lagco_log l WHERE l.id = i.id),
                (SELECT COALESCE(MAX(version), 0) FROM lagco_log l WHERE l.id = i.id),
                (SELECT COALESCE(MAX(number) + 1, 0) FROM lagco_log l WHERE l.id = i.id),
                (SELECT objective FROM lagco_log l WHERE l.id = i.id AND objective IS NOT NULL
                    ORDER BY seq DESC LIMIT 1)
            FROM lagco_instances i ORDER BY i.created, i.id"""
        )
        for id, created, about, *rest in rows:
            yield StoredInstance(id, created, json.loads(about), *rest)

    def named(self, key: str) -> str | None:
        """The live instance that was made by a request with a key."""
        rows = self._database.run("SELECT id FROM lagco_instances WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def opening(self, id: str) -> tuple[int, bytes, list[str]]:
        """The latest version that was kept, its bytes, and the bodies of what changed it since."""
        version, content = self.snapshot(id)
        rows = self._database.run(
            "SELECT body FROM lagco_log WHERE id = ? AND version > ? ORDER BY version",
            (id, version),
        )
        return version, content, [body for (body,) in rows]

    def snapshot(self, id: str, first: bool = False) -> tuple[int, bytes]:
        """Version and bytes of an instance: the latest that was kept, or as it began."""
        order = "ASC" if first else "DESC"
        ((version, content),) = self._database.run(
            "SELECT version, content FROM lagco_snapshots WHERE id = ? "
            f"ORDER BY version {order} LIMIT 1",
            (id,),
        )
        return version, bytes(content)

    def history(self, id: str, after: int, most: int) -> list[Entry]:
        """Entries from one place on."""
        return self._entries("seq > ? ORDER BY seq LIMIT ?", id, after, most)

    def latest(self, id: str, kind: str, most: int) -> list[Entry]:
        """The latest entries of a kind, newest first."""
        return self._entries("kind = ? ORDER BY seq DESC LIMIT ?", id, kind, most)

    def about_decision(self, id: str, number: int) -> list[Entry]:
        """A decision, and what became of it."""
        return self._entries("number = ? ORDER BY seq", id, number)

    def by_key(self, id: str, key: str) -> Entry | None:
        """The entry of a request with a key."""
        found = self._entries("key = ?", id, key)
        return found[0] if found else None

    def _entries(self, condition: str, id: str, *values: Any) -> list[Entry]:
        rows = self._database.run(
            f"SELECT {_ENTRY} FROM lagco_log WHERE id = ? AND {condition}", (id, *values)
        )
        return [Entry(*row) for row in rows]


def _marks(values: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(values))
