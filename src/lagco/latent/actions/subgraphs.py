"""Actions with a connected subgraph, searched without listing the subgraphs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.latent.actions.action_set import ActionSet
from lagco.latent.actions.layout import SubgraphPart
from lagco.latent.kernels import NO_PATH, NO_WEIGHTS, NOTHING
from lagco.latent.scale import Moments
from lagco.search import SubgraphSet, SubgraphSpace

#: so many subgraphs of a state are looked at for the statistics of action vectors
_LOOKED_AT = 512


class AnySubgraphActions(ActionSet):
    """What all actions with a connected subgraph have in common, however they are searched."""

    @cached_property
    def _part(self) -> SubgraphPart:
        part = self._layout.last
        assert isinstance(part, SubgraphPart)
        return part

    @cached_property
    def _read(self) -> tuple[SubgraphSet, Array]:
        """Result of :meth:`SubgraphReader.read`."""
        return self._part.reader.read(self._state)

    @property
    def _leading(self) -> tuple[Array, Array]:
        """Search rows and vectors of all combinations of the other components."""
        if not self._vectors:
            return np.zeros((1, 0), np.int64), np.zeros((1, 0))
        space = self._elements.space(self._vectors, "concat")
        rows = space.list()
        return rows, space.vectors(rows)

    @property
    def size(self) -> int:
        """Number of declared actions, which are listed for it."""
        return len(self.list())

    def pooling(self) -> tuple[tuple[Array, ...], tuple[Any, ...], Array, Any, float]:
        """See :meth:`ActionSet.pooling`; single nodes stand for the subgraphs that they are in."""
        layout, reader = self._layout, self._part.reader
        vectors, weights, starts = self._vectors, self._elements.row_weights, layout.starts
        allowed = self._read[1]
        mean, factor = layout.scales[self._part.name]
        if reader.width == reader.node_width:
            rows = ((reader.nodes(self._state) - mean) * factor).astype(np.float32, order="C")
            vectors, weights = (*vectors, rows), (*weights, allowed)
            starts = layout.starts_with_last
        size = self._elements.choices * max(float(allowed.sum()), 1.0)
        return vectors or NOTHING, weights or NO_WEIGHTS, starts, NO_PATH, size

    def add_to(self, moments: Moments) -> None:
        super().add_to(moments)
        reader, columns = self._part.reader, self._layout.columns[self._part.name]
        subgraphs, allowed = self._read
        if not allowed.any():
            return
        rows = subgraphs.listed(_LOOKED_AT)
        if rows is None:
            rows = subgraphs.sample(np.random.default_rng(0), _LOOKED_AT)
        blank = np.zeros(reader.width, np.float32)
        moments.add(columns, reader.pooled(self._state, rows, blank, blank + 1))


class SubgraphActions(AnySubgraphActions):
    """Actions with a connected subgraph whose pooling can be bounded while it grows."""

    listed_to_count = True
    space: SubgraphSpace

    def _space(self) -> SubgraphSpace:
        scale = self._layout.scales[self._part.name]
        return self._part.reader.space(self._state, *scale, self._leading)

    def _searched(self, query: Array) -> Array:
        return query[self._layout.searched]

    def _declared(self, vectors: Array) -> Array:
        found = np.empty_like(vectors)
        found[:, self._layout.searched] = vectors
        return found
