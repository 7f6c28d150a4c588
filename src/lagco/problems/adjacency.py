"""Neighbours of every node as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance


class Adjacency(NamedTuple):
    """Node v has the neighbours ``neighbours[first[v]:first[v + 1]]``, over ``edge_ids`` of there.

    Attributes:
        first: (n + 1,)
        neighbours: (2 E,)
        edge_ids: (2 E,)
    """

    first: Array
    neighbours: Array
    edge_ids: Array


def adjacency(num_nodes: int, edges: Array) -> Adjacency:
    """Adjacency of undirected `edges` (2, E), neighbours in the order of the edges."""
    ends = np.concatenate([edges[0], edges[1]])
    others = np.concatenate([edges[1], edges[0]])
    ids = np.tile(np.arange(edges.shape[1]), 2)
    order = np.argsort(ends, kind="stable")
    first = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=num_nodes), out=first[1:])
    return Adjacency(first, others[order].astype(np.int64), ids[order].astype(np.int64))


def edges_of(instance: Instance) -> Array:
    """The edges (2, E) of an undirected instance, checked: in range, no loops, none twice."""
    edges = np.array(instance.array("edges"), dtype=np.int64)
    name, n = instance.name, instance.size
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise InstanceError(f"instance {name!r}: edges have shape {edges.shape}, expected (2, E)")
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        bad = int(edges.max() if edges.max() >= n else edges.min())
        raise InstanceError(f"instance {name!r}: an edge names node {bad}, nodes are 0 to {n - 1}")
    loops = np.flatnonzero(edges[0] == edges[1])
    if loops.size:
        raise InstanceError(
            f"instance {name!r}: edge {loops[0]} joins node {edges[0, loops[0]]} to itself"
        )
    codes = edges.min(axis=0) * n + edges.max(axis=0)
    ordered = np.sort(codes)  # which takes a fraction of the time of counting
    if (ordered[1:] == ordered[:-1]).any():
        values, counts = np.unique(codes, return_counts=True)
        u, v = divmod(int(values[counts.argmax()]), n)
        raise InstanceError(f"instance {name!r}: the edge {u}-{v} stands there twice")
    return edges
