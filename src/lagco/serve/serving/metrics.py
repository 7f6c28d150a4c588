"""Figures about the service, as Prometheus reads them."""

from __future__ import annotations

from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from lagco.serve.serving.service import Service

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)


class Metrics:
    """Counters of requests and decisions, and gauges of the workers.

    Args:
        service: that they are about.
    """

    def __init__(self, service: Service) -> None:
        disable_created_metrics()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        self._requests = Counter(
            "lagco_requests", "Requests.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "lagco_request_seconds",
            "From the request to the end of the answer.",
            ["route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._decisions = Counter(
            "lagco_decisions", "Decisions.", ["by", "outcome"], registry=self._registry
        )
        self._changes = Counter(
            "lagco_changes", "Elements that decisions change.", ["by"], registry=self._registry
        )
        pool = service.pool
        gauges: dict[str, tuple[str, Any]] = {
            "lagco_live_instances": ("Live instances.", lambda: len(service.lives)),
            "lagco_jobs_waiting": ("Jobs that are not done.", lambda: pool.waiting),
            "lagco_workers_begun": ("Workers that there have been.", lambda: pool.begun),
            "lagco_workers": ("Workers.", lambda: sum(slot.worker > 0 for slot in pool.slots)),
            "lagco_worker_seconds": (
                "Seconds that workers have worked.",
                lambda: sum(slot.busy for slot in pool.slots),
            ),
        }
        for name, (about, value) in gauges.items():
            Gauge(name, about, registry=self._registry).set_function(value)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def decision(self, by: str, told: dict[str, Any]) -> None:
        """Count a decision."""
        outcome = "late" if told["late"] else "changes" if told["changes"] else "holds"
        self._decisions.labels(by, outcome).inc()
        self._changes.labels(by).inc(len(told["changes"]))

    def text(self) -> bytes:
        """All figures."""
        return generate_latest(self._registry)
