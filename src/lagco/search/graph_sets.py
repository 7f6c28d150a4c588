"""Sets of paths or subgraphs of a graph: neighbours, and all rows listed where they are few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lagco.search.errors import TooManyActions
from lagco.search.metrics import Ints


class GraphSet(ABC):
    """Rows of node indices, all of which may be listed.

    Attributes:
        noun: of its elements, for messages.
        row_width: columns of a row.
    """

    noun: ClassVar[str]
    row_width: int
    _listed: Ints | None = None
    _more_than = -1  # a cap that the number of rows is known to exceed

    @abstractmethod
    def chunks(self) -> Iterator[Ints]:
        """All rows, unordered, some thousand at a time."""

    def listed(self, cap: int) -> Ints | None:
        """All rows in lexicographic order if there are at most `cap`; computed once."""
        if self._listed is None and self._more_than < cap:
            parts = [np.empty((0, self.row_width), np.int64)]
            found = 0
            for part in self.chunks():
                parts.append(part)
                found += len(part)
                if found > cap:
                    self._more_than = cap
                    return None
            rows = np.concatenate(parts)
            self._listed = np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])])
        return self._listed if self._listed is not None and len(self._listed) <= cap else None

    def list(self, cap: int = 2_000_000) -> Ints:
        """All rows (N, row_width), or `TooManyActions`."""
        rows = self.listed(cap)
        if rows is None:
            raise TooManyActions(f"there are more than {cap} {self.noun}, the cap for listing them")
        return rows


def edge_pairs(edges: ArrayLike, nodes: int) -> Ints:
    """Edges (2, E) as integers; ValueError for another shape or other nodes than 0 … nodes - 1."""
    pairs = np.asarray(edges, np.int64)
    if pairs.ndim != 2 or pairs.shape[0] != 2:
        raise ValueError(f"edges must have shape (2, E), not {pairs.shape}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= nodes):
        raise ValueError(f"edges must lie in 0 .. {nodes - 1}")
    return pairs


def forward_star(pairs: Ints, nodes: int) -> tuple[Ints, Ints]:
    """Offsets (n + 1,) and heads of directed edges (2, E) by tail, without loops and repeats."""
    pairs = pairs[:, pairs[0] != pairs[1]]
    keys = np.unique(pairs[0] * nodes + pairs[1])
    tails, heads = keys // max(nodes, 1), keys % max(nodes, 1)
    return np.searchsorted(tails, np.arange(nodes + 1)), heads
