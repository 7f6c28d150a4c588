"""Actions with a path, searched without listing the paths."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.latent.actions.action_set import ActionSet, Addends
from lagco.latent.actions.components import Table
from lagco.latent.actions.few import FewActions, Listing
from lagco.latent.actions.layout import PathPart
from lagco.latent.kernels import NO_PATH, NO_WEIGHTS, NOTHING
from lagco.latent.scale import Moments
from lagco.search import Metric, PathSet, PathSpace
from lagco.search.paths.search import LISTED


class AnyPathActions(ActionSet):
    """What all actions with a path have in common, however they are searched."""

    @cached_property
    def _part(self) -> PathPart:
        part = self._layout.last
        assert isinstance(part, PathPart)
        return part

    @property
    def _demands(self) -> Table | None:
        """The table of the edges that paths join; None for paths between any nodes."""
        ends = self._part.ends
        return None if ends is None else self._tables[ends]

    @cached_property
    def _read(self) -> tuple[PathSet, Array, float]:
        """Result of :meth:`PathReader.read`."""
        part = self._part
        view = None if part.ends is None else self._state.views[part.ends_view]
        return part.reader.read(self._state, self._demands, view)

    @cached_property
    def _slots(self) -> Array:
        """Vectors of the nodes at each position of a path: (T, n, p)."""
        scale = self._layout.scales[self._part.name]
        return self._part.reader.tables(self._state, self._read[0], *scale)

    @property
    def _leading(self) -> list[Array]:
        """Vectors of the components before the demand."""
        ends = self._part.ends
        return [self._tables[name].vectors for name in self._layout.names if name != ends]

    @property
    def size(self) -> int:
        """Number of declared actions, which are listed for it."""
        return len(self.list())

    def pooling(self) -> tuple[tuple[Array, ...], tuple[Any, ...], Array, Any, float]:
        layout, reader, name = self._layout, self._part.reader, self._part.name
        vectors, weights, starts = self._vectors, self._elements.row_weights, layout.starts
        positions: Any = NO_PATH
        mean, factor = layout.scales[name]
        z = self._state.embeddings[reader.view]
        demands = self._demands
        _, counts, visits = self._read
        size = self._elements.choices
        if demands is not None:
            size *= max(visits / max(len(demands.values), 1), 1.0)
        if reader.pooling is None:
            positions = z, counts, mean, factor, layout.columns[name].start
        elif reader.width == z.shape[1]:  # nodes themselves stand for what they are pooled to
            rows = ((z - mean) * factor).astype(np.float32)
            vectors, weights = (*vectors, rows), (*weights, counts.sum(axis=0))
            starts = layout.starts_with_last
        return vectors or NOTHING, weights or NO_WEIGHTS, starts, positions, size

    def add_to(self, moments: Moments) -> None:
        super().add_to(moments)
        reader, columns = self._part.reader, self._layout.columns[self._part.name]
        paths, counts, _ = self._read
        if reader.pooling is not None:
            rows = PathSpace(paths, np.zeros((paths.nodes, 1))).list()[:, -paths.positions :]
            blank = np.zeros(reader.width, np.float32)
            moments.add(columns, reader.pooled(self._state, rows, blank, blank + 1))
            return
        z = self._state.embeddings[reader.view]
        for t in range(reader.positions):
            start = columns.start + t * z.shape[1]
            moments.add(slice(start, start + z.shape[1]), z, counts[t])


class PathActions(AnyPathActions, FewActions):
    """Actions with a path whose vector has a slot per position: scores add up along the path."""

    listed_to_count = True
    space: PathSpace

    def _space(self) -> PathSpace:
        demands = self._demands
        vectors = None if demands is None else demands.vectors
        return PathSpace(self._read[0], self._slots, vectors, self._leading)

    def _searched(self, query: Array) -> Array:
        query = query[self._layout.searched]
        extra = self.space.width - len(query)
        if extra > 0:  # longer paths than there are slots: nothing is asked of the rest
            return np.pad(query, (0, extra))
        # shorter ones: what is asked of missing slots is the same for all
        return query[: self.space.width]

    def _declared(self, vectors: Array) -> Array:
        """Padded or cut to the slots."""
        width = self._layout.width
        vectors = np.pad(vectors, ((0, 0), (0, max(0, width - vectors.shape[1]))))[:, :width]
        found = np.empty((len(vectors), width))
        found[:, self._layout.searched] = vectors
        return found

    def addends(self, rows: Array) -> Addends:
        """Components other than the path, then a table per position whose last row is 'no node'."""
        part, slots = self._part, self._slots
        _, count, width = slots.shape
        used = min(self._read[0].positions, part.reader.positions)  # longer paths keep the first
        padded = np.zeros((used, count + 1, width), dtype=np.float32)
        padded[:, :count] = slots[:used]
        begin = self._layout.columns[part.name].start
        starts = self._layout.starts.tolist()[: len(self._vectors)]
        starts += range(begin, begin + used * width, width)
        columns = len(self._vectors) + used
        # mostly all of them
        chosen = rows if columns == rows.shape[1] else rows[:, :columns]
        return Addends((*self._vectors, *padded), tuple(starts), chosen)

    def _listing(self, metric: Metric) -> Listing | None:
        demands = self._demands
        if demands is None or len(self._vectors) > 1:
            return None
        rows = self._read[0].listed(LISTED[metric])
        if rows is None or not len(rows):
            return None
        search = self._elements.nearest_paths(self._layout, rows)
        return Listing(search, (demands.vectors, self._slots), lambda: rows)
