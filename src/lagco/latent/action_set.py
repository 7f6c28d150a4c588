"""The set of actions in a state: described by its components, never listed unless asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.core.env import ContinuousEnv
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.decoding import (
    Dependence,
    FlatSpace,
    Metric,
    Neighbours,
    PathSpace,
    Plan,
    ProductSpace,
    plan_search,
)
from lagco.latent.components import State, Table
from lagco.latent.kernels import MAX, MEAN, MIN, nearest_row, pool_rows, pool_weighted
from lagco.latent.paths import PathReader
from lagco.latent.scale import Moments

Array: TypeAlias = npt.NDArray[Any]

_ROWS = {Mean: MEAN, Max: MAX, Min: MIN}
_METRICS = {"cosine": 0, "inner": 1, "l2": 2}


class ActionSet:
    """All actions that are declared in one state.

    Args:
        tables: of the components other than paths, by name, in order.
        columns: where each component's vector stands in an action's vector.
        references: component to the component whose elements carry its objects.
        different: component to the component that must choose another element.
        order: names of all components as declared.
        path: reader, name, component whose edges are the ends (None: any), and its view.
        state: what paths are read from.
        mean, factor: the whole standardisation (d,).
        projection: reduction of standardised vectors (d, r), None without one.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        columns: Mapping[str, slice],
        references: Mapping[str, str],
        different: Mapping[str, str],
        order: Sequence[str],
        path: tuple[PathReader, str, str | None, str] | None,
        state: State,
        mean: Array,
        factor: Array,
        projection: Array | None = None,
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._references = references
        self._different = different
        self._order = order
        self._path = path
        self._state = state
        self._mean = mean
        self._factor = factor
        self._projection = projection
        self._names = list(tables)
        self._rows: Array | None = None
        if path is not None and path[2] is not None:  # the search wants the demand last
            self._names.remove(path[2])
            self._names.append(path[2])
        self._space: FlatSpace | ProductSpace | PathSpace | None = None

    # -- the space that is searched

    @property
    def space(self) -> FlatSpace | ProductSpace | PathSpace:
        """The structure that is searched."""
        if self._space is None:
            self._space = self._product() if self._path is None else self._paths(self._path)
        return self._space

    def _product(self) -> ProductSpace:
        position = {name: c for c, name in enumerate(self._names)}
        depends = {}
        for child, parent in self._references.items():
            offsets = self._tables[child].offsets
            assert offsets is not None
            depends[position[child]] = Dependence(position[parent], offsets, np.arange(offsets[-1]))
        tables = [self._tables[name].vectors for name in self._names]
        if self._projection is None:
            pooling: Any = "concat"
        else:
            pooling = "sum"
            tables = [
                table @ self._projection[self._columns[name]]
                for name, table in zip(self._names, tables, strict=True)
            ]
        if not depends and not self._different and len(tables) == 1:
            return ProductSpace(tables)
        return ProductSpace(
            tables,
            depends=depends,
            different=[(position[a], position[b]) for a, b in self._different.items()],
            ids=[self._tables[name].values for name in self._names],
            pooling=pooling,
        )

    def _paths(self, path: tuple[PathReader, str, str | None, str]) -> FlatSpace | PathSpace:
        reader, name, ends, ends_view = path
        if self._references or self._different:
            raise NotImplementedError(
                "a path beside components with reference= or different_from= is not supported; "
                "declare such conditions in is_valid_action()"
            )
        demands = None if ends is None else self._tables[ends]
        view = None if ends is None else self._state.views[ends_view]
        paths = reader.paths(self._state, demands, view)
        mean, factor = self._mean[self._columns[name]], self._factor[self._columns[name]]
        leading = [self._tables[n].vectors for n in self._names if n != ends]
        demand_vectors = None if demands is None else demands.vectors
        if reader.pooling is None and self._projection is None:
            tables = reader.tables(self._state, paths, mean, factor)
            return PathSpace(paths, tables, demand_vectors, leading)
        nodes = paths.nodes
        blank = np.zeros((nodes, 1), dtype=np.float32)
        rows = PathSpace(paths, blank, demand_vectors, leading).list()
        self._rows = rows
        nodes_of = rows[:, -paths.positions :]
        if reader.pooling is None:
            tables = reader.tables(self._state, paths, mean, factor)
            there = nodes_of < nodes
            safe = np.where(there, nodes_of, 0)
            slots = [
                np.where(there[:, t, None], tables[t][safe[:, t]], 0.0)
                for t in range(min(reader.positions, paths.positions))
            ]
            path_vectors = np.concatenate(slots, axis=1)
            path_vectors = np.pad(path_vectors, ((0, 0), (0, reader.width - path_vectors.shape[1])))
        else:
            path_vectors = reader.pooled(self._state, nodes_of, mean, factor)
        parts = [self._tables[n].vectors[rows[:, c]] for c, n in enumerate(self._names)]
        vectors = np.concatenate([*parts, path_vectors], axis=1)
        if self._projection is not None:
            vectors = vectors @ self._projection[self._internal_columns()]
        return FlatSpace(vectors.astype(np.float32))

    def _internal_columns(self) -> Array:
        """Columns of an action's vector in the order in which the search concatenates them."""
        names = self._names + ([self._path[1]] if self._path is not None else [])
        return np.concatenate(
            [np.arange(self._columns[n].start, self._columns[n].stop) for n in names]
        )

    def _internal_query(self, query: Array) -> Array:
        if self._projection is not None:
            return query
        if self._path is None:
            return query
        query = query[self._internal_columns()]
        space = self.space
        if isinstance(space, PathSpace):
            extra = space.width - len(query)
            if extra > 0:  # longer paths than there are slots: nothing is asked of the rest
                query = np.pad(query, (0, extra))
            elif extra < 0:  # shorter ones: what is asked of missing slots is the same for all
                query = query[: space.width]
        return query

    # -- what users of a set ask

    @property
    def size(self) -> int:
        """Number of declared actions; paths, and several exclusions at once, are listed for it."""
        space = self.space
        if isinstance(space, PathSpace) or len(self._different) > 1:
            return len(space.list())
        excluded = 0
        for a, b in self._different.items():
            first, second = self._tables[a].values, self._tables[b].values
            common = len(np.intersect1d(first, second))
            excluded = common * (space.size // max(len(first) * len(second), 1))
        return space.size - excluded

    def plan(self, metric: Metric = "cosine") -> Plan:
        """How nearest actions are searched for, and why."""
        return plan_search(self.space, metric)

    def nearest(
        self, query: Array, k: int = 1, metric: Metric = "cosine", env: ContinuousEnv | None = None
    ) -> Neighbours:
        """The k nearest actions to `query` (d,), best first; with `env`, the valid ones.

        ``indices`` of the result are rows for :meth:`parts`.
        """
        if k == 1 and len(self._order) == 1 and self._path is None and self._projection is None:
            (table,) = self._tables.values()
            row, score = nearest_row(table.vectors, query, _METRICS[metric])
            found = Neighbours(np.array([[row]]), np.array([score]))
            if row >= 0 and (env is None or _LateValidity(self, env)(found.indices)[0]):
                return found
        valid = None
        if env is not None:
            by_rows = self._path is None and not self._references and len(self._names) > 1
            valid = (_RowValidity if by_rows else _LateValidity)(self, env)
        return self.space.nearest(self._internal_query(query), k, metric, valid)

    def parts(self, rows: Array) -> Array:
        """Values of the components, as declared, of search rows: (k, m)."""
        if self._rows is not None:
            rows = self._rows[rows[:, 0]]
        columns: dict[str, Array] = {}
        for c, name in enumerate(self._names):
            columns[name] = self._tables[name].values[rows[:, c]][:, None]
        if self._path is not None:
            columns[self._path[1]] = rows[:, len(self._names) :]
        if len(columns) == 1:
            return columns[self._order[0]]
        return np.concatenate([columns[name] for name in self._order], axis=1)

    def vectors(self, rows: Array) -> Array:
        """Vectors (k, d) of search rows, columns as declared; padded or cut to the slots."""
        found = self.space.vectors(rows)
        if self._projection is not None or self._path is None:
            return found
        width = len(self._mean)
        if isinstance(self.space, PathSpace):
            found = np.pad(found, ((0, 0), (0, max(0, width - found.shape[1]))))[:, :width]
        vectors = np.empty((len(found), width))
        vectors[:, self._internal_columns()] = found
        return vectors

    def list(self, cap: int = 2_000_000) -> Array:
        """All search rows, at most `cap` of them."""
        return self.space.list(cap)

    def sample(self, rng: np.random.Generator, count: int = 1) -> Array:
        """Search rows drawn uniformly over all declared actions."""
        return self.space.sample(rng, count)

    # -- summaries

    def pooled(self) -> tuple[dict[str, Array], float]:
        """Per component (4, d): mean, max, min and sum; and the number of actions.

        Elements count as often as actions contain them: a target as often as it has objects, a node
        as often as there are other nodes to go with it. Paths count by the nodes they may visit.
        """
        weights = self._weights()
        found: dict[str, Array] = {}
        for name, table in self._tables.items():
            out = np.empty((4, table.vectors.shape[1]), dtype=np.float32)
            weight = weights.get(name)
            if weight is None:
                pool_rows(table.vectors, out)
            else:
                pool_weighted(table.vectors, weight, out)
            found[name] = out
        if self._path is None:
            total = float(self.size)
        else:
            total = math.prod(float(len(table.values)) for table in self._tables.values())
            reader, name, ends, ends_view = self._path
            demands = None if ends is None else self._tables[ends]
            view = None if ends is None else self._state.views[ends_view]
            counts = reader.counts(self._state, demands, view)
            found[name] = self._pooled_paths(reader, name, counts)
            total *= max(counts.sum() / max(len(demands.values), 1), 1.0) if demands else 1.0
        return found, total

    def _pooled_paths(self, reader: PathReader, name: str, counts: Array) -> Array:
        mean, factor = self._mean[self._columns[name]], self._factor[self._columns[name]]
        z = self._state.embeddings[reader.view]
        if reader.pooling is not None:  # the nodes themselves stand for what they are pooled to
            out = np.zeros((4, reader.width), dtype=np.float32)
            if reader.width == z.shape[1]:
                rows = ((z - mean) * factor).astype(np.float32)
                pool_weighted(rows, counts.sum(axis=0), out)
            return out
        slot = z.shape[1]
        out = np.empty((4, reader.width), dtype=np.float32)
        for t in range(reader.positions):
            at = slice(t * slot, (t + 1) * slot)
            part = np.empty((4, slot), dtype=np.float32)
            pool_weighted(((z - mean[at]) * factor[at]).astype(np.float32), counts[t], part)
            out[:, at] = part
        return out

    def summary(
        self,
        poolings: Sequence[AnyPooling] = (Mean, Max, Min, RootSum),
        out: Array | None = None,
    ) -> Array:
        """Poolings over the vectors of all declared actions: (len(poolings) · d,)."""
        if len(self._tables) == 1 and self._path is None:  # by far the most frequent case
            (table,) = self._tables.values()
            rows = np.empty((4, table.vectors.shape[1]), dtype=np.float32)
            pool_rows(table.vectors, rows)
            size = float(len(table.values))
        else:
            found, size = self.pooled()
            rows = np.zeros((4, len(self._mean)), dtype=np.float32)
            for name, pooled in found.items():
                rows[:, self._columns[name]] = pooled
        if self._projection is not None:
            rows = self._project(rows)
        width = rows.shape[1]
        if out is None:
            out = np.empty(len(poolings) * width, dtype=np.float32)
        for place, pooling in enumerate(poolings):
            at = out[place * width : (place + 1) * width]
            if pooling is Sum:
                np.multiply(rows[MEAN], np.float32(size), out=at)
            elif pooling is RootSum:
                np.multiply(rows[MEAN], np.float32(math.sqrt(size)), out=at)
            else:
                at[:] = rows[_ROWS[pooling]]  # type: ignore[index]
        return out

    def _project(self, rows: Array) -> Array:
        """Mean of the reduced vectors, and bounds on their range (intervals do not reduce)."""
        assert self._projection is not None
        up, down = np.maximum(self._projection, 0.0), np.minimum(self._projection, 0.0)
        projected = np.empty((3, self._projection.shape[1]), dtype=np.float32)
        projected[MEAN] = rows[MEAN] @ self._projection
        projected[MAX] = rows[MAX] @ up + rows[MIN] @ down
        projected[MIN] = rows[MIN] @ up + rows[MAX] @ down
        return projected

    def add_to(self, moments: Moments) -> None:
        """Add the (not standardised) vectors of this set to running statistics."""
        weights = self._weights()
        for name, table in self._tables.items():
            moments.add(self._columns[name], table.vectors, weights.get(name))
        if self._path is not None:
            reader, name, ends, ends_view = self._path
            demands = None if ends is None else self._tables[ends]
            view = None if ends is None else self._state.views[ends_view]
            counts = reader.counts(self._state, demands, view)
            z = self._state.embeddings[reader.view]
            start, slot = self._columns[name].start, z.shape[1]
            if reader.pooling is not None:
                paths = reader.paths(self._state, demands, view)
                rows = PathSpace(paths, np.zeros((paths.nodes, 1))).list()[:, -paths.positions :]
                blank = np.zeros(reader.width, np.float32)
                vectors = reader.pooled(self._state, rows, blank, blank + 1)
                moments.add(self._columns[name], vectors)
                return
            for t in range(reader.positions):
                moments.add(slice(start + t * slot, start + (t + 1) * slot), z, counts[t])

    def _weights(self) -> dict[str, Array]:
        """How many actions contain each element, where that is not the same for all."""
        weights: dict[str, Array] = {}
        for child, parent in self._references.items():
            offsets = self._tables[child].offsets
            assert offsets is not None
            count = np.diff(offsets).astype(np.float64)
            weights[parent] = weights.get(parent, 1.0) * count
        for a, b in self._different.items():
            first, second = self._tables[a].values, self._tables[b].values
            common_a = np.isin(first, second)
            common_b = np.isin(second, first)
            weights[a] = weights.get(a, 1.0) * (len(second) - common_a).astype(np.float64)
            weights[b] = weights.get(b, 1.0) * (len(first) - common_b).astype(np.float64)
        return weights


class _LateValidity:
    """Asks the environment about search rows."""

    def __init__(self, actions: ActionSet, env: ContinuousEnv) -> None:
        self._actions = actions
        self._env = env

    def __call__(self, rows: Array) -> npt.NDArray[np.bool_]:
        raw = self._env.actions_from_parts(self._actions.parts(rows))
        return np.asarray(self._env.are_valid_actions(raw), dtype=bool)


class _RowValidity(_LateValidity):
    """Answers for all choices of the last component at once, too."""

    def rows(self, prefixes: Array) -> npt.NDArray[np.bool_]:
        """Validity of every choice of the last component, for prefixes (r, m - 1): (r, n_m)."""
        space = self._actions.space
        assert isinstance(space, ProductSpace)
        last = space.shape[-1]
        rows = np.concatenate(
            [
                np.repeat(prefixes, last, axis=0),
                np.tile(np.arange(last), len(prefixes))[:, None],
            ],
            axis=1,
        )
        return self(rows).reshape(len(prefixes), last)
