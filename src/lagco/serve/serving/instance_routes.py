"""Routes of live instances: made of files, told of events, looked at."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from typing import Annotated, Any

from fastapi import APIRouter, File, Form, Query, Request, Response, UploadFile

from lagco.core.events import events_schema
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.serve.serving import models
from lagco.serve.serving.faults import Fault
from lagco.serve.serving.live import Live
from lagco.serve.serving.parameters import (
    AS_DECLARED,
    MOST_NUMBER,
    Id,
    Key,
    ServicesDep,
    answered,
    contents,
    refusals,
)
from lagco.serve.storing.store import Entry
from lagco.serve.working.jobs import MOST_EVENTS
from lagco.version import __version__

router = APIRouter(prefix="/v1", tags=["instances"])
#: entries of an answer, and decisions that figures are about
_MOST_ENTRIES, _MOST_DECISIONS = 1000, 1000
_EVENTS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["events"],
    "additionalProperties": False,
    "properties": {
        "events": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_EVENTS,
            "items": {
                "type": "object",
                "required": ["event"],
                "properties": {"event": {"type": "string", "description": "its kind"}},
                "description": "its fields are those of its kind: see /v1/problems",
            },
        }
    },
}
_EVENTS_BODY = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _EVENTS_SCHEMA}}}
}


@router.get("/problems", responses=refusals())
async def problems(services: ServicesDep) -> models.Served:
    """What is served: problems, their events as JSON schemas, controllers."""
    names = services.options.problem_names
    return models.Served(
        version=__version__,
        problems=[_problem(name) for name in names],
        controllers=services.options.controller_names,
    )


def _problem(name: str) -> models.ServedProblem:
    cls, entry = problem_class(name), ENTRIES.get(name)
    return models.ServedProblem(
        name=name,
        objective="" if entry is None else entry.objective,
        maximise=cls.maximise,
        events=[
            models.EventField(name=kind, json_schema=schema)
            for kind, schema in zip(cls.events, events_schema(cls.events)["oneOf"], strict=True)
        ],
    )


@router.post(
    "/instances",
    status_code=201,
    responses=refusals(409, 415, 429, 503),
    dependencies=[AS_DECLARED],
)
async def create(
    services: ServicesDep,
    file: Annotated[UploadFile, File(description="instance file of any format that lagco reads")],
    demands: Annotated[UploadFile | None, File(description="demands of a network, CSV")] = None,
    incumbent: Annotated[
        UploadFile | None, File(description="configuration in force, as the file of a solution")
    ] = None,
    fixed: Annotated[
        UploadFile | None, File(description="what may not change, or within which range, CSV")
    ] = None,
    problem: Annotated[
        str | None, Form(max_length=200, description="where the file serves several")
    ] = None,
    max_changes: Annotated[
        int | None, Form(ge=0, le=models.MOST_CHANGES, description="most elements of a decision")
    ] = None,
    key: Key = None,
) -> models.LiveInstance:
    """Make a live instance of a file."""
    names, blobs = await contents(file=file, demands=demands, incumbent=incumbent, fixed=fixed)
    asked = {"names": names, "problem": problem, "max_changes": max_changes}
    return _described(await services.service.create(asked, blobs, key))


@router.get("/instances", responses=refusals())
async def instances(services: ServicesDep) -> models.LiveInstances:
    """All live instances."""
    return models.LiveInstances(
        instances=[_described(live) for live in services.service.lives.values()]
    )


@router.get("/instances/{id}", responses=refusals(404, 429, 503))
async def state(services: ServicesDep, id: Id) -> models.LiveState:
    """The present state: objective, configuration, what is fullest, what the page draws."""
    live = services.service.live(id)
    found = await services.service.look(id)
    return models.LiveState(**{**_described(live).model_dump(), **found})


@router.delete("/instances/{id}", status_code=204, responses=refusals(404, 503))
async def delete(services: ServicesDep, id: Id) -> Response:
    """Forget a live instance and its history."""
    await services.service.delete(id)
    return Response(status_code=204)


@router.post(
    "/instances/{id}/events",
    response_model=models.EventsTaken,
    responses=refusals(404, 409, 429, 503),
    openapi_extra=_EVENTS_BODY,
)
async def events(services: ServicesDep, request: Request, id: Id, key: Key = None) -> Any:
    """Let events happen, all of them or none."""
    services.service.live(id)
    try:
        text = (await request.body()).decode()
    except UnicodeDecodeError:
        raise Fault(422, "body: not UTF-8") from None
    return answered(await services.service.events(id, text, key))


@router.get("/instances/{id}/history", responses=refusals(404))
async def history(
    services: ServicesDep,
    id: Id,
    after: Annotated[int, Query(ge=0, le=MOST_NUMBER, description="place to go on from")] = 0,
    limit: Annotated[int, Query(ge=1, le=_MOST_ENTRIES)] = 100,
) -> models.History:
    """What happened, in order."""
    live = services.service.live(id)
    found = await services.service.journal.read(lambda reader: reader.history(id, after, limit))
    return models.History(entries=[_entry(entry) for entry in found], last=live.seq)


@router.get("/instances/{id}/metrics", responses=refusals(404))
async def metrics(services: ServicesDep, id: Id) -> models.LiveMetrics:
    """Figures of the latest decisions."""
    services.service.live(id)
    found = await services.service.journal.read(
        lambda reader: reader.latest(id, "decision", _MOST_DECISIONS)
    )
    told = [entry.told for entry in found]
    took = sorted(one["milliseconds"] for one in told)
    return models.LiveMetrics(
        decisions=len(told),
        states=dict(Counter(one["state"] for one in told)),
        late=sum(one["late"] for one in told),
        changes=sum(len(one["changes"]) for one in told),
        median_ms=statistics.median(took) if took else None,
        p99_ms=took[math.ceil(0.99 * len(took)) - 1] if took else None,
        mean_before=_mean([one["before"] for one in told]),
        mean_after=_mean([one["after"] for one in told]),
    )


def _described(live: Live) -> models.LiveInstance:
    return models.LiveInstance(
        id=live.id,
        created=live.created,
        version=live.version,
        decisions=live.decisions,
        objective=live.objective,
        start=live.about["objective"],
        **{name: live.about[name] for name in ("problem", "instance", "size", "maximise", "notes")},
    )


def _entry(entry: Entry) -> models.HistoryEntry:
    return models.HistoryEntry(
        seq=entry.seq,
        kind=entry.kind,  # type: ignore[arg-type]
        at=entry.at,
        version=entry.version,
        objective=entry.objective,
        answer=entry.told,
    )


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
