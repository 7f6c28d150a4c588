"""Refusals of requests, as problem documents (RFC 9457) tell them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

MEDIA_TYPE = "application/problem+json"


class Fault(Exception):
    """A request that is refused.

    Args:
        status: of HTTP.
        detail: what is wrong and what to do about it.
        headers: of the answer.
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    def document(self) -> bytes:
        """The body of the answer."""
        content: dict[str, Any] = {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        return json.dumps(content).encode()


def busy(seconds: float) -> Fault:
    """The refusal of what there is no room for now."""
    later = str(max(1, round(seconds)))
    return Fault(429, f"busy: try again in {later} s", {"Retry-After": later})


def unknown_instance() -> Fault:
    """The refusal where there is no such live instance."""
    return Fault(404, "there is no live instance of that id")


def unavailable() -> Fault:
    """The refusal where a worker or the store has failed; the request may be sent again."""
    return Fault(503, "not done: try again", {"Retry-After": "1"})
