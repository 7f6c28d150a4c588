"""The graph view of `placement`: VMs, then PMs, and edges of three kinds, some of which move."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.core.graph import STRUCTURE, Array, GraphView, Rows

#: kinds of edges, in the order in which they stand
ALLOCATION, TRAFFIC, LATENCY = range(3)


class HostView(GraphView):
    """The view of `placement`: an allocation edge ends at the present host of its VM."""

    __slots__ = ()

    def move_ends(self, rows: Rows, nodes: Any) -> None:
        """Let these edges end at other nodes.

        Noted as a change of structure, upon which readers look at everything again: no need to
        note the columns that a move changes as well.
        """
        self.edges[1, rows] = nodes
        self._note(STRUCTURE, "", None)


def stacked(vms: Array, pms: Array) -> Array:
    """A node column from its VM rows and its PM rows."""
    return np.concatenate([vms, pms]).astype(np.float32)


def on_edges(values: Array, counts: tuple[int, int, int], kind: int, relative: bool) -> Array:
    """Values of one kind of edges, over their mean where `relative`; 0 on the others."""
    column = np.zeros(sum(counts), dtype=np.float32)
    begin = sum(counts[:kind])
    unit = (float(values.mean()) or 1.0) if relative and len(values) else 1.0
    column[begin : begin + counts[kind]] = values / unit
    return column
