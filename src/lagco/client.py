"""A client of the decision service, in plain Python.

>>> network = Client("http://127.0.0.1:8080").create("abilene.xml", problem="ospf")
>>> network.tell({"event": "link-down", "source": "ATLAng", "target": "HSTNng"})
>>> decision = network.decide(deadline_ms=50, max_changes=3)
>>> network.confirm(decision)

Requests that get no answer, or are told to come later, are sent again. Each has a key by which the
service recognises it, so that nothing happens twice.
"""

from __future__ import annotations

import http.client
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from lagco.errors import LagcoError, UsageError

_JSON, _STREAM = "application/json", "text/event-stream"
#: statuses that say that the same request may be sent again
_LATER = (429, 503)
#: seconds before a request is sent again, where the service does not say
_PAUSE = 0.2


class ServiceError(LagcoError):
    """The service has refused a request, or does not answer.

    Args:
        status: of HTTP; 0 where there was no answer.
        detail: what it says.
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Change(NamedTuple):
    """An element of the configuration that changes, by name."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Decision:
    """A decision of the service.

    Attributes:
        before: objective of the configuration in force.
        after: objective after the decision; the same where it holds.
        changes: what it changes; empty to leave all as it is.
        rows: rows of the configuration's array that it writes, with their values.
        late: whether nothing was found in time.
        refused: why what was found is not proposed.
        milliseconds: from the request to the answer, in the service.
        decision: its number; -1 of an instance that is not kept.
        state: ``proposed``, ``confirmed``, ``held``, ``rejected`` or ``undone``.
    """

    before: float | None
    after: float | None
    changes: tuple[Change, ...]
    rows: tuple[tuple[int, Any], ...]
    late: bool
    refused: str
    milliseconds: float
    decision: int = -1
    state: str = "held"

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Decision:
        """The decision in an answer."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in told.items() if name in known}
        values["changes"] = tuple(Change(**change) for change in told["changes"])
        values["rows"] = tuple((row, value) for row, value in told["rows"])
        return cls(**values)


class Client:
    """The service at a URL.

    Args:
        url: such as ``http://127.0.0.1:8080``.
        token: that it asks for.
        seconds: that an answer may take.
        tries: times that a request is sent before it is given up.
    """

    def __init__(
        self, url: str, token: str | None = None, *, seconds: float = 60.0, tries: int = 20
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"url={url!r}: give the address of a service, http://HOST:PORT")
        self._url = url
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=seconds)
        self._prefix = parts.path.rstrip("/")
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._tries = tries

    def create(
        self,
        file: str | Path | tuple[str, bytes],
        *,
        problem: str | None = None,
        max_changes: int | None = None,
        **files: str | Path | tuple[str, bytes],
    ) -> LiveInstance:
        """Make a live instance.

        Args:
            file: instance file, or its name and content.
            problem: where the file serves several.
            max_changes: most elements that a decision may change.
            files: ``demands``, ``incumbent`` and ``fixed``, likewise.
        """
        given = {"problem": problem, "max_changes": max_changes}
        return LiveInstance(self, self._upload("/v1/instances", {"file": file, **files}, given))

    def decide(
        self,
        file: str | Path | tuple[str, bytes],
        *,
        files: Mapping[str, str | Path | tuple[str, bytes]] | None = None,
        **options: Any,
    ) -> Decision:
        """Decide on an instance that is not kept.

        Args:
            file: instance file, or its name and content.
            files: ``demands``, ``incumbent`` and ``fixed``, likewise.
            options: ``by``, ``deadline_ms`` or ``turns``, ``max_changes``, ``problem``, ``seed``.
        """
        return Decision.of(self._upload("/v1/decide", {"file": file, **(files or {})}, options))

    def instances(self) -> list[LiveInstance]:
        """All live instances."""
        return [
            LiveInstance(self, about) for about in self.ask("GET", "/v1/instances")["instances"]
        ]

    def problems(self) -> dict[str, Any]:
        """What is served: problems, their events, controllers."""
        return self.ask("GET", "/v1/problems")

    def ask(self, method: str, path: str, content: Any = None) -> dict[str, Any]:
        """The answer to a request, as JSON values."""
        body = None if content is None else json.dumps(content).encode()
        answer = self._sent(method, path, body, {"Content-Type": _JSON})
        text = answer.read()
        found: dict[str, Any] = json.loads(text) if text else {}
        return found

    def stream(self, path: str, content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and values of the events that the service sends."""
        headers = {"Content-Type": _JSON, "Accept": _STREAM}
        answer = self._sent("POST", path, json.dumps(content).encode(), headers)
        name = ""
        for line in answer:
            key, _, value = line.decode().strip().partition(": ")
            if key == "event":
                name = value
            elif key == "data":
                yield name, json.loads(value)

    def _upload(
        self, path: str, files: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        kind, body = multipart({what: _content(file) for what, file in files.items()}, given)
        found: dict[str, Any] = json.loads(
            self._sent("POST", path, body, {"Content-Type": kind}).read()
        )
        return found

    def _sent(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        """The answer to a request, which is sent until there is one."""
        more = {**self._headers, **headers}
        if method != "GET":
            more["Idempotency-Key"] = uuid.uuid4().hex
        reason = ServiceError(0, f"{self._url}: does not answer")
        for _ in range(self._tries):
            pause = _PAUSE
            try:
                self._connection.request(method, self._prefix + path, body, more)
                answer = self._connection.getresponse()
                if answer.status < 400:
                    return answer
                reason = _refusal(answer)
                pause = float(answer.headers.get("Retry-After", _PAUSE))
            except (OSError, http.client.HTTPException) as error:
                reason = ServiceError(0, f"{self._url}: does not answer ({error})")
            self._connection.close()
            if reason.status and reason.status not in _LATER:
                break
            time.sleep(pause)
        raise reason


class LiveInstance:
    """An instance that the service keeps.

    Attributes:
        id: by which the service knows it.
        about: what the service found in its files.
    """

    def __init__(self, client: Client, about: Mapping[str, Any]) -> None:
        self._client = client
        self.about = dict(about)
        self.id = str(about["id"])
        self._path = f"/v1/instances/{self.id}"

    def tell(self, *events: Mapping[str, Any]) -> dict[str, Any]:
        """Let events happen, all of them or none."""
        return self._client.ask("POST", f"{self._path}/events", {"events": list(events)})

    def decide(self, **options: Any) -> Decision:
        """Decide on the present state.

        Args:
            options: ``by``, ``deadline_ms`` or ``turns``, ``max_changes``, ``seed``, ``confirm``.
        """
        return Decision.of(self._client.ask("POST", f"{self._path}/decisions", options))

    def improvements(self, **options: Any) -> Iterator[float | Decision]:
        """The same: better and better objectives, then the decision."""
        for name, content in self._client.stream(f"{self._path}/decisions", options):
            if name == "improvement":
                yield content["objective"]
            elif name == "decision":
                yield Decision.of(content)
            else:
                raise ServiceError(content["status"], content["detail"])

    def confirm(self, decision: Decision | int, *, force: bool = False) -> dict[str, Any]:
        """Put a decision in force; `force` where it is in force whatever it is worth."""
        return self._settle(decision, "confirm", {"force": force})

    def reject(self, decision: Decision | int) -> dict[str, Any]:
        """Say that a decision will not be put in force."""
        return self._settle(decision, "reject")

    def undo(self, decision: Decision | int) -> dict[str, Any]:
        """Take a confirmed decision back."""
        return self._settle(decision, "undo")

    def state(self) -> dict[str, Any]:
        """The present state."""
        return self._client.ask("GET", self._path)

    def history(self, after: int = 0, limit: int = 100) -> list[dict[str, Any]]:
        """What happened, in order."""
        query = urlencode({"after": after, "limit": limit})
        found: list[dict[str, Any]] = self._client.ask("GET", f"{self._path}/history?{query}")[
            "entries"
        ]
        return found

    def metrics(self) -> dict[str, Any]:
        """Figures of the latest decisions."""
        return self._client.ask("GET", f"{self._path}/metrics")

    def delete(self) -> None:
        """Let the service forget it."""
        self._client.ask("DELETE", self._path)

    def _settle(self, decision: Decision | int, how: str, content: Any = None) -> dict[str, Any]:
        number = decision.decision if isinstance(decision, Decision) else decision
        return self._client.ask("POST", f"{self._path}/decisions/{number}/{how}", content)


def multipart(
    files: Mapping[str, tuple[str, bytes]], given: Mapping[str, Any]
) -> tuple[str, bytes]:
    """Type and body of a form with files: names and contents by field, and further values."""
    boundary = uuid.uuid4().hex
    parts = []
    for field, (name, content) in files.items():
        plain = name.replace('"', "_").replace("\r", "_").replace("\n", "_")
        about = f'name="{field}"; filename="{plain}"\r\nContent-Type: application/octet-stream'
        parts.append((about, content))
    parts += [(f'name="{k}"', str(v).encode()) for k, v in given.items() if v is not None]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {about}\r\n\r\n".encode()
        + content
        + b"\r\n"
        for about, content in parts
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def _content(file: str | Path | tuple[str, bytes]) -> tuple[str, bytes]:
    if isinstance(file, tuple):
        return file
    return Path(file).name, Path(file).read_bytes()


def _refusal(answer: http.client.HTTPResponse) -> ServiceError:
    text = answer.read()
    try:
        detail = str(json.loads(text)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.reason
    return ServiceError(answer.status, detail)
