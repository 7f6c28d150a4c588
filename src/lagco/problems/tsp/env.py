"""The travelling salesman problem: visit every city once and return, on the shortest tour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.events import Event
from lagco.core.graph import GraphView
from lagco.core.pooling import Mean
from lagco.core.rewards.references import named_start
from lagco.core.spec import Attribute, Graph, Node
from lagco.errors import InstanceError, UsageError
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.problems.features import graph_observation
from lagco.problems.tsp.candidates import EACH, PAIRS, describe_cities
from lagco.problems.tsp.distances import (
    distance,
    distance_matrix,
    distance_row,
    edge_lengths,
    follows_coordinates,
    metric_of,
    neighbour_lists,
    path_length,
    tour_length,
    unit_length,
)
from lagco.problems.tsp.events import EVENTS, draw_cities_over_time
from lagco.problems.tsp.generator import draw_cities
from lagco.problems.tsp.kernels import farthest_completion, look_around, measure
from lagco.problems.tsp.limits.choice import TourChanges
from lagco.problems.tsp.limits.edges import FIXED_EDGES, TOUR, tour_limits
from lagco.results.numbers import of_things
from lagco.runtime.stopping import stop_flag

NEIGHBOURS = 10


class TSP(TourChanges):
    """Build a tour city by city.

    Instance: ``coordinates`` (n, 2), and the metric in ``params["metric"]``: exact Euclidean, one
    of TSPLIB's rounding rules, or ``explicit`` with a ``matrix`` (n, n). ``tour`` (n,) where a
    tour is in force, and ``fixed_edges`` (2, F) that every tour has to use.
    View ``cities``: one node per city, edges to the 10 nearest cities of each; the tour itself
    uses all distances.
    Action: ``Discrete(n)``, a city that was not visited.
    Observation: ``visited`` (n,); with `full` features also ``current`` and ``start`` flags, the
    distances ``to_current`` and ``to_start`` (n,), the distance ``to_centre`` of all cities, and
    what a city left behind will cost: the distances to the two nearest unvisited of its neighbours
    (``nearest_left``, (n, 2)) and the share of them that is unvisited (``share_left``). Distances
    between cities are log(1 + distance / spacing), where the spacing is the larger side of the
    bounding box over sqrt(n): near cities differ clearly, whatever the size.
    Reward: change of the length of the tour completed by always going to the farthest remaining
    city, over (worst - best). Score: (worst - length) / (worst - best), 0 unless complete.
    Start: the city or the cities visited so far given as ``start``, else a random city.
    Change: an edge of the tour in force that is given up; element k joins its cities k and k + 1.
    A city that is fixed keeps both its edges. Within limits a city is valid where a tour within
    them goes on from there.
    """

    name = "tsp"
    candidate_columns, pair_columns = EACH, PAIRS
    preview_key = "length"
    teacher = "solver"
    events = EVENTS
    form = InstanceForm(
        arrays={
            "coordinates": ArrayForm("number", ("size", 2), optional=True),
            "matrix": ArrayForm("number", ("size", "size"), optional=True),
            "names": ArrayForm("text", ("size",), optional=True),
            TOUR: ArrayForm("integer", ("stops",), low=0, below="size", optional=True),
            FIXED_EDGES: ArrayForm("integer", (2, "fixed"), low=0, below="size", optional=True),
        },
        params={"properties": {"metric": {"type": "string"}}},
        solution=ArrayForm("integer", ("size",), low=0, below="size"),
    )

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """Cities uniform in a square: 10 to 100 of them, side 100 to 1000."""
        return draw_cities(rng, size)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """Best and worst of randomised 2-opt runs from random tours."""
        from lagco.problems.tsp.sweeps import sweep_tours

        return References(sweeps=sweep_tours(instance, 10_000 if sweeps is None else sweeps, seed))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """Best tour of an iterated Lin-Kernighan search (best-known)."""
        from lagco.problems.tsp.solver import solve_tour

        return References(solver=solve_tour(instance, seed, effort))

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The 1-tree bound after an ascent over city prices."""
        from lagco.problems.tsp.bound import tour_bound

        return tour_bound(instance, seconds)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, edges of the neighbour graph at most, and raw actions."""
        n = instance.size
        return {"nodes": n, "edges": n * min(NEIGHBOURS, n - 1), "actions": n}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Length of a closed tour given as the order of all cities."""
        tour = np.asarray(solution, dtype=np.int64)
        if not np.array_equal(np.sort(tour), np.arange(instance.size)):
            raise InstanceError(
                f"not a tour of {instance.name!r}: it must name each of the cities 0 to "
                f"{instance.size - 1} once"
            )
        return float(tour_length(*metric_of(instance), tour))

    @classmethod
    def draw_events(
        cls, instance: Instance, rng: np.random.Generator, step: float = 60.0
    ) -> Iterator[tuple[float, Event]]:
        """A city somewhere among the others, every `step` seconds on average."""
        return draw_cities_over_time(instance, rng, step)

    def _load(self, instance: Instance) -> None:
        n = instance.size
        if n < 2:
            raise InstanceError(
                f"instance {instance.name!r} has {of_things(n, 'cities')}, a tour needs 2"
            )
        self._metric = metric_of(instance)
        coordinates = self._metric[1]
        low = coordinates.min(axis=0)
        extent = float((coordinates.max(axis=0) - low).max())
        nearest = neighbour_lists(self._metric, min(NEIGHBOURS, n - 1))
        listed = np.stack([np.repeat(np.arange(n), nearest.shape[1]), nearest.reshape(-1)])
        pairs = np.unique(np.sort(listed, axis=0), axis=1)
        lengths = edge_lengths(*self._metric, pairs)
        self._spacing = unit_length(self._metric, extent, pairs, lengths) / math.sqrt(n)
        self._chosen = np.zeros(n, dtype=np.int8)
        self._is_current = np.zeros(n, dtype=np.int8)
        self._is_start = np.zeros(n, dtype=np.int8)
        self._to_current = np.zeros(n, dtype=np.float32)
        self._to_start = np.zeros(n, dtype=np.float32)
        self._nearest_left = np.zeros((n, 2), dtype=np.float32)
        self._share_left = np.zeros(n, dtype=np.float32)
        self._nearest = nearest
        self._tour = np.zeros(n, dtype=np.int64)
        self._within = tour_limits(instance)
        if self.features == "full":
            self._lengths = self._relative(edge_lengths(*self._metric, listed))
            self._lengths = self._lengths.reshape(nearest.shape)
            positions = ((coordinates - low) / (extent or 1.0)).astype(np.float32)
            self._view = GraphView(
                n,
                pairs,
                nodes={
                    "visited": self._chosen,
                    "current": self._is_current,
                    "start": self._is_start,
                    "position": positions,
                    "to_current": self._to_current,
                    "to_start": self._to_start,
                    "to_centre": np.linalg.norm(positions - positions.mean(axis=0), axis=1),
                    "nearest_left": self._nearest_left,
                    "share_left": self._share_left,
                },
                edge_attributes={"distance": self._relative(lengths)},
            )
        else:
            self._view = GraphView(
                n,
                pairs,
                nodes={
                    "visited": self._chosen,
                    "x": coordinates[:, 0].astype(np.float32),
                    "y": coordinates[:, 1].astype(np.float32),
                },
                edge_attributes={"distance": lengths.astype(np.float32)},
            )
        self._declare()
        self.action_space = gym.spaces.Discrete(n)

    def pair_attributes(self) -> dict[str, Array]:
        """All distances: (n, n)."""
        lengths = distance_matrix(*self._metric)
        return {"distance": self._relative(lengths) if self.features == "full" else lengths}

    def _relative(self, lengths: Array) -> Array:
        found: Array = np.log1p(lengths / self._spacing).astype(np.float32)
        return found

    def _declare(self) -> None:
        binary = Attribute(type="binary")
        self._observation_type = graph_observation(self.features, "cities")
        if self.features == "full":
            length = Attribute(low=0.0)
            self._node_attributes = {
                "visited": binary,
                "current": binary,
                "start": binary,
                "position": Attribute(size=2, low=0.0, high=1.0, static=True),
                "to_current": length,
                "to_start": length,
                "to_centre": Attribute(low=0.0, static=True),
                "nearest_left": Attribute(size=2, low=0.0),
                "share_left": Attribute(low=0.0, high=1.0),
            }
            self._edge_attributes = {"distance": Attribute(low=0.0, static=True)}
            self._observation_type |= {
                "current": Graph(poolings=[Mean], spec={"current": True}),
                "start": Graph(poolings=[Mean], spec={"start": True}),
            }
            appended = ["to_current", "to_start", "to_centre", "nearest_left", "share_left"]
            self._action_type = {"city": Node(spec={"visited": False}, attributes=appended)}
        else:
            coordinate = Attribute(norm="min_max", static=True)
            self._node_attributes = {"visited": binary, "x": coordinate, "y": coordinate}
            self._edge_attributes = {"distance": Attribute(norm="min_max", low=0.0, static=True)}
            self._action_type = {"city": Node(spec={"visited": False})}

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``cities``."""
        return {"cities": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        n = self.instance.size
        tour: Array | None = None
        if isinstance(start, np.ndarray | list | tuple):
            tour = _checked_path(start, n, self.instance.name)
            city = int(tour[0])
        elif isinstance(start, int | np.integer) and not isinstance(start, bool):
            if not 0 <= start < n:
                raise UsageError(f"start={start}: the cities are 0 to {n - 1}")
            city = int(start)
        else:
            named_start(start)  # all three mean a random city
            city = int(rng.integers(n))
        self._chosen[:] = 0
        self._count = 0
        self._length = 0.0
        self._start = self._current = city
        if self.features == "full":
            self._is_current[:] = 0
            self._is_start[:] = 0
            self._is_start[city] = 1
            measure(*self._metric, city, self._spacing, self._to_start)
        if tour is not None:
            city = int(tour[-1])
            self._count = len(tour) - 1
            self._tour[: self._count] = tour[:-1]
            self._check_start(tour)
            self._chosen[tour] = 1
            self._length = path_length(*self._metric, tour)
        self._go_to(city)

    def _go_to(self, city: int) -> None:
        previous, self._current = self._current, city
        self._tour[self._count] = city
        self._count += 1
        self._chosen[city] = 1
        view = self._view
        view.touch_node("visited", city)
        if self.features == "full":
            self._is_current[previous] = 0
            self._is_current[city] = 1
            view.touch_node("current", previous)
            view.touch_node("current", city)
            measure(*self._metric, city, self._spacing, self._to_current)
            view.touch_node("to_current")
            look_around(
                self._nearest,
                self._lengths,
                self._chosen,
                self._nearest_left,
                self._share_left,
            )
            view.touch_node("nearest_left")
            view.touch_node("share_left")

    def _apply(self, action: Any) -> None:
        city = int(action)
        self._added = distance(*self._metric, self._current, city)
        self._length += self._added
        self._go_to(city)

    def objective(self) -> float:
        """Length of the tour, completed by always going to the farthest remaining city."""
        completion = farthest_completion(
            *self._metric, self._current, self._start, self._chosen, stop_flag()
        )
        return float(self._length + completion)

    def shaped_reward(self, before: float, change: float) -> float:
        """Minus the length that the step added, on the scale of the score.

        Changes of the completion cancel over an episode, but under a discount they would pay for
        visiting outlying cities first.
        """
        added = self._added
        if self.is_complete():
            added += distance(*self._metric, self._current, self._start)
        return float(added * self._scale)

    def recompute_objective(self) -> float:
        """The same from the list of visited cities alone."""
        tour = self._tour[: self._count].tolist()
        length = sum(distance(*self._metric, u, v) for u, v in pairwise(tour))
        remaining = [c for c in range(self.instance.size) if c not in set(tour)]
        coordinates = self._metric[1]
        while remaining:
            row = distance_row(*self._metric, tour[-1])
            reach = row
            if follows_coordinates(self._metric[0]):  # rounded distances tie, straight lines rarely
                reach = ((coordinates - coordinates[tour[-1]]) ** 2).sum(axis=1)
            largest = max(reach[city] for city in remaining)
            farthest = next(c for c in remaining if reach[c] >= largest * (1.0 - 1e-12))
            length += row[farthest]
            remaining.remove(farthest)
            tour.append(farthest)
        return float(length + distance(*self._metric, tour[-1], tour[0]))

    def details(self) -> dict[str, Any]:
        """``length``: of the tour so far, open."""
        return {"length": self._length}

    def solution(self) -> Array:
        """Cities in the order of the tour so far."""
        return self._tour[: self._count].copy()

    def is_complete(self) -> bool:
        """All cities are visited."""
        return self._count == self.instance.size

    def is_feasible(self) -> bool:
        """All cities are visited."""
        return self._count == self.instance.size

    def has_valid_action(self) -> bool:
        """A city is left."""
        return self._count < self.instance.size

    def preview(self, actions: Array) -> Array:
        """Minus the length each city adds: (k,)."""
        return -distance_row(*self._metric, self._current)[actions]

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Distances, directions, neighbours and priced spanning trees of candidate cities."""
        cities = np.asarray(actions, dtype=np.int64).reshape(-1)
        each, pairs = EACH.records(len(cities)), PAIRS.records(len(cities), len(cities))
        metric, near, visited = self._metric, self._nearest, self._chosen
        describe_cities(metric, near, visited, self._current, self._start, cities, each, pairs)
        return CandidateFeatures(EACH.matrix(each), PAIRS.matrix(pairs))

    def demonstrate(self, solution: Array) -> Array:
        """The next city of a tour that contains the one so far; at its start both neighbours."""
        n, count = self.instance.size, self._count
        at = int(np.flatnonzero(solution == self._current)[0])
        following = np.array([solution[(at + 1) % n], solution[at - 1]])
        if count == 1:
            return np.unique(following)
        return following[self._chosen[following] == 0][:1]

    def continued_solution(self, seed: int) -> Array | None:
        """The tour so far, completed by the solver's search over the cities left."""
        if self._count < 2 or self.instance.size - self._count < 3:
            return None
        from lagco.problems.tsp.solver import complete_tour

        return complete_tour(self._metric, self.solution(), self._chosen, seed)

    def reopened(self, solution: Array, share: float, rng: np.random.Generator) -> Any:
        """The tour without a stretch somewhere, as a path up to the stretch."""
        n = len(solution)
        kept = n - max(2, round(share * n))
        return np.roll(solution, -int(rng.integers(n)))[:kept] if kept > 0 else None

    def completed(self) -> Array:
        """The tour so far, then always the nearest city left."""
        from lagco.problems.tsp.solver import complete_nearest

        path = self.solution()
        found: Array = complete_nearest(self._metric, self._nearest, path)
        return found

    def starts(self) -> list[Any]:
        """Any city."""
        return list(range(self.instance.size))

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """Descent until no exchange shortens the tour, then rounds of disturbance."""
        from lagco.problems.tsp.solver import improve_tour

        return improve_tour(instance, solution, seed, effort)

    def draw_on(self, axes: Any) -> None:
        """Cities and the tour so far."""
        from lagco.problems.tsp.viewer import draw_tour

        draw_tour(axes, self._metric, self.solution(), self.is_complete(), self.objective())


def _checked_path(cities: Any, n: int, name: str) -> Array:
    path = np.asarray(cities)
    if (
        path.ndim != 1
        or not 1 <= len(path) <= n
        or not np.issubdtype(path.dtype, np.integer)
        or path.min() < 0
        or path.max() >= n
        or len(np.unique(path)) < len(path)
    ):
        raise UsageError(f"start: give different cities of {name!r} between 0 and {n - 1} in order")
    return path.astype(np.int64)
