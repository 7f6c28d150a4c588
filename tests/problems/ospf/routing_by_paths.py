"""Link loads the slow way: networkx lists all shortest paths of every demand."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np


def link_loads(instance, weights, ecmp):
    """Load of every link per direction: (E, 2); demands that cannot be carried do not count."""
    directed = instance.params.get("directed", False)
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_nodes_from(range(instance.params["nodes"]))
    edges = instance.arrays["edges"].T.tolist()
    failed = instance.arrays.get("failed", np.zeros(len(edges)))
    column = {}
    for e, ((u, v), weight) in enumerate(zip(edges, weights.tolist(), strict=True)):
        column[u, v] = (e, 0)
        if not directed:
            column[v, u] = (e, 1)
        if not failed[e]:
            graph.add_edge(u, v, weight=weight)
    loads = np.zeros((len(edges), 2))
    demands = instance.arrays["demands"].T.tolist()
    for (source, target), volume in zip(demands, instance.arrays["volumes"].tolist(), strict=True):
        if volume == 0.0 or not nx.has_path(graph, source, target):
            continue
        paths = list(nx.all_shortest_paths(graph, source, target, weight="weight"))
        hops = {}
        for path in paths:
            for u, v in pairwise(path):
                hops.setdefault(u, set()).add(v)
        if ecmp:
            for path in paths:
                share = volume / np.prod([len(hops[u]) for u in path[:-1]])
                for u, v in pairwise(path):
                    loads[column[u, v]] += share
        else:
            node = source
            while node != target:
                following = min(hops[node])
                loads[column[node, following]] += volume
                node = following
    return loads
