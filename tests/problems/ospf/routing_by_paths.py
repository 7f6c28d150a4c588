"""Link loads the slow way: networkx lists all shortest paths of every demand."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np


def link_loads(instance, weights, ecmp):
    """Load of every link per direction: (E, 2)."""
    graph = nx.Graph()
    edges = instance.arrays["edges"].T.tolist()
    for (u, v), weight in zip(edges, weights.tolist(), strict=True):
        graph.add_edge(u, v, weight=weight)
    column = {}
    for e, (u, v) in enumerate(edges):
        column[u, v], column[v, u] = (e, 0), (e, 1)
    loads = np.zeros((len(edges), 2))
    demands = instance.arrays["demands"].T.tolist()
    for (source, target), volume in zip(demands, instance.arrays["volumes"].tolist(), strict=True):
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
