"""Checks that every request passes before it is routed: names, origins, tokens, sizes.

It is plain ASGI around the application, so that nothing is read of a request that is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lagco.errors import UsageError
from lagco.serve.options import ServeOptions
from lagco.serve.serving.faults import MEDIA_TYPE, Fault
from lagco.serve.serving.metrics import Metrics
from lagco.store import open_plain

log = logging.getLogger("lagco.serve")
SCOPES = ("read", "write")
#: shortest token, and largest file of them
_SHORTEST, _MOST_FILE = 16, 1 << 16
#: bytes of a request without files or events
_SMALL = 1 << 16
#: times the largest upload that is read, and dropped, of one that is too large
_DRAINED = 4
#: ends of the paths of requests that carry files or events
_LARGE = ("/v1/instances", "/v1/decide", "/events")
#: what needs no token: it tells nothing of any instance
_OPEN = ("/", "/healthz", "/readyz")
_OPEN_FOLDER = "/page/"
#: what the log does not speak of
_UNNOTED = ("/healthz", "/readyz", "/metrics")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Tokens(NamedTuple):
    """Digests of tokens, by what they allow.

    Attributes:
        read: to look only.
        write: to do everything.
    """

    read: tuple[bytes, ...]
    write: tuple[bytes, ...]

    @classmethod
    def of(cls, path: str | Path) -> Tokens:
        """The tokens of a file: a line each, ``read`` or ``write`` and the token."""
        try:
            with open_plain(Path(path), _MOST_FILE, follow=True) as stream:
                lines = stream.read().decode("ascii").splitlines()
        except (OSError, ValueError) as error:
            raise UsageError(f"tokens={path}: cannot be read ({error})") from None
        found: dict[str, list[bytes]] = {scope: [] for scope in SCOPES}
        for number, line in enumerate(lines, start=1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) != 2 or words[0] not in SCOPES or len(words[1]) < _SHORTEST:
                raise UsageError(
                    f"tokens={path}, line {number}: give read or write, and a token of at least "
                    f"{_SHORTEST} characters"
                )
            found[words[0]].append(_digest(words[1].encode()))
        if not found["write"]:
            raise UsageError(f"tokens={path}: has no line 'write TOKEN'")
        return cls(tuple(found["read"]), tuple(found["write"]))

    def scope_of(self, token: bytes) -> str | None:
        """What a token allows; None where it is unknown. Takes as long for every token."""
        given, found = _digest(token), None
        for scope, digests in zip(SCOPES, self, strict=True):
            for digest in digests:
                if hmac.compare_digest(given, digest):
                    found = scope
        return found


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


class Guard:
    """The application behind its guard.

    Args:
        app: the application.
        options: names by which it may be called, limits.
        metrics: count requests.
        tokens: that requests need; None where none are.
        full: says whether what a path leads to takes no more now.
    """

    def __init__(
        self,
        app: App,
        options: ServeOptions,
        metrics: Metrics,
        tokens: Tokens | None,
        full: Callable[[str], Fault | None] = lambda path: None,
    ) -> None:
        self._full = full
        self._app = app
        self._options = options
        self._metrics = metrics
        self._tokens = tokens
        self._hosts = None if options.hosts is None else {name.lower() for name in options.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle what a server hands on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = _Passage(scope, send)
        try:
            headers = _headers(scope)
            self._check(scope, headers)
            limited = self._limited(scope, headers, receive)
            await self._app(scope, limited, passage.send)
        except Fault as fault:
            if fault.status == 413:
                await _drain(receive, _DRAINED * self._options.upload_bytes)
            await passage.refuse(fault)
        finally:
            self._note(scope, passage)

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        host = headers.get(b"host", b"").decode("latin-1").lower()
        if self._hosts is not None and _name_of(host) not in self._hosts:
            raise Fault(421, "the service is not called by that name; see the option names")
        origin = headers.get(b"origin")
        if origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host:
            raise Fault(403, "requests from pages of other sites are not taken")
        if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            raise Fault(403, "requests from pages of other sites are not taken")
        self._check_token(scope, headers)
        fault = self._full(scope["path"]) if scope["method"] == "POST" else None
        if fault is not None:
            raise fault

    def _check_token(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        path: str = scope["path"]
        if self._tokens is None or path in _OPEN or path.startswith(_OPEN_FOLDER):
            return
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        allowed = self._tokens.scope_of(token.strip()) if kind.lower() == b"bearer" else None
        if allowed is None:
            raise Fault(
                401, "give a token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"}
            )
        if allowed == "read" and scope["method"] not in ("GET", "HEAD"):
            raise Fault(403, "this token is for reading only")

    def _limited(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """What the application receives, up to the size that a request may have."""
        large = scope["path"].endswith(_LARGE)
        most = self._options.upload_bytes if large else _SMALL
        shown = f"{most / (1 << 20):g} MiB"
        fault = Fault(413, f"more than {shown}, the most that this request may have")
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > most:
            raise fault
        got = 0

        async def limited() -> MutableMapping[str, Any]:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > most:
                raise fault
            return message

        return limited

    def _note(self, scope: Scope, passage: _Passage) -> None:
        seconds = time.perf_counter() - passage.began
        route = getattr(scope.get("route"), "path", "")
        self._metrics.request(route or "other", passage.status, seconds)
        if scope["path"] not in _UNNOTED and passage.status != 429:  # counted, and there are many
            log.info(
                "request",
                extra={
                    "method": scope["method"],
                    "route": route,
                    "status": passage.status,
                    "ms": round(1000.0 * seconds, 2),
                    "instance": scope.get("path_params", {}).get("id"),
                },
            )


class _Passage:
    """An answer on its way out: its status is noted, headers are added."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.began = time.perf_counter()
        self.status = 0
        self._send = send

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *_HEADERS]
        await self._send(message)

    async def refuse(self, fault: Fault) -> None:
        """Answer with a problem document, if nothing was sent yet."""
        if self.status:
            return
        body = fault.document()
        headers = [(b"content-type", MEDIA_TYPE.encode())]
        if fault.status != 429:  # which is answered before all was read
            headers.append((b"connection", b"close"))
        headers += [
            (name.lower().encode(), value.encode()) for name, value in fault.headers.items()
        ]
        headers.append((b"content-length", str(len(body)).encode()))
        start = {"type": "http.response.start", "status": fault.status, "headers": headers}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})


async def _drain(receive: Receive, most: int) -> None:
    """Read on for a while: clients look for an answer only once they have sent everything."""
    while most > 0:
        message = await receive()
        most -= len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Headers by name; one that stands there twice is refused."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in found and name in (b"host", b"authorization", b"content-length", b"origin"):
            raise Fault(400, f"the header {name.decode('latin-1')} stands there twice")
        found[name] = value
    return found


def _name_of(host: str) -> str:
    """The name in a header ``Host``, without the port."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
