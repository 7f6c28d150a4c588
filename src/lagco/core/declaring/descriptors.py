"""Graph descriptors for `Function` observations; each takes a :class:`~lagco.GraphView`."""

from __future__ import annotations

import math

from lagco.core.graph import GraphView


def get_num_nodes(view: GraphView) -> float:
    """Number of nodes."""
    return float(view.num_nodes)


def get_num_edges(view: GraphView) -> float:
    """Number of edges, an undirected one counted once."""
    return float(view.num_edges)


def get_mean_degree(view: GraphView) -> float:
    """Edge ends per node (edges per node in a directed graph)."""
    ends = view.num_edges if view.directed else 2 * view.num_edges
    return ends / max(view.num_nodes, 1)


def get_density(view: GraphView) -> float:
    """Edges over the number of pairs that could have one."""
    pairs = view.num_nodes * (view.num_nodes - 1)
    return 0.0 if pairs == 0 else get_mean_degree(view) * view.num_nodes / pairs


def get_log_num_nodes(view: GraphView) -> float:
    """log(1 + nodes): grows with size, but slowly."""
    return math.log1p(view.num_nodes)


def get_log_num_edges(view: GraphView) -> float:
    """log(1 + edges)."""
    return math.log1p(view.num_edges)


def get_log_mean_degree(view: GraphView) -> float:
    """log(1 + mean degree)."""
    return math.log1p(get_mean_degree(view))


#: what follows from the numbers of nodes and edges alone
STRUCTURAL = frozenset(
    {
        get_num_nodes,
        get_num_edges,
        get_mean_degree,
        get_density,
        get_log_num_nodes,
        get_log_num_edges,
        get_log_mean_degree,
    }
)
