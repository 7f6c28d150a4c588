"""The two graph views of a network, and what both problems declare about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pooling import Mean
from lagco.core.spec import Attribute, Function, Graph
from lagco.problems.features import graph_observation
from lagco.problems.networks.network import Network

COMMUNICATION = "comm_G"
TRAFFIC = "traffic_G"


def node_traffic(network: Network, relative: bool) -> dict[str, Array]:
    """Traffic that leaves for and arrives from anywhere, per node; relative: over the largest."""
    n = network.num_nodes
    outgoing = np.bincount(network.sources, network.volumes, n)
    incoming = np.bincount(network.targets, network.volumes, n)
    unit = max(outgoing.max(), incoming.max()) if relative else 1.0
    return {
        "outgoing_traffic": (outgoing / unit).astype(np.float32),
        "incoming_traffic": (incoming / unit).astype(np.float32),
    }


def traffic_attributes(full: bool) -> dict[str, Attribute]:
    """Declarations of what `node_traffic` gives."""
    return dict.fromkeys(("outgoing_traffic", "incoming_traffic"), static_amount(full))


def static_amount(full: bool) -> Attribute:
    """Something positive that stays: already scaled to 0 … 1 in `full`, scaled per graph else."""
    if full:
        return Attribute(low=0.0, high=1.0, static=True)
    return Attribute(norm="min_max", low=0.0, static=True)


def scaled(values: Array, full: bool) -> Array:
    """Over the largest in `full`, as they are else."""
    return (values / (values.max() if full else 1.0)).astype(np.float32)


def communication_view(
    network: Network, nodes: dict[str, Any], edge_attributes: dict[str, Any]
) -> GraphView:
    """The links, undirected."""
    return GraphView(network.num_nodes, network.edges, nodes=nodes, edge_attributes=edge_attributes)


def demand_view(
    network: Network, nodes: dict[str, Any], edge_attributes: dict[str, Any]
) -> GraphView:
    """The demands, directed."""
    return GraphView(
        network.num_nodes,
        np.stack([network.sources, network.targets]),
        nodes=nodes,
        edge_attributes=edge_attributes,
        directed=True,
    )


def network_observation(features: str) -> dict[str, Graph | Function]:
    """Both views; with `full` features also the ends of the most used links."""
    parts = graph_observation(features, COMMUNICATION) | graph_observation(features, TRAFFIC)
    if features == "full":
        parts["hot"] = Graph(poolings=[Mean], graph=COMMUNICATION, spec={"hot": True})
    return parts
