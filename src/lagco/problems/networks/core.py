"""The core of a network: its nodes without attached trees.

Traffic of a node with a single link uses that link under any routing, so its demands can begin and
end at its neighbour.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.networks.network import Network, build_network


class Core(NamedTuple):
    """Links whose loads depend on the routing.

    Attributes:
        network: of these links, with the demands that are left; None where there are none.
        links: (E',) which links of the whole network they are.
        floor: largest utilisation of all the others.
    """

    network: Network | None
    links: Array
    floor: float


def core_of(network: Network) -> Core:
    """The core; the network itself where every node has several links, or arcs are missing."""
    n, links = network.num_nodes, network.num_links
    if not network.whole:
        return Core(network, np.arange(links), 0.0)
    turn, parent = _peel(network.first, network.heads, network.arcs)
    if (turn == n).all():
        return Core(network, np.arange(links), 0.0)
    sources, targets = network.sources.copy(), network.targets.copy()
    loads = np.zeros(2 * links)
    _carry(turn, parent, network.edges, sources, targets, network.volumes, loads)
    floor = float((loads / network.capacities).max())
    inside = turn == n
    kept = np.flatnonzero(inside[network.edges].all(axis=0))
    left = sources != targets
    if not left.any():
        return Core(None, kept, floor)
    label = np.cumsum(inside) - 1  # in the order of ids, by which equal ways are chosen among
    count = int(inside.sum())
    pairs, which = np.unique(
        label[sources[left]] * count + label[targets[left]], return_inverse=True
    )
    volumes = np.zeros(len(pairs))
    np.add.at(volumes, which.reshape(-1), network.volumes[left])
    demands = np.stack([pairs // count, pairs % count])
    edges = np.ascontiguousarray(label[network.edges[:, kept]])
    capacities = network.capacities.reshape(-1, 2)[kept].reshape(-1)
    core = build_network(count, edges, capacities, demands, volumes)
    return Core(core, kept, floor)


@njit(cache=True)
def _peel(first, heads, arcs):  # type: ignore[no-untyped-def]
    """Per node when it is taken away, n where it is not, and the arc over which it is reached."""
    n = first.shape[0] - 1
    turn = np.full(n, n, dtype=np.int64)
    parent = np.full(n, -1, dtype=np.int64)
    degree = np.diff(first)
    stack = np.empty(n, dtype=np.int64)
    count = taken = 0
    for v in range(n):
        if degree[v] == 1:
            stack[count] = v
            count += 1
    while count > 0:
        count -= 1
        v = stack[count]
        if degree[v] != 1:  # the last of a tree
            continue
        turn[v] = taken
        taken += 1
        for k in range(first[v], first[v + 1]):
            other = heads[k]
            if turn[other] == n:
                parent[v] = arcs[k]
                degree[other] -= 1
                if degree[other] == 1:
                    stack[count] = other
                    count += 1
    return turn, parent


@njit(cache=True)
def _carry(turn, parent, edges, sources, targets, volumes, loads):  # type: ignore[no-untyped-def]
    """Move the ends of demands towards each other as far as there is one way only."""
    for d in range(volumes.shape[0]):
        s, t = sources[d], targets[d]
        while s != t and turn[s] != turn[t]:
            if turn[s] < turn[t]:
                arc = parent[s]
                loads[arc] += volumes[d]
                s = edges[1 - (arc & 1), arc >> 1]
            else:
                arc = parent[t]
                loads[arc ^ 1] += volumes[d]
                t = edges[1 - (arc & 1), arc >> 1]
        sources[d], targets[d] = s, t
