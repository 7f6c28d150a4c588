"""The application: routes put together, faults as problem documents, the page."""

from __future__ import annotations

import logging
import re
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from lagco.samples import SAMPLES
from lagco.serve.options import ServeOptions
from lagco.serve.serving import decision_routes, instance_routes, models
from lagco.serve.serving.decisions import Decisions
from lagco.serve.serving.faults import MEDIA_TYPE, Fault, busy, unavailable
from lagco.serve.serving.guard import Guard, Tokens
from lagco.serve.serving.metrics import MEDIA_TYPE as METRICS_TYPE
from lagco.serve.serving.metrics import Metrics
from lagco.serve.serving.parameters import Services
from lagco.serve.serving.pool import Busy, WorkerLost
from lagco.serve.serving.service import Service
from lagco.serve.storing.journal import StoreError
from lagco.version import __version__

log = logging.getLogger("lagco.serve")
_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_PAGE = "index.html"


def application(service: Service, options: ServeOptions, tokens: Tokens | None = None) -> Any:
    """The application, guarded.

    Args:
        service: the live instances.
        options: limits and names.
        tokens: that requests need; None where everybody may do everything.
    """
    app = FastAPI(
        title="lagco",
        version=__version__,
        summary="Decisions on networks and clouds that change: few changes, in time, never worse.",
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
        separate_input_output_schemas=False,
        strict_content_type=True,
    )
    metrics = Metrics(service)
    app.state.served = Services(service, Decisions(service), metrics, options)
    _add_handlers(app)
    app.include_router(instance_routes.router)
    app.include_router(decision_routes.router)
    _add_observation(app, service, metrics)
    _add_page(app)
    return Guard(app, options, metrics, tokens, service.full)


def _add_handlers(app: FastAPI) -> None:
    async def fault(request: Request, error: Any) -> Response:
        return _answer(error)

    async def invalid(request: Request, error: Any) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return _answer(Fault(422, f"{where or 'body'}: {first['msg']}"))

    async def refused(request: Request, error: Any) -> Response:
        detail = {404: "there is nothing of that name", 405: "not a method of this route"}
        text = detail.get(error.status_code, "the request cannot be read")
        headers = {"Allow": _allowed(request)} if error.status_code == 405 else error.headers
        return _answer(Fault(error.status_code, text, headers))

    async def full(request: Request, error: Any) -> Response:
        return _answer(busy(error.seconds))

    async def lost(request: Request, error: Any) -> Response:
        log.error("not done", extra={"reason": f"{type(error).__name__}: {error}"})
        return _answer(unavailable())

    async def failed(request: Request, error: Any) -> Response:
        return _answer(Fault(500, "an error of the service, which its log names"))

    app.add_exception_handler(Fault, fault)
    app.add_exception_handler(Busy, full)
    app.add_exception_handler(WorkerLost, lost)
    app.add_exception_handler(StoreError, lost)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, failed)


def _allowed(request: Request) -> str:
    """Methods of all routes that a path leads to."""
    paths: dict[str, Any] = request.app.openapi()["paths"]
    path: str = request.scope["path"]
    for template, methods in paths.items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return ", ".join(sorted(method.upper() for method in methods))
    return "GET"


def _answer(fault: Fault) -> Response:
    return Response(fault.document(), fault.status, fault.headers, MEDIA_TYPE)


def _add_observation(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/healthz", tags=["service"])
    async def healthy() -> models.Health:
        """Whether the server answers."""
        return models.Health(status="ok")

    @app.get("/readyz", tags=["service"], responses={503: {"model": models.Health}})
    async def ready(response: Response) -> models.Health:
        """Whether all workers are there."""
        if service.pool.ready:
            return models.Health(status="ok")
        response.status_code = 503
        return models.Health(status="starting")

    @app.get(
        "/metrics",
        tags=["service"],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def figures() -> Response:
        """Figures for Prometheus."""
        return Response(metrics.text(), headers={"Content-Type": METRICS_TYPE})


def _add_page(app: FastAPI) -> None:
    folder = files("lagco.serve") / "page"
    pages = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    samples = {sample.file: sample for sample in SAMPLES.values()}

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(pages[_PAGE], media_type=_TYPES[".html"])

    @app.get("/page/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        suffix = name[name.rfind(".") :]
        if name not in pages or suffix not in _TYPES:
            raise HTTPException(404)
        return Response(pages[name], media_type=_TYPES[suffix])

    @app.get("/page/samples/{name}", include_in_schema=False)
    async def sample(name: str) -> Response:
        if name not in samples:
            raise HTTPException(404)
        content = (files("lagco.samples") / name).read_bytes()
        return Response(content, media_type="application/octet-stream")
