"""A communication network with traffic demands, as the arrays that compiled code walks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.hops import hop_distances
from lagco.errors import InstanceError
from lagco.instances import ArrayForm, Instance

#: distances between all pairs are kept, so a network is no larger
MOST_NODES = 5000
#: of a capacity or a volume, so that what is divided by it stays finite
SMALLEST_AMOUNT = 1e-12
NODES: dict[str, Any] = {"type": "integer", "minimum": 2, "maximum": MOST_NODES}
ARRAYS = {
    "edges": ArrayForm("integer", (2, "links"), low=0, below="nodes"),
    "capacities": ArrayForm("number", ("links",)),
    "demands": ArrayForm("integer", (2, "demands"), low=0, below="nodes"),
    "volumes": ArrayForm("number", ("demands",)),
    "names": ArrayForm("text", ("nodes",), optional=True),
    "coordinates": ArrayForm("number", ("nodes", 2), optional=True),
}


class Network(NamedTuple):
    """Links with two directions each, and what has to be carried over them.

    Link e is the two arcs 2e (from ``edges[0, e]`` to ``edges[1, e]``) and 2e + 1 (back). Node v
    has the neighbours ``heads[first[v]:first[v + 1]]`` in rising order, over the arcs ``arcs`` of
    there.

    Attributes:
        num_nodes: n
        edges: (2, E)
        capacities: (E,), the same in each direction
        first: (n + 1,)
        heads: (2 E,)
        arcs: (2 E,)
        arc_of: int32 (n, n), the arc from one node to another, -1 where there is none
        sources: (D,)
        targets: (D,)
        volumes: (D,)
        hops: (n, n), the fewest links from one node to another, n where there is no way
    """

    num_nodes: int
    edges: Array
    capacities: Array
    first: Array
    heads: Array
    arcs: Array
    arc_of: Array
    sources: Array
    targets: Array
    volumes: Array
    hops: Array

    @property
    def num_links(self) -> int:
        """E."""
        return int(self.edges.shape[1])

    @property
    def num_demands(self) -> int:
        """D."""
        return len(self.volumes)


def network_of(instance: Instance) -> Network:
    """The network of an `ospf` or `traffic` instance, checked.

    Raises:
        InstanceError: an array has the wrong shape or range, a link or demand stands there twice,
            or a demand cannot be carried.
    """
    name = instance.name
    n = instance.params.get("nodes")
    if not isinstance(n, int) or not 2 <= n <= MOST_NODES:
        raise InstanceError(
            f"instance {name!r}: params['nodes'] is {n!r}, a network has 2 to {MOST_NODES} nodes"
        )
    edges = _pairs(instance, "edges", n)
    demands = _pairs(instance, "demands", n)
    capacities = _positive(instance, "capacities", edges.shape[1])
    volumes = _positive(instance, "volumes", demands.shape[1])
    _refuse_twice(name, "link", edges.min(axis=0) * n + edges.max(axis=0), n)
    _refuse_twice(name, "demand", demands[0] * n + demands[1], n)
    network = build_network(n, edges, capacities, demands, volumes)
    cut_off = np.flatnonzero(network.hops[network.sources, network.targets] >= n)
    if cut_off.size:
        u, v = demands[:, cut_off[0]].tolist()
        raise InstanceError(f"instance {name!r}: no links lead from {u} to {v}, demanded there")
    return network


def build_network(
    n: int, edges: Array, capacities: Array, demands: Array, volumes: Array
) -> Network:
    """The arrays of a network whose parts are known to be sound."""
    tails = np.concatenate([edges[0], edges[1]])
    heads = np.concatenate([edges[1], edges[0]])
    link = np.arange(edges.shape[1], dtype=np.int64)
    arcs = np.concatenate([2 * link, 2 * link + 1])
    order = np.lexsort((heads, tails))
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=first[1:])
    arc_of = np.full((n, n), -1, dtype=np.int32)
    arc_of[tails, heads] = arcs
    heads = np.ascontiguousarray(heads[order])
    return Network(
        num_nodes=n,
        edges=edges,
        capacities=capacities,
        first=first,
        heads=heads,
        arcs=np.ascontiguousarray(arcs[order]),
        arc_of=arc_of,
        sources=np.ascontiguousarray(demands[0]),
        targets=np.ascontiguousarray(demands[1]),
        volumes=volumes,
        hops=hop_distances(first, heads),
    )


def _pairs(instance: Instance, name: str, n: int) -> Array:
    pairs = np.array(instance.array(name), dtype=np.int64)
    where = f"instance {instance.name!r}: {name}"
    if pairs.ndim != 2 or pairs.shape[0] != 2 or pairs.shape[1] == 0:
        raise InstanceError(f"{where} has shape {pairs.shape}, expected (2, at least 1)")
    if pairs.min() < 0 or pairs.max() >= n:
        bad = int(pairs.min() if pairs.min() < 0 else pairs.max())
        raise InstanceError(f"{where} names node {bad}, the nodes are 0 to {n - 1}")
    loops = np.flatnonzero(pairs[0] == pairs[1])
    if loops.size:
        raise InstanceError(f"{where}: number {loops[0]} joins node {pairs[0, loops[0]]} to itself")
    return pairs


def _positive(instance: Instance, name: str, count: int) -> Array:
    values = np.array(instance.array(name), dtype=np.float64)
    where = f"instance {instance.name!r}: {name}"
    if values.shape != (count,):
        raise InstanceError(f"{where} has shape {values.shape}, expected ({count},)")
    if not (np.isfinite(values).all() and (values >= SMALLEST_AMOUNT).all()):
        raise InstanceError(f"{where} must be positive numbers, the smallest is {values.min()}")
    return values


def _refuse_twice(name: str, kind: str, codes: Array, n: int) -> None:
    found, counts = np.unique(codes, return_counts=True)
    if len(found) != len(codes):
        u, v = divmod(int(found[counts.argmax()]), n)
        raise InstanceError(f"instance {name!r}: the {kind} {u}-{v} stands there twice; join them")
