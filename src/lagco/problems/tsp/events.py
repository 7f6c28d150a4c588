"""Events of `tsp`: cities that appear, and cities that need not be visited any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from lagco.core.changes.limits import FIXED
from lagco.core.events import Draft, Event, EventType, listed, number, text
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.instances.form import MAX_NUMBER
from lagco.problems.tsp.distances import distance_row, edge_lengths, metric_of
from lagco.problems.tsp.limits.edges import FIXED_EDGES, TOUR
from lagco.store import shown

#: a tour needs
_FEWEST = 2
_EXPLICIT = "explicit"


def _names(draft: Draft) -> list[str]:
    names = draft.arrays.get("names")
    if names is None:
        return [str(city) for city in range(1, draft.size + 1)]
    return [str(name) for name in names.tolist()]


def _add_city(draft: Draft, city: str, x: Any, y: Any, distances: Any) -> None:
    names = _names(draft)
    if city in names:
        raise draft.error(f"there is a city {shown(city)} already")
    explicit = draft.params.get("metric") == _EXPLICIT
    if explicit and (distances is None or len(distances) != draft.size):
        raise draft.error(f"distances: give {draft.size}, one to each of the cities")
    if not explicit and (distances is not None or x is None or y is None):
        raise draft.error("give x and y of the city, and no distances")
    if "names" not in draft.arrays and city != str(draft.size + 1):
        draft.arrays["names"] = np.array(names)
    draft.add(
        "size",
        coordinates=(0.0 if x is None else x, 0.0 if y is None else y),
        matrix=distances,
        names=city,
    )


def _remove_city(draft: Draft, city: str) -> None:
    place = draft.named("city", city, names := _names(draft))
    if draft.size <= _FEWEST:
        raise draft.error(f"{shown(city)} is one of the last two cities, which have to stay")
    if "names" not in draft.arrays:
        draft.arrays["names"] = np.array(names)
    _leave_tour(draft, place)
    draft.remove("size", [place])
    if draft.solution is not None:
        tour = np.asarray(draft.solution)
        tour = tour[tour != place]
        draft.solution = tour - (tour > place) if tour.size else None


def _leave_tour(draft: Draft, city: int) -> None:
    """Let the tour in force go from the city before one to the one after it, over a new edge."""
    if FIXED_EDGES in draft.arrays:
        edges = draft.arrays[FIXED_EDGES]
        draft.arrays[FIXED_EDGES] = edges[:, (edges != city).all(axis=0)]
    if TOUR not in draft.arrays:
        return
    stop = int(np.flatnonzero(draft.arrays[TOUR] == city)[0])
    if FIXED in draft.arrays:
        flags = draft.arrays[FIXED].copy()
        flags[stop - 1] = 0
        draft.arrays[FIXED] = flags
    draft.remove("stops", [stop])


def repair_tour(draft: Draft) -> None:
    """Let cities that are not on the tour in force join it where they add least.

    Edges that are fixed stay.
    """
    tour = draft.arrays.get(TOUR)
    if tour is None or len(tour) == draft.size:
        return
    metric = metric_of(replace(draft.before, size=draft.size, arrays=draft.arrays))
    partners = [
        set(pair) for pair in draft.arrays.get(FIXED_EDGES, np.zeros((2, 0), int)).T.tolist()
    ]
    fixed = draft.arrays.get(FIXED, np.zeros(len(tour)))
    for city in np.setdiff1d(np.arange(draft.size), tour).tolist():
        row, ahead = distance_row(*metric, city), np.roll(tour, -1)
        added = row[tour] + row[ahead] - edge_lengths(*metric, np.stack([tour, ahead]))
        kept = [{u, v} in partners for u, v in zip(tour.tolist(), ahead.tolist(), strict=True)]
        added[np.array(kept) | (fixed > 0)] = np.inf
        stop = int(added.argmin()) + 1
        tour, fixed = np.insert(tour, stop, city), np.insert(fixed, stop, 0)
    draft.arrays[TOUR] = tour
    if FIXED in draft.arrays:
        draft.arrays[FIXED] = fixed


EVENTS = {
    "city": EventType(
        "a city appears; the tour so far stays, and that in force passes it where it adds least",
        _add_city,
        {
            "city": text("its name; of cities without names their number, one more than there are"),
            "x": number("coordinate", optional=True),
            "y": number("coordinate", optional=True),
            "distances": listed(
                "to every city, where the instance lists distances",
                number("distance", low=0.0, high=MAX_NUMBER),
                optional=True,
            ),
        },
    ),
    "city-gone": EventType(
        "a city need not be visited; the tour goes from the one before it to the one after it",
        _remove_city,
        {"city": text("its name")},
    ),
}


def draw_cities_over_time(
    instance: Instance, rng: np.random.Generator, step: float
) -> Iterator[tuple[float, Event]]:
    """A city somewhere among the others, every `step` seconds on average."""
    if "coordinates" not in instance.arrays:
        raise InstanceError(f"{instance.name!r} lists distances; cities are drawn in a plane")
    points = instance.array("coordinates")
    low, high = points.min(axis=0), points.max(axis=0)
    names = instance.arrays.get("names")
    known = set() if names is None else {str(name) for name in names.tolist()}
    number, time = instance.size, 0.0
    while True:
        time += float(rng.exponential(step))
        number += 1
        while str(number) in known:
            number += 1
        x, y = rng.uniform(low, high).round(6).tolist()
        yield time, Event("city", city=str(number), x=x, y=y)
