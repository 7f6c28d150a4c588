"""Routes of all scenarios kept up to date with the weights of a state."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.ospf.searching.state import (
    Routing,
    Scenarios,
    change,
    follow,
    heap_of,
    joint,
    new_routing,
    route_all,
    scenarios_of,
)


@lru_cache(maxsize=2)
def _kept(instance: Instance) -> tuple[Scenarios, Routing]:
    """Scenarios and scratch, kept while one instance is evaluated again and again."""
    scenarios = scenarios_of(instance)
    return scenarios, new_routing(scenarios)


def scenario_utilisations(instance: Instance, weights: Array) -> Array:
    """Largest utilisation in every scenario, all routes from scratch: (S,)."""
    scenarios, routing = _kept(instance)
    route_all(scenarios, routing, weights, heap_of(scenarios.network))
    return routing.largest.copy()


class Tracker:
    """Utilisations of all scenarios, brought up to date by what changed since the last look.

    Args:
        instance: with scenarios.
    """

    def __init__(self, instance: Instance) -> None:
        self._scenarios = _kept(instance)[0]
        self._routing = new_routing(self._scenarios)
        self._weights: Array | None = None

    def values(self, weights: Array) -> Array:
        """Largest utilisation in every scenario: (S,)."""
        if self._weights is None:
            self._weights = weights.copy()
            queue = heap_of(self._scenarios.network)
            route_all(self._scenarios, self._routing, self._weights, queue)
        else:
            follow(self._scenarios, self._routing, self._weights, weights)
        return self._routing.largest.copy()

    def after(self, weights: Array, links: Array, news: Array) -> Array:
        """Joint utilisation after each link (k,) alone got another weight (k,): (k,)."""
        self.values(weights)
        out = np.empty(len(links))
        _look(self._scenarios, self._routing, self._weights, links, news, out)
        return out


@njit(cache=True)
def _look(scenarios, routing, weights, links, news, out):  # type: ignore[no-untyped-def]
    """Joint utilisation after each change alone."""
    values = np.empty(routing.powers.shape[0])
    for i in range(links.shape[0]):
        for s in range(values.shape[0]):
            _, values[s] = change(
                scenarios, routing, s, weights, links[i : i + 1], news[i : i + 1], False
            )
        out[i] = joint(scenarios, values)
