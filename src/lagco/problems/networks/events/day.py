"""Synthetic days of a network: traffic with a daily curve, noise and bursts, links that fail."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Event
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.events.bridges import bridges

_DAY, _HOUR = 86400.0, 3600.0
#: hours by which the curves of two nodes may be apart
_ZONES = 6.0
#: seconds of a burst and of a failure on average, and how many times as large a demand gets
_BURST, _REPAIR = 1800.0, 3600.0
_LEAST_BURST, _LARGEST_BURST = 3.0, 10.0
#: digits of a volume
_DIGITS = 6


def draw_day(
    instance: Instance,
    rng: np.random.Generator,
    step: float,
    swing: float,
    noise: float,
    bursts: float,
    failures: float,
) -> Iterator[tuple[float, Event]]:
    """See :meth:`~lagco.problems.networks.problem.NetworkProblem.draw_events`."""
    names = node_names(instance)
    sources, targets = instance.array("demands")
    base = instance.array("volumes")
    begin = rng.uniform(0.0, 2.0 * np.pi)
    zone = rng.uniform(-0.5, 0.5, size=len(names)) * (_ZONES * _HOUR * 2.0 * np.pi / _DAY)
    kept = np.exp(-step / _HOUR)
    drift = rng.normal(0.0, noise, size=len(base))
    burst_until, factor = np.zeros(len(base)), np.ones(len(base))
    links = _Links(instance, rng)
    number = 0
    while True:
        time = number * step
        number += 1
        yield from links.events(time, failures)
        if rng.random() < bursts:
            demand = int(rng.integers(len(base)))
            burst_until[demand] = time + rng.exponential(_BURST)
            factor[demand] = rng.uniform(_LEAST_BURST, _LARGEST_BURST)
        curve = 1.0 + swing * np.sin(2.0 * np.pi * time / _DAY + begin + zone[sources])
        drift = kept * drift + rng.normal(0.0, noise * np.sqrt(1.0 - kept * kept), size=len(base))
        volumes = base * curve * np.exp(drift) * np.where(burst_until > time, factor, 1.0)
        yield time, Event("matrix", volumes=_rows(names, sources, targets, volumes))


def _rows(names: list[str], sources: Array, targets: Array, volumes: Array) -> list[list[object]]:
    ends = zip(sources.tolist(), targets.tolist(), volumes.tolist(), strict=True)
    return [[names[s], names[t], float(f"{v:.{_DIGITS}g}")] for s, t, v in ends]


class _Links:
    """Links that fail one at a time, none without which the network would fall apart."""

    def __init__(self, instance: Instance, rng: np.random.Generator) -> None:
        names = node_names(instance)
        edges = np.asarray(instance.array("edges"))
        _, first = np.unique(np.sort(edges, axis=0), axis=1, return_index=True)
        edges = edges[:, np.sort(first)]  # of directed links, whose directions fail together
        self._n = len(names)
        self._edges = edges
        self._ends = [(names[u], names[v]) for u, v in edges.T.tolist()]
        self._rng = rng
        self._down: list[tuple[float, int]] = []

    def events(self, time: float, chance: float) -> Iterator[tuple[float, Event]]:
        """Repairs that are due, and perhaps a failure."""
        while self._down and self._down[0][0] <= time:
            _, link = heapq.heappop(self._down)
            source, target = self._ends[link]
            yield time, Event("link-up", source=source, target=target)
        if chance <= 0.0 or self._rng.random() >= chance:
            return
        up = np.setdiff1d(np.arange(len(self._ends)), [link for _, link in self._down])
        spare = up[~bridges(self._n, self._edges[:, up])]
        if spare.size:
            link = int(self._rng.choice(spare))
            heapq.heappush(self._down, (time + self._rng.exponential(_REPAIR), link))
            source, target = self._ends[link]
            yield time, Event("link-down", source=source, target=target)
