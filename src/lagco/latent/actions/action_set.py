"""The set of actions in a state: described by its components, never listed unless asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum
from lagco.latent.actions.components import State, Table
from lagco.latent.actions.elements import ActionElements
from lagco.latent.actions.layout import ActionLayout
from lagco.latent.kernels import MAX, MEAN, MIN, NO_VALUES, part_values, pool_actions, write_summary
from lagco.latent.observation import summary_codes
from lagco.latent.scale import Moments
from lagco.search import Metric, Neighbours, Plan, Space


class Addends(NamedTuple):
    """Action vectors as sums of rows of tables.

    Attributes:
        tables: each (n_c, d_c).
        starts: first column of an action's vector that each is added to.
        rows: (k, tables), a row of each; None where action i is row i of the only table.
    """

    tables: tuple[Array, ...]
    starts: tuple[int, ...]
    rows: Array | None


class ActionSet(ABC):
    """All actions that are declared in one state.

    There is a class per way to search, chosen once for all states of an environment by
    :func:`~lagco.latent.actions.strategy.action_strategy`. What it needs is computed at first use
    and kept; answers do not depend on what was asked before.

    Args:
        tables: of the components other than the last, by name, in order.
        elements: of these tables.
        layout: of all actions.
        state: what the last component is read from.

    Attributes:
        listed_to_count: whether :attr:`size` has to list the actions.
    """

    listed_to_count = False

    def __init__(
        self,
        tables: Mapping[str, Table],
        elements: ActionElements,
        layout: ActionLayout,
        state: State,
    ) -> None:
        self._tables = tables
        self._elements = elements
        self._layout = layout
        self._state = state
        self._vectors = tuple([tables[name].vectors for name in layout.names])

    # -- what a strategy defines

    @abstractmethod
    def _space(self) -> Space:
        """The structure that is searched."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of declared actions."""

    @abstractmethod
    def pooling(self) -> tuple[tuple[Array, ...], tuple[Any, ...], Array, Any, float]:
        """Arguments of `pool_actions` but for the last, those of a path as one; number of actions.

        Elements count as often as actions contain them: a target as often as it has objects, a node
        as often as there are other nodes to go with it. Paths and subgraphs count by their nodes.
        """

    def _searched(self, query: Array) -> Array:
        """A query as the search wants it."""
        return query

    def _declared(self, vectors: Array) -> Array:
        """Vectors (k, ·) of the search with columns as declared (k, d)."""
        return vectors

    def addends(self, rows: Array) -> Addends:
        """Vectors of search rows, which are different ones, and in order where they are all."""
        return Addends((self.vectors(rows).astype(np.float32),), (0,), None)

    def all_rows(self, most: int) -> Array | None:
        """Search rows of all actions in order, if they are quickly listed and at most `most`."""
        return None

    # -- what users of a set ask

    @cached_property
    def space(self) -> Space:
        """The structure that is searched."""
        return self._space()

    def plan(self, metric: Metric = "cosine") -> Plan:
        """Search for the nearest actions, and its reason."""
        return self.space.plan(metric)

    def nearest(
        self, query: Array, k: int = 1, metric: Metric = "cosine", env: ContinuousEnv | None = None
    ) -> Neighbours:
        """The k nearest actions to `query` (d,), best first; with `env`, the valid ones.

        ``indices`` of the result are rows for :meth:`parts`.
        """
        valid = None if env is None else LateValidity(self, env)
        return self.space.nearest(self._searched(query), k, metric, valid)

    def parts(self, rows: Array) -> Array:
        """Values of the components, as declared, of search rows: (k, m)."""
        values = self._elements.row_values or NO_VALUES
        found: Array = part_values(rows, values, self._layout.order)
        return found

    def rows(self, parts: Array) -> Array:
        """Search rows of values of the components (k, m), those that are offered: (k', …).

        The inverse of :meth:`parts`, for actions that are given from outside.
        """
        found = [row for row in map(self._row, parts.tolist()) if row is not None]
        return np.array(found, dtype=np.int64).reshape(len(found), parts.shape[1])

    def _row(self, part: Sequence[int]) -> list[int] | None:
        """Search row of one action's values, several nodes last; None if not offered."""
        names, layout = self._layout.names, self._layout
        values: dict[str, int] = {}
        nodes: Sequence[int] = ()
        rest = list(part)
        for place in layout.order:
            if place < 0:
                long = len(part) - len(names)
                nodes, rest = rest[:long], rest[long:]
            else:
                values[names[place]] = rest.pop(0)
        row: dict[str, int] = {}
        for name in names:
            table = self._tables[name]
            low, high = 0, len(table.values)
            if table.offsets is not None:
                parent = row[layout.references[name]]
                low, high = int(table.offsets[parent]), int(table.offsets[parent + 1])
            places_of = np.flatnonzero(table.values[low:high] == values[name])
            if not len(places_of):
                return None
            row[name] = low + int(places_of[0])
        return [*row.values(), *nodes]

    def vectors(self, rows: Array) -> Array:
        """Vectors (k, d) of search rows, columns as declared; reduced where they are."""
        return self._declared(self.space.vectors(rows))

    def list(self, cap: int = 2_000_000) -> Array:
        """All search rows, at most `cap` of them."""
        return self.space.list(cap)

    def sample(self, rng: np.random.Generator, count: int = 1) -> Array:
        """Search rows drawn at random over all declared actions: uniformly, large sets of connected
        subgraphs apart."""
        return self.space.sample(rng, count)

    # -- summaries

    def summary(
        self,
        poolings: Sequence[AnyPooling] | Array = (Mean, Max, Min, RootSum),
        out: Array | None = None,
    ) -> Array:
        """Poolings over the vectors of all declared actions: (len(poolings) · d,).

        An observation has the same, computed together with the rest of it.

        Args:
            poolings: these, or their codes from :func:`summary_codes`.
            out: where to write them.
        """
        codes = poolings if isinstance(poolings, np.ndarray) else summary_codes(poolings)
        found = np.empty((4, self._layout.width), dtype=np.float32)
        vectors, weights, starts, positions, size = self.pooling()
        pool_actions(vectors, weights, starts, *positions, found)  # type: ignore[call-arg]
        if self._layout.projection is not None:
            found = _project(found, self._layout.projection)
        if out is None:
            out = np.empty(len(poolings) * found.shape[1], dtype=np.float32)
        write_summary(found, codes, size, out)
        return out

    def add_to(self, moments: Moments) -> None:
        """Add the (not standardised) vectors of this set to running statistics."""
        weights, columns = self._elements.weights, self._layout.columns
        for name, table in self._tables.items():
            moments.add(columns[name], table.vectors, weights.get(name))


class LateValidity:
    """Asks the environment about search rows."""

    def __init__(self, actions: ActionSet, env: ContinuousEnv) -> None:
        self._actions = actions
        self._env = env

    def __call__(self, rows: Array) -> npt.NDArray[np.bool_]:
        raw = self._env.actions_from_parts(self._actions.parts(rows))
        return np.asarray(self._env.are_valid_actions(raw), dtype=bool)


def _project(rows: Array, projection: Array) -> Array:
    """Mean of the reduced vectors, and bounds on their range (intervals do not reduce)."""
    up, down = np.maximum(projection, 0.0), np.minimum(projection, 0.0)
    projected = np.empty((3, projection.shape[1]), dtype=np.float32)
    projected[MEAN] = rows[MEAN] @ projection
    projected[MAX] = rows[MAX] @ up + rows[MIN] @ down
    projected[MIN] = rows[MIN] @ up + rows[MAX] @ down
    return projected
