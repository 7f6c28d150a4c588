"""Routes of decisions: asked for, streamed while they get better, settled."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Request, UploadFile
from fastapi.responses import StreamingResponse

from lagco.errors import suggest
from lagco.serve.serving import models
from lagco.serve.serving.faults import Fault, busy, unavailable
from lagco.serve.serving.parameters import (
    AS_DECLARED,
    Id,
    Key,
    Number,
    Services,
    ServicesDep,
    answered,
    contents,
    refusals,
)
from lagco.serve.serving.pool import Busy, WorkerLost
from lagco.serve.storing.journal import StoreError

router = APIRouter(prefix="/v1", tags=["decisions"])
STREAM = "text/event-stream"
_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The decision; with Accept: text/event-stream, better objectives first.",
        "content": {STREAM: {"schema": {"type": "string"}}},
    }
}


@router.post(
    "/instances/{id}/decisions",
    response_model=models.Decision,
    responses=_STREAMED | refusals(404, 409, 415, 429, 503),
)
async def decide(
    services: ServicesDep,
    request: Request,
    id: Id,
    asked: models.DecisionRequest | None = None,
    key: Key = None,
) -> Any:
    """Decide on the present state: few changes, before the deadline, never worse than none."""
    content = (asked or models.DecisionRequest.model_validate({})).model_dump()
    _check_controller(services, content["by"])
    services.service.live(id)
    if STREAM in request.headers.get("accept", ""):
        parts = _stream(services, id, content, key)
        return StreamingResponse(parts, media_type=STREAM)
    told = await services.decisions.decide(id, content, key)
    services.metrics.decision(content["by"], told)
    return answered(told)


@router.get("/instances/{id}/decisions/{number}", responses=refusals(404))
async def decision(services: ServicesDep, id: Id, number: Number) -> models.Decision:
    """A decision that was made, and what became of it."""
    return models.Decision(**await services.decisions.decision(id, number))


@router.post(
    "/instances/{id}/decisions/{number}/confirm", responses=refusals(404, 409, 415, 429, 503)
)
async def confirm(
    services: ServicesDep,
    id: Id,
    number: Number,
    asked: models.SettleRequest | None = None,
    key: Key = None,
) -> models.Settled:
    """Put a decision in force."""
    force = asked is not None and asked.force
    return models.Settled(**await services.decisions.settle(id, number, "confirm", force, key))


@router.post("/instances/{id}/decisions/{number}/reject", responses=refusals(404, 409, 429, 503))
async def reject(services: ServicesDep, id: Id, number: Number, key: Key = None) -> models.Settled:
    """Say that a decision will not be put in force."""
    return models.Settled(**await services.decisions.settle(id, number, "reject", False, key))


@router.post("/instances/{id}/decisions/{number}/undo", responses=refusals(404, 409, 429, 503))
async def undo(services: ServicesDep, id: Id, number: Number, key: Key = None) -> models.Settled:
    """Take a confirmed decision back."""
    return models.Settled(**await services.decisions.settle(id, number, "undo", True, key))


@router.post("/decide", responses=refusals(415, 429, 503), dependencies=[AS_DECLARED])
async def decide_once(
    services: ServicesDep,
    file: Annotated[UploadFile, File(description="instance file of any format that lagco reads")],
    demands: Annotated[UploadFile | None, File(description="demands of a network, CSV")] = None,
    incumbent: Annotated[
        UploadFile | None, File(description="configuration in force, as the file of a solution")
    ] = None,
    fixed: Annotated[UploadFile | None, File(description="what may not change, CSV")] = None,
    problem: Annotated[str | None, Form(max_length=200)] = None,
    events: Annotated[
        str | None, Form(description='what has happened since, as {"events": [...]}')
    ] = None,
    by: Annotated[str, Form(max_length=100, description="the controller that decides")] = "greedy",
    deadline_ms: Annotated[float, Form(ge=1.0, le=models.MOST_MS)] = 1000.0,
    turns: Annotated[int | None, Form(ge=1, le=models.MOST_TURNS)] = None,
    max_changes: Annotated[int | None, Form(ge=0, le=models.MOST_CHANGES)] = None,
    seed: Annotated[int, Form(ge=0, le=2**53)] = 42,
) -> models.Found:
    """Decide on an instance that is not kept: its files in, changes out."""
    _check_controller(services, by)
    names, blobs = await contents(file=file, demands=demands, incumbent=incumbent, fixed=fixed)
    asked = {
        "names": names,
        "problem": problem,
        "text": events or "",
        "by": by,
        "deadline_ms": deadline_ms,
        "turns": turns,
        "max_changes": max_changes,
        "seed": seed,
        "round": 0,
    }
    told = await services.decisions.decide_once(asked, blobs)
    services.metrics.decision(by, told)
    return models.Found(**told)


def _check_controller(services: Services, by: str) -> None:
    names = services.options.controller_names
    if by not in names:
        raise Fault(422, suggest("controller", by, names))


async def _stream(
    services: Services, id: str, asked: dict[str, Any], key: str | None
) -> AsyncIterator[bytes]:
    """Better objectives as they are found, then the decision."""
    began = time.monotonic()
    news: asyncio.Queue[float | None] = asyncio.Queue()
    deciding = asyncio.ensure_future(services.decisions.decide(id, asked, key, news.put_nowait))
    deciding.add_done_callback(lambda _: news.put_nowait(None))
    while (objective := await news.get()) is not None:
        took = round(1000.0 * (time.monotonic() - began), 3)
        yield _event("improvement", {"objective": objective, "milliseconds": took})
    try:
        told = deciding.result()
    except Fault as fault:
        yield _event("fault", json.loads(fault.document()))
        return
    except Busy as full:
        yield _event("fault", json.loads(busy(full.seconds).document()))
        return
    except (WorkerLost, StoreError):
        yield _event("fault", json.loads(unavailable().document()))
        return
    services.metrics.decision(asked["by"], told)
    yield _event("decision", models.Decision(**told).model_dump())


def _event(name: str, content: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(content)}\n\n".encode()
