"""Parts that the observations of all problems share, per feature set."""

from __future__ import annotations

from collections.abc import Sequence

from lagco.core.declaring.descriptors import (
    get_density,
    get_log_mean_degree,
    get_log_num_edges,
    get_log_num_nodes,
    get_mean_degree,
    get_num_edges,
    get_num_nodes,
)
from lagco.core.pooling import AnyPooling, Max, Mean, Min, RootSum, Sum
from lagco.core.spec import Function, Graph

#: sums over sqrt(n) in `full`, raw sums in `paper`
POOLINGS: dict[str, Sequence[AnyPooling]] = {
    "full": (Mean, Max, Min, RootSum),
    "paper": (Mean, Max, Min, Sum),
}
#: counts as log1p in `full`, raw in `paper`
DESCRIPTORS = {
    "full": {
        "num_nodes": get_log_num_nodes,
        "num_edges": get_log_num_edges,
        "mean_degree": get_log_mean_degree,
        "density": get_density,
    },
    "paper": {
        "num_nodes": get_num_nodes,
        "num_edges": get_num_edges,
        "mean_degree": get_mean_degree,
        "density": get_density,
    },
}


def graph_observation(features: str, view: str) -> dict[str, Graph | Function]:
    """The four poolings of a view and its four structural descriptors."""
    parts: dict[str, Graph | Function] = {view: Graph(poolings=POOLINGS[features], graph=view)}
    for name, function in DESCRIPTORS[features].items():
        parts[f"{view}.{name}"] = Function(function, graph=view)
    return parts
