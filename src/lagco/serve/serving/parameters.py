"""Dependencies and parameters shared by routes: services, ids, files, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Request, Response, UploadFile

from lagco.errors import suggest
from lagco.serve.options import ServeOptions
from lagco.serve.serving import models
from lagco.serve.serving.decisions import Decisions
from lagco.serve.serving.faults import MEDIA_TYPE, Fault
from lagco.serve.serving.metrics import Metrics
from lagco.serve.serving.service import Service
from lagco.serve.working.uploads import FILES
from lagco.store.text import compact_json

#: numbers that every store can hold
MOST_NUMBER = 2**31 - 1
_REASONS = {
    400: "The request cannot be read.",
    401: "It needs a token.",
    403: "The token's scope, or the page that it comes from, does not allow it.",
    404: "There is no such live instance or decision.",
    405: "Not a method of this route.",
    409: "It does not fit the present state.",
    413: "It is larger than a request may be.",
    415: "Not a type of content that this route reads.",
    421: "The service is not called by that name.",
    422: "It cannot be used; the detail says why.",
    429: "There is no room now; Retry-After says when.",
    503: "It was not done; it may be sent again.",
}


@dataclass(frozen=True)
class Services:
    """What routes call."""

    service: Service
    decisions: Decisions
    metrics: Metrics
    options: ServeOptions


async def _served(request: Request) -> Services:  # else it would be called in a thread every time
    found: Services = request.app.state.served
    return found


ServicesDep = Annotated[Services, Depends(_served)]
Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,32}$", description="of the live instance")]
Number = Annotated[int, Path(ge=0, le=MOST_NUMBER, description="of the decision")]
Key = Annotated[models.Key, Header(alias="Idempotency-Key")]


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of the refusals that a route may answer with."""
    schema = {"$ref": "#/components/schemas/Fault"}
    return {
        status: {
            "model": models.Fault,
            "description": _REASONS[status],
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in (400, 401, 403, 405, 413, 421, 422, *statuses)
    }


def answered(told: dict[str, Any]) -> Response:
    """A response that is not validated again, for routes with many requests."""
    return Response(compact_json(told), media_type="application/json")


async def _no_other_fields(request: Request) -> None:
    """Refuse fields of a form that would not count: of other names, or given more than once."""
    known = [field.alias for field in request.scope["route"].dependant.body_params]
    given = [name for name, _ in (await request.form()).multi_items()]
    for name in given:
        if name not in known:
            raise Fault(422, suggest("field", name, known))
        if given.count(name) > 1:
            raise Fault(422, f"{name}: stands there {given.count(name)} times; give it once")


#: of routes that read a form
AS_DECLARED = Depends(_no_other_fields)


async def contents(**given: UploadFile | None) -> tuple[dict[str, str], list[bytes]]:
    """Names by what they are, and contents, of the files that were sent."""
    names, blobs = {}, []
    for what in FILES:
        file = given.get(what)
        if file is not None:
            names[what] = file.filename or what
            blobs.append(await file.read())
    return names, blobs
