"""Changes of tours, as the problem declares them: edges, what stays, and what may come next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import Limits
from lagco.core.events import Draft
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.problems.node_choice import NodeChoice
from lagco.problems.tsp.events import repair_tour
from lagco.problems.tsp.limits.edges import (
    FIXED_EDGES,
    TOUR,
    TourLimits,
    edge_names,
    kept_edges,
    limits_from,
    may_follow,
    missing_edges,
)
from lagco.results.numbers import of_things


class TourChanges(NodeChoice):
    """A tour that is built up city by city, within limits on what it changes.

    A problem keeps `_tour` (n,), of which the first `_count` cities are the path so far.
    """

    present = TOUR
    limiting = (FIXED_EDGES,)
    builds_up = improves_within_limits = True

    _tour: Array
    _count: int
    _within: TourLimits | None

    @classmethod
    def elements(cls, instance: Instance, solution: Array) -> Array:
        """Which edges of the tour in force a tour has: (n,)."""
        return kept_edges(instance, solution)

    @classmethod
    def element_names(cls, instance: Instance) -> list[str]:
        """Both cities of every edge of the tour in force."""
        return edge_names(instance)

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """Whether an edge is used."""
        return "used" if value else "given up"

    @classmethod
    def limits_from(
        cls, instance: Instance, table: Sequence[Mapping[str, str]]
    ) -> Mapping[str, Array]:
        """Edges that stay, and cities that keep their edges, from a column ``element``."""
        return limits_from(instance, table)

    @classmethod
    def faults(cls, instance: Instance, solution: Array) -> list[str]:
        """Fixed edges that a tour lacks."""
        return missing_edges(instance, solution)

    @classmethod
    def restored(cls, instance: Instance, solution: Array, element: int) -> Array | None:
        """The tour with an edge of the incumbent again, for two of its own: the shorter way."""
        before = instance.array(TOUR)
        u, v = before[element], before[(element + 1) % len(before)]
        found = []
        for tour in (solution, solution[::-1]):
            turned = np.roll(tour, -int(np.flatnonzero(tour == u)[0]))
            at = int(np.flatnonzero(turned == v)[0])
            found.append(np.concatenate([turned[:1], turned[at:0:-1], turned[at + 1 :]]))
        return min(found, key=lambda tour: cls.evaluate_solution(instance, tour))

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """Cities that appeared join the tour in force where they add least."""
        repair_tour(draft)

    def _check_start(self, path: Array) -> None:
        """Refuse a path from which no tour within the limits goes on."""
        for count in range(1, len(path) if self._within is not None else 0):
            if not self._may_follow(path[:count], path[count:][:1])[0]:
                raise UsageError(
                    f"start: no tour of {self.instance.name!r} within its limits begins with these "
                    f"{of_things(count + 1, 'cities')}"
                )

    def keep_limits(self, limits: Limits, actions: Array) -> Array:
        """Cities from which a tour within the limits goes on: (k,)."""
        return self._may_follow(self._tour[: self._count], np.asarray(actions).reshape(-1))

    def _may_follow(self, path: Array, cities: Array) -> Array:
        within = self._within
        assert within is not None
        partners, number, tour, place, most = within
        cities = cities.astype(np.int64)
        chosen = np.zeros(len(self._chosen), dtype=np.bool_)
        chosen[path] = True
        found: Array = may_follow(cities, chosen, path, partners, number, tour, place, most)
        return found
