"""Messages between the server and its workers: JSON and blobs over a stream of bytes.

A message is a JSON object and any number of blobs. Reading one runs no code, so that a worker that
a hostile file has taken over can send the server nothing but data.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

#: largest message, as a limit to what a worker can make the server hold
MOST_BYTES = 1 << 30
_SIZE = struct.Struct("!I")
_LENGTHS = "blobs"


class Message(NamedTuple):
    """A JSON object and blobs.

    Attributes:
        content: JSON values by name.
        blobs: bytes that go with it.
    """

    content: dict[str, Any]
    blobs: tuple[bytes, ...] = ()


def packed(message: Message) -> bytes:
    """A message as bytes: size of the head, the head, the blobs."""
    head = {**message.content, _LENGTHS: [len(blob) for blob in message.blobs]}
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"".join((_SIZE.pack(len(text)), text, *message.blobs))


async def received(reader: asyncio.StreamReader) -> Message:
    """The next message of a stream, in the server.

    Raises:
        EOFError: the other side has ended.
        ValueError: it is no message.
    """
    try:
        (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
        content, lengths = _head(await reader.readexactly(_checked(size)))
        return Message(content, tuple([await reader.readexactly(n) for n in lengths]))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise EOFError from error


class Line:
    """A worker's end of its stream.

    Args:
        connection: to the server.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")

    def receive(self) -> Message:
        """The next message; raises EOFError where the server has ended."""
        try:
            (size,) = _SIZE.unpack(self._exactly(_SIZE.size))
            content, lengths = _head(self._exactly(_checked(size)))
            return Message(content, tuple(self._exactly(n) for n in lengths))
        except ConnectionError as error:
            raise EOFError from error

    def send(self, content: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """Send a message; raises EOFError where the server has ended."""
        try:
            self._connection.sendall(packed(Message(content, tuple(blobs))))
        except ConnectionError as error:
            raise EOFError from error

    def _exactly(self, size: int) -> bytes:
        found = self._stream.read(size)
        if found is None or len(found) < size:
            raise EOFError
        return found


def _checked(size: int) -> int:
    if size > MOST_BYTES:
        raise ValueError(f"a message of {size} bytes; at most {MOST_BYTES}")
    return size


def _head(text: bytes) -> tuple[dict[str, Any], list[int]]:
    content = json.loads(text)
    lengths = content.pop(_LENGTHS)
    _checked(sum(lengths))
    return content, lengths
