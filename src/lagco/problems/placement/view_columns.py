"""Columns of the graph view of `placement`: VMs, then PMs, and edges of three kinds."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array

#: kinds of edges, in the order in which they stand
ALLOCATION, TRAFFIC, LATENCY = range(3)


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
