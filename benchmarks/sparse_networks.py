"""Networks as sparse as real ones, for training and measuring live agents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay

from lagco.instances import Instance
from lagco.problems.ospf import OSPF


def sparse_network(nodes: int, seed: int, links: float = 2.0, share: float = 1.0) -> Instance:
    """A network of `ospf` with a traffic matrix that follows from what nodes send and receive.

    Nodes lie in a square, joined by their shortest tree and random links of their triangulation.
    The half of the links that carries more with equal weights has four times the capacity.

    Args:
        nodes: number of nodes.
        seed: of all that is drawn.
        links: per node.
        share: of the pairs that have a demand.
    """
    rng = np.random.default_rng([seed, nodes])
    places = rng.random((nodes, 2))
    sides = Delaunay(places).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    pairs = np.unique(np.sort(sides, axis=1), axis=0).T
    lengths = np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=1)
    tree = minimum_spanning_tree(csr_array((lengths, tuple(pairs)), shape=(nodes, nodes))).tocoo()
    in_tree = np.isin(pairs[0] * nodes + pairs[1], tree.row * nodes + tree.col)
    order = np.argsort(rng.random(len(lengths)) - in_tree, kind="stable")
    edges = pairs[:, np.sort(order[: int(links * nodes)])]
    ends = np.stack(np.nonzero(~np.eye(nodes, dtype=bool)))
    demands = ends[:, rng.random(ends.shape[1]) < share]
    amounts = rng.lognormal(sigma=0.7, size=nodes)
    arrays = {
        "edges": edges,
        "capacities": np.full(edges.shape[1], 1000.0),
        "demands": demands,
        "volumes": amounts[demands].prod(axis=0),
    }
    plain = Instance("ospf", f"sparse-{nodes}", edges.shape[1], arrays, {"nodes": nodes})
    env = OSPF(plain, start="default")
    env.reset(seed=0)
    loads = env.loads.max(axis=1)
    wide = np.where(loads > np.median(loads), 4000.0, 1000.0)
    return replace(plain, arrays={**arrays, "capacities": wide})
