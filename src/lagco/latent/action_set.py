"""The set of actions in a state: described by its components, never listed unless asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum
from lagco.latent.components import State, Table
from lagco.latent.kernels import (
    ALL,
    MAX,
    MEAN,
    MIN,
    NO_PATH,
    NO_VALUES,
    NO_WEIGHTS,
    NONE,
    NOTHING,
    nearest_row,
    part_values,
    pool_actions,
    write_summary,
)
from lagco.latent.layout import ActionLayout, PathPart
from lagco.latent.observation import summary_codes
from lagco.latent.scale import Moments
from lagco.latent.shape import ActionShape
from lagco.latent.validity import LateValidity, RowValidity
from lagco.search import (
    LISTED,
    FlatSpace,
    Metric,
    Neighbours,
    PathSet,
    PathSpace,
    Plan,
    ProductSpace,
    plan_search,
)
from lagco.search.metrics import CODES
from lagco.search.path_space import LISTED as LISTED_PATHS

#: times the actions asked about at first, before a search goes on in order
_ASKED = 8
#: and times those that should be enough, if as many are valid as in the search before
_SPARE = 1.2
#: of so many times the actions asked for, all are asked about at once
_ALL_ASKED = 4


class ActionSet:
    """All actions that are declared in one state.

    Args:
        tables: of the components other than paths, by name, in order.
        shape: of these tables.
        layout: of all actions.
        state: what paths are read from.
    """

    def __init__(
        self, tables: Mapping[str, Table], shape: ActionShape, layout: ActionLayout, state: State
    ) -> None:
        self._tables = tables
        self._shape = shape
        self._layout = layout
        self._state = state
        self._names = layout.names
        self._path = layout.path
        self._vectors = tuple([tables[name].vectors for name in layout.names])
        self._rows: Array | None = None
        self._found: tuple[Array, Array] = (NONE, NONE)
        self._space: FlatSpace | ProductSpace | PathSpace | None = None
        self._paths_read: tuple[PathSet, Array, float] | None = None
        self._slots: Array | None = None

    # -- the space that is searched

    @property
    def space(self) -> FlatSpace | ProductSpace | PathSpace:
        """The structure that is searched."""
        if self._space is None:
            self._space = self._product() if self._path is None else self._paths(self._path)
        return self._space

    def _product(self) -> ProductSpace:
        projection = self._layout.projection
        if projection is None:
            return self._shape.space(self._vectors, "concat")
        columns = self._layout.columns
        projected = [
            table @ projection[columns[name]]
            for name, table in zip(self._names, self._vectors, strict=True)
        ]
        return self._shape.space(projected, "sum")

    def _demands(self, path: PathPart) -> tuple[Table | None, Any]:
        """The table of the edges that paths join, and the view of these; None for any nodes."""
        if path.ends is None:
            return None, None
        return self._tables[path.ends], self._state.views[path.ends_view]

    def _read_paths(self, path: PathPart) -> tuple[PathSet, Array, float]:
        """Result of :meth:`PathReader.read`, looked up once."""
        if self._paths_read is None:
            self._paths_read = path.reader.read(self._state, *self._demands(path))
        return self._paths_read

    def _slot_tables(self, path: PathPart) -> Array:
        """Vectors of the nodes at each position of a path, computed once."""
        if self._slots is None:
            paths, scale = self._read_paths(path)[0], self._layout.scales[path.name]
            self._slots = path.reader.tables(self._state, paths, *scale)
        return self._slots

    def _paths(self, path: PathPart) -> FlatSpace | PathSpace:
        reader, layout = path.reader, self._layout
        if layout.references or layout.different:
            raise NotImplementedError(
                "a path beside components with reference= or different_from= is not supported; "
                "declare such conditions in is_valid_action()"
            )
        demands, _ = self._demands(path)
        paths = self._read_paths(path)[0]
        mean, factor = layout.scales[path.name]
        leading = [self._tables[n].vectors for n in self._names if n != path.ends]
        demand_vectors = None if demands is None else demands.vectors
        if reader.pooling is None and layout.projection is None:
            return PathSpace(paths, self._slot_tables(path), demand_vectors, leading)
        nodes = paths.nodes
        blank = np.zeros((nodes, 1), dtype=np.float32)
        rows = PathSpace(paths, blank, demand_vectors, leading).list()
        self._rows = rows
        nodes_of = rows[:, -paths.positions :]
        if reader.pooling is None:
            tables = self._slot_tables(path)
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
        if layout.projection is not None:
            vectors = vectors @ layout.projection[layout.searched]
        return FlatSpace(vectors.astype(np.float32))

    def _searched(self, query: Array) -> Array:
        """A query as the search wants it."""
        if self._path is None or self._layout.projection is not None:
            return query
        query = query[self._layout.searched]
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
        if self._path is None:
            return self._shape.size
        return len(self.space.list())

    @property
    def listed_to_count(self) -> bool:
        """Whether :attr:`size` has to list the actions."""
        several = len(self._layout.different) > 1
        return not self._single and (several or isinstance(self.space, PathSpace))

    @property
    def _single(self) -> bool:
        """Whether an action is just a node, an edge or an option."""
        return self._path is None and len(self._names) == 1

    @property
    def component_tables(self) -> tuple[Array, ...] | None:
        """Vectors of each component where an action's are these beside each other, else None."""
        return self._vectors if self._path is None and self._layout.projection is None else None

    @property
    def path_tables(self) -> tuple[PathSet, tuple[Array, ...], Array] | None:
        """Paths, vectors of the other components, and of nodes at each position (T, n, p).

        None where an action's vector is not these beside each other.
        """
        path, layout = self._path, self._layout
        if path is None or path.reader.pooling is not None or layout.projection is not None:
            return None
        return self._read_paths(path)[0], self._vectors, self._slot_tables(path)

    @property
    def listed(self) -> Array | None:
        """Search rows of all actions in order; None where they are many or under conditions."""
        few = self.component_tables is not None and self._shape.axes is not None
        return self._shape.listed if few else None

    @property
    def only_table(self) -> Array | None:
        """Vectors (n, d) where an action is just a row of these; None for any other actions."""
        if not self._single:
            return None
        return self._vectors[0] if self._layout.projection is None else self._product().tables[0]

    def plan(self, metric: Metric = "cosine") -> Plan:
        """Search for the nearest actions, and its reason."""
        return plan_search(self.space, metric)

    def nearest(
        self, query: Array, k: int = 1, metric: Metric = "cosine", env: ContinuousEnv | None = None
    ) -> Neighbours:
        """The k nearest actions to `query` (d,), best first; with `env`, the valid ones.

        ``indices`` of the result are rows for :meth:`parts`.
        """
        layout = self._layout
        if env is not None and layout.projection is None:
            found = self._nearest_listed(query, k, metric, env)
            if found is not None:
                return found
        valid = None
        if env is not None:
            by_rows = self._path is None and not layout.references and len(self._names) > 1
            valid = (RowValidity if by_rows else LateValidity)(self, env)
        space = self.space
        if env is None or not isinstance(space, ProductSpace) or space.size <= LISTED:
            return space.nearest(self._searched(query), k, metric, valid)
        possible = env.possible_parts()
        masks = [
            possible[name][self._tables[name].values] if name in possible else None
            for name in self._names
        ]
        return space.nearest(query, k, metric, valid, masks if possible else None)

    def _nearest_listed(
        self, query: Array, k: int, metric: Metric, env: ContinuousEnv
    ) -> Neighbours | None:
        """The k nearest valid actions of a small set, if the first ones asked about hold them.

        None also where something is wrong, which the search says.
        """
        shape, layout = self._shape, self._layout
        if query.shape != layout.mean.shape or metric not in CODES:
            return None
        if k == 1 and self._single:
            row, score = nearest_row(self._vectors[0], query, CODES[metric])
            found = Neighbours(np.array([[row]]), np.array([score]))
            values = shape.row_values[0][row : row + 1, None]
            self._found = found.indices, values
            valid = len(values) and env.are_valid_actions(env.actions_from_parts(values))[0]
            return found if valid else None
        listed = self._listed(metric) if k > 0 else None
        if listed is None:
            return None
        search, tables, everything = listed
        asked = np.ascontiguousarray(query, np.float64), CODES[metric]
        if k > 1 and len(everything()) <= _ALL_ASKED * k:
            known = _validity(env, shape.parts(everything(), layout.order))
            if known is None or not known.any():
                return None
            rows, parts, scores, finite = search(*tables, *asked, known, k)
            self._found = rows, parts
            return Neighbours(rows, scores) if finite else None
        least = max(16, k + min(2 * k, 128))
        most = _ASKED * least
        expected = least if k == 1 else int(_SPARE * k / shape.valid_share)
        for count in (min(max(expected, least), most), most):
            rows, parts, scores, finite = search(*tables, *asked, ALL, count)
            valid = _validity(env, parts)
            if not finite or valid is None:
                return None
            chosen: Any
            if k == 1:
                first = int(valid.argmax())
                chosen = slice(first, first + int(valid[first]))
            else:
                places = valid.nonzero()[0]
                shape.valid_share = max(len(places), 1) / max(len(valid), 1)
                chosen = places[:k]
            found = Neighbours(rows[chosen], scores[chosen])
            if len(found.scores) == k or (len(found.scores) > 0 and len(scores) < count):
                self._found = found.indices, parts[chosen]
                return found
        return None

    def _listed(self, metric: Metric) -> tuple[Any, tuple[Any, ...], Callable[[], Array]] | None:
        """What scores all actions at once, the vectors it needs, and what lists the actions.

        None where they are many.
        """
        layout, path, shape = self._layout, self._path, self._shape
        if path is None:
            if shape.axes is None:
                return None
            return shape.nearest_parts(layout), (self._vectors,), lambda: shape.listed
        demands, _ = self._demands(path)
        if demands is None or path.reader.pooling is not None or len(self._names) > 1:
            return None
        rows = self._read_paths(path)[0].listed(LISTED_PATHS[metric])
        if rows is None or not len(rows):
            return None
        tables = demands.vectors, self._slot_tables(path)
        return shape.nearest_paths(layout, rows), tables, lambda: rows

    def parts(self, rows: Array) -> Array:
        """Values of the components, as declared, of search rows: (k, m)."""
        if rows is self._found[0]:  # the ones that were searched for last
            return self._found[1]
        if self._rows is not None:
            rows = self._rows[rows[:, 0]]
        found: Array = part_values(rows, self._shape.row_values or NO_VALUES, self._layout.order)
        return found

    def rows(self, parts: Array) -> Array:
        """Search rows of values of the components (k, m), those that are offered: (k', …).

        The inverse of :meth:`parts`, for actions that are given from outside.
        """
        if self._rows is not None:
            known = {tuple(row): i for i, row in enumerate(self.parts(self.list()).tolist())}
            found = [known[row] for row in map(tuple, parts.tolist()) if row in known]
            return np.array(found, dtype=np.int64).reshape(-1, 1)
        rows: list[list[int]] = []
        for part in parts.tolist():
            row = self._row(part)
            if row is not None:
                rows.append(row)
        return np.array(rows, dtype=np.int64).reshape(len(rows), parts.shape[1])

    def _row(self, part: Sequence[int]) -> list[int] | None:
        """Search row of one action's values, the nodes of a path last; None if not offered."""
        names, layout = self._names, self._layout
        values: dict[str, int] = {}
        path: Sequence[int] = ()
        rest = list(part)
        for place in layout.order:
            if place < 0:
                long = len(part) - len(names)
                path, rest = rest[:long], rest[long:]
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
        return [*row.values(), *path]

    def vectors(self, rows: Array) -> Array:
        """Vectors (k, d) of search rows, columns as declared; padded or cut to the slots."""
        found = self.space.vectors(rows)
        layout = self._layout
        if layout.projection is not None or self._path is None:
            return found
        width = layout.width
        if isinstance(self.space, PathSpace):
            found = np.pad(found, ((0, 0), (0, max(0, width - found.shape[1]))))[:, :width]
        vectors = np.empty((len(found), width))
        vectors[:, layout.searched] = found
        return vectors

    def list(self, cap: int = 2_000_000) -> Array:
        """All search rows, at most `cap` of them."""
        return self.space.list(cap)

    def sample(self, rng: np.random.Generator, count: int = 1) -> Array:
        """Search rows drawn uniformly over all declared actions."""
        return self.space.sample(rng, count)

    # -- summaries

    def pooling(self) -> tuple[tuple[Array, ...], tuple[Any, ...], Array, Any, float]:
        """Arguments of `pool_actions` but for the last, those of a path as one; number of actions.

        Elements count as often as actions contain them: a target as often as it has objects, a node
        as often as there are other nodes to go with it. Paths count by the nodes they may visit.
        """
        layout, path = self._layout, self._path
        vectors, weights, starts = self._vectors, self._shape.row_weights, layout.starts
        positions: Any = NO_PATH
        if path is None:
            return vectors, weights, starts, positions, float(self.size)
        reader, start = path.reader, layout.columns[path.name].start
        mean, factor = layout.scales[path.name]
        z = self._state.embeddings[reader.view]
        demands, _ = self._demands(path)
        _, counts, visits = self._read_paths(path)
        size = self._shape.choices
        if demands is not None:
            size *= max(visits / max(len(demands.values), 1), 1.0)
        if reader.pooling is None:
            positions = z, counts, mean, factor, start
        elif reader.width == z.shape[1]:  # nodes themselves stand for what they are pooled to
            rows = ((z - mean) * factor).astype(np.float32)
            vectors, weights = (*vectors, rows), (*weights, counts.sum(axis=0))
            starts = np.append(starts, start)
        return vectors or NOTHING, weights or NO_WEIGHTS, starts, positions, size

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
            found = self._project(found, self._layout.projection)
        if out is None:
            out = np.empty(len(poolings) * found.shape[1], dtype=np.float32)
        write_summary(found, codes, size, out)
        return out

    @staticmethod
    def _project(rows: Array, projection: Array) -> Array:
        """Mean of the reduced vectors, and bounds on their range (intervals do not reduce)."""
        up, down = np.maximum(projection, 0.0), np.minimum(projection, 0.0)
        projected = np.empty((3, projection.shape[1]), dtype=np.float32)
        projected[MEAN] = rows[MEAN] @ projection
        projected[MAX] = rows[MAX] @ up + rows[MIN] @ down
        projected[MIN] = rows[MIN] @ up + rows[MAX] @ down
        return projected

    def add_to(self, moments: Moments) -> None:
        """Add the (not standardised) vectors of this set to running statistics."""
        weights, columns = self._shape.weights, self._layout.columns
        for name, table in self._tables.items():
            moments.add(columns[name], table.vectors, weights.get(name))
        path = self._path
        if path is None:
            return
        reader = path.reader
        paths, counts, _ = self._read_paths(path)
        if reader.pooling is not None:
            rows = PathSpace(paths, np.zeros((paths.nodes, 1))).list()[:, -paths.positions :]
            blank = np.zeros(reader.width, np.float32)
            moments.add(columns[path.name], reader.pooled(self._state, rows, blank, blank + 1))
            return
        z = self._state.embeddings[reader.view]
        for t in range(reader.positions):
            start = columns[path.name].start + t * z.shape[1]
            moments.add(slice(start, start + z.shape[1]), z, counts[t])


def _validity(env: ContinuousEnv, parts: Array) -> Array | None:
    """Which actions, given by the values of their components, are valid; None if that fails."""
    valid = np.asarray(env.are_valid_actions(env.actions_from_parts(parts)), dtype=bool)
    return valid if valid.shape == (len(parts),) else None
