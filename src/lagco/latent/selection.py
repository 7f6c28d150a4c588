"""Changes since the last reading of a view, and the elements that meet a spec."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import EDGE, NODE, STRUCTURE, WIRING, GraphView


class Watch:
    """Tells whether what a reader depends on may have changed since it last asked.

    Args:
        names: node attributes (edge attributes, with `edges`) that it reads, and their number of
            rows.
        edges: see there.
        ends: whether it depends on what the edges join, too.
    """

    def __init__(
        self, names: Collection[str] = (), *, edges: bool = False, ends: bool = False
    ) -> None:
        self._names = names
        self._kind = EDGE if edges else NODE
        self._ends = ends
        self._view: GraphView | None = None
        self._clock = self._rows = -1

    def changed(self, view: GraphView) -> bool:
        """Whether anything of it may be other than at the last call."""
        before, self._clock = self._clock, view.clock
        same, self._view = view is self._view, view
        if same and before == self._clock:
            return False
        rows, self._rows = self._rows, view.num_edges if self._kind == EDGE else view.num_nodes
        if not same or rows != self._rows:
            return True
        if not (self._names or self._ends):
            return False
        last = view.last_change
        if last(STRUCTURE, "") > before or (self._ends and last(WIRING, "") > before):
            return True
        return any(last(self._kind, name) > before for name in self._names)


class Selection:
    """The nodes (or edges) of a view that meet a spec; the same array as long as they may."""

    def __init__(self, spec: Mapping[str, Any] | None, *, edges: bool = False) -> None:
        self._spec = spec or {}
        self._edges = edges
        self._watch = Watch(self._spec, edges=edges)
        self._found: Array | None = None

    def __call__(self, view: GraphView) -> Array:
        """Their numbers, ascending: int64 (k,)."""
        if self._watch.changed(view) or self._found is None:
            self._found = None  # after an error there is nothing to go by
            select = view.select_edges if self._edges else view.select_nodes
            self._found = np.ascontiguousarray(select(self._spec), dtype=np.int64)
        return self._found
