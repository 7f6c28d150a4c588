"""A thread that writes to the store: what comes together is committed together."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from lagco.serve.storing.database import Database
from lagco.serve.storing.store import Reader, Write

_Found = TypeVar("_Found")
_Pending = tuple[Write, "asyncio.Future[None]"]


class StoreError(Exception):
    """The store cannot be read or written now."""


class Journal:
    """The store, from a loop of asyncio.

    Args:
        place: file of SQLite, or a URL of PostgreSQL.
    """

    def __init__(self, place: str | Path) -> None:
        self._database = Database(place, alone=True)
        self._database.make_tables()
        self._reading = Database(place)
        self.reader = Reader(self._reading)
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    async def write(self, write: Write) -> None:
        """Return once it is committed.

        Raises:
            StoreError: it is not.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((write, done))
        await asyncio.shield(done)

    async def read(self, find: Callable[[Reader], _Found]) -> _Found:
        """What a function finds in the store, in another thread."""
        return await asyncio.to_thread(self._read, find)

    def close(self) -> None:
        """Write what is left, and end."""
        self._queue.put(None)
        self._thread.join()
        self._database.close()
        self._reading.close()

    def _read(self, find: Callable[[Reader], _Found]) -> _Found:
        with self._lock:
            try:
                return find(self.reader)
            except Exception:
                pass  # a database that was restarted is connected to again
            try:
                return find(self.reader)
            except Exception as error:
                raise StoreError(str(error)) from error

    def _work(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._batch()
            if batch:
                self._commit(batch)

    def _batch(self) -> tuple[list[_Pending], bool]:
        """What waits, at least one; and whether that was the last."""
        batch: list[_Pending] = []
        wait = True
        while True:
            try:
                pending = self._queue.get(block=wait)
            except queue.Empty:
                return batch, False
            if pending is None:
                return batch, True
            batch.append(pending)
            wait = False

    def _commit(self, batch: list[_Pending]) -> None:
        try:
            with self._database.transaction():
                for write, _ in batch:
                    write(self._database)
        except Exception as error:
            if len(batch) == 1:
                _tell(batch, StoreError(str(error)))
                return
            for pending in batch:  # one of them is to blame, which shall not harm the others
                self._commit([pending])
            return
        _tell(batch, None)


def _tell(batch: list[_Pending], error: Exception | None) -> None:
    def tell(done: asyncio.Future[Any]) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    for _, done in batch:
        done.get_loop().call_soon_threadsafe(tell, done)
