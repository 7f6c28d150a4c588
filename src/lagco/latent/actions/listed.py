"""Actions with a path or a subgraph whose vectors cannot be searched in parts: they are listed.

These are pooled paths, subgraphs under a pooling of the author's own or `Concat`, and reduced
vectors of both. A search row is the number of an action in the list.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np

from lagco.arrays import Array
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.actions.paths import AnyPathActions
from lagco.latent.actions.subgraphs import AnySubgraphActions
from lagco.search import FlatSpace, PathSpace, SubgraphSpace


class ListedActions(ActionSet):
    """All actions and their vectors, listed up to a cap."""

    space: FlatSpace

    @abstractmethod
    def _list(self) -> Array:
        """Rows of elements, the nodes of the path or the subgraph last: (N, m)."""

    @abstractmethod
    def _last_vectors(self, rows: Array) -> Array:
        """Standardised vectors of the last component of such rows."""

    @cached_property
    def _listed(self) -> Array:
        return self._list()

    def _space(self) -> FlatSpace:
        rows, layout = self._listed, self._layout
        parts = [table[rows[:, c]] for c, table in enumerate(self._vectors)]
        vectors = np.concatenate([*parts, self._last_vectors(rows)], axis=1)
        if layout.projection is not None:
            vectors = vectors @ layout.projection[layout.searched]
        return FlatSpace(vectors.astype(np.float32))

    def _searched(self, query: Array) -> Array:
        return query if self._layout.projection is not None else query[self._layout.searched]

    def _declared(self, vectors: Array) -> Array:
        if self._layout.projection is not None:
            return vectors
        found = np.empty_like(vectors)
        found[:, self._layout.searched] = vectors
        return found

    def parts(self, rows: Array) -> Array:
        return super().parts(self._listed[rows[:, 0]])

    def rows(self, parts: Array) -> Array:
        known = {tuple(row): i for i, row in enumerate(self.parts(self.list()).tolist())}
        found = [known[row] for row in map(tuple, parts.tolist()) if row in known]
        return np.array(found, dtype=np.int64).reshape(-1, 1)


class ListedPaths(ListedActions, AnyPathActions):
    """Paths that are pooled, or part of vectors that are reduced."""

    def _list(self) -> Array:
        demands, paths = self._demands, self._read[0]
        blank = np.zeros((paths.nodes, 1), dtype=np.float32)
        vectors = None if demands is None else demands.vectors
        return PathSpace(paths, blank, vectors, self._leading).list()

    def _last_vectors(self, rows: Array) -> Array:
        paths, reader = self._read[0], self._part.reader
        nodes = rows[:, -paths.positions :]
        if reader.pooling is not None:
            return reader.pooled(self._state, nodes, *self._layout.scales[self._part.name])
        there = nodes < paths.nodes
        safe = np.where(there, nodes, 0)
        slots = [
            np.where(there[:, t, None], self._slots[t][safe[:, t]], 0.0)
            for t in range(min(reader.positions, paths.positions))
        ]
        vectors = np.concatenate(slots, axis=1)
        return np.pad(vectors, ((0, 0), (0, reader.width - vectors.shape[1])))


class ListedSubgraphs(ListedActions, AnySubgraphActions):
    """Subgraphs whose pooling has no bounds, or that are part of vectors that are reduced."""

    def _list(self) -> Array:
        subgraphs = self._read[0]
        return SubgraphSpace(
            subgraphs, np.zeros((subgraphs.nodes, 1)), leading=self._leading
        ).list()

    def _last_vectors(self, rows: Array) -> Array:
        nodes = rows[:, len(self._vectors) :]
        scale = self._layout.scales[self._part.name]
        return self._part.reader.pooled(self._state, nodes, *scale)
