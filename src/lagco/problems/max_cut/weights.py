"""Weighted edges of a `max-cut` instance and the cut they give."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.adjacency import Adjacency, edges_of
from lagco.results.numbers import of_things


class WeightedGraph(NamedTuple):
    """Node v has the neighbours ``neighbours[first[v]:first[v + 1]]``, with ``weights`` of there.

    Attributes:
        first: (n + 1,)
        neighbours: (2 E,)
        weights: (2 E,)
    """

    first: Array
    neighbours: Array
    weights: Array


def weighted_graph(adjacency: Adjacency, weights: Array) -> WeightedGraph:
    """Neighbours with the weights (E,) of the edges to them."""
    return WeightedGraph(adjacency.first, adjacency.neighbours, weights[adjacency.edge_ids])


def weighted_edges(instance: Instance) -> tuple[Array, Array]:
    """Edges (2, E) and finite weights (E,) of an instance, checked."""
    edges = edges_of(instance)
    weights = np.array(instance.array("weights"), dtype=np.float64)
    if weights.shape != (edges.shape[1],):
        raise InstanceError(
            f"instance {instance.name!r}: weights have shape {weights.shape} for "
            f"{of_things(edges.shape[1], 'edges')}"
        )
    if not np.isfinite(weights).all():
        raise InstanceError(f"instance {instance.name!r}: a weight is no finite number")
    return edges, weights


def cut_value(edges: Array, weights: Array, sides: Array) -> float:
    """Weight of the edges whose ends are on different sides."""
    return float(weights[sides[edges[0]] != sides[edges[1]]].sum())
