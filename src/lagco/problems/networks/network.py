"""A communication network with traffic demands, as the arrays that compiled code walks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.core.graphs.hops import hop_distances
from lagco.errors import InstanceError
from lagco.instances import ArrayForm, Instance

#: distances between all pairs are kept, so a network is no larger
MOST_NODES = 5000
#: of a capacity or a volume, so that what is divided by it stays finite
SMALLEST_AMOUNT = 1e-12
#: likewise no more than that
MOST_AMOUNT = 1e15
#: parameter: whether every link leads in one direction only
DIRECTED = "directed"
#: array (E,): 1 for every link that has failed; demands that it cuts off are not carried
FAILED = "failed"
NODES: dict[str, Any] = {"type": "integer", "minimum": 2, "maximum": MOST_NODES}
ARRAYS = {
    "edges": ArrayForm("integer", (2, "links"), low=0, below="nodes"),
    "capacities": ArrayForm("number", ("links",)),
    "demands": ArrayForm("integer", (2, "demands"), low=0, below="nodes"),
    "volumes": ArrayForm("number", ("demands",)),
    "names": ArrayForm("text", ("nodes",), optional=True),
    "coordinates": ArrayForm("number", ("nodes", 2), optional=True),
    # of what is out of service, see `events`
    "down": ArrayForm("integer", ("links",), low=0, below=2, optional=True),
    "nodes_down": ArrayForm("integer", ("nodes",), low=0, below=2, optional=True),
    "delays": ArrayForm("number", ("links",), low=0, optional=True),
    FAILED: ArrayForm("integer", ("links",), low=0, below=2, optional=True),
}
#: parameters that both problems declare
PARAMS: dict[str, Any] = {"nodes": NODES, DIRECTED: {"type": "boolean"}}


class Network(NamedTuple):
    """Links, and what has to be carried over them.

    Link e is the two arcs 2e (from ``edges[0, e]`` to ``edges[1, e]``) and 2e + 1 (back). Arcs that
    are not there (the way back of a directed link, links that failed) are in no list of neighbours.
    Node v leads to ``heads[first[v]:first[v + 1]]`` in rising order, over the arcs ``arcs`` of
    there, and is reached from the nodes ``tails`` over ``back_arcs``, from ``back_first[v]`` on.
    Where links have both directions these are the same arrays, and only the links of
    ``back_arcs`` count.

    Attributes:
        num_nodes: n
        edges: (2, E)
        capacities: (2 E,) of every arc
        first: (n + 1,)
        heads: (A,), A the arcs that are there
        arcs: (A,)
        arc_of: int32 (n, n), the arc from one node to another, -1 where there is none
        sources: (D,)
        targets: (D,)
        volumes: (D,)
        hops: (n, n), the fewest links from one node to another, n where there is no way
        directed: whether links have the arc 2e alone
        back_first: (n + 1,)
        tails: (A,)
        back_arcs: (A,)
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
    directed: bool
    back_first: Array
    tails: Array
    back_arcs: Array

    @property
    def link_capacities(self) -> Array:
        """Capacity of every link, of its larger direction: (E,)."""
        found: Array = self.capacities.reshape(-1, 2).max(axis=1)
        return found

    @property
    def whole(self) -> bool:
        """Whether all links have both directions and none has failed."""
        return len(self.arcs) == len(self.capacities)

    @property
    def num_links(self) -> int:
        """E."""
        return int(self.edges.shape[1])

    @property
    def num_demands(self) -> int:
        """D."""
        return len(self.volumes)


def network_of(instance: Instance, *, joined: bool = False) -> Network:
    """The network of an `ospf` or `traffic` instance, checked.

    Demands that failed links cut off have the volume 0.

    Args:
        instance: the instance.
        joined: whether two directed links between the same nodes become one link with a capacity
            per direction, where directions need no values of their own.

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
    volumes = _positive(instance, "volumes", demands.shape[1], or_zero=True)
    directed = bool(instance.params.get(DIRECTED, False))
    ends = edges if directed else np.sort(edges, axis=0)
    _refuse_twice(name, "link", ends[0] * n + ends[1], n)
    _refuse_twice(name, "demand", demands[0] * n + demands[1], n)
    there = np.ones((edges.shape[1], 2), dtype=bool)
    there[:, 1] = not directed
    failed = failed_links(instance)
    if failed is not None:
        there[failed] = False
    per_arc, present = np.repeat(capacities, 2), there.reshape(-1)
    if directed and joined:
        edges, per_arc, present = _joined(n, edges, capacities, there[:, 0])
        directed = False
    network = build_network(n, edges, per_arc, demands, volumes, directed, present)
    cut_off = np.flatnonzero(network.hops[network.sources, network.targets] >= n)
    if cut_off.size and failed is None:
        u, v = demands[:, cut_off[0]].tolist()
        raise InstanceError(f"instance {name!r}: no links lead from {u} to {v}, demanded there")
    network.volumes[cut_off] = 0.0
    return network


def failed_links(instance: Instance) -> Array | None:
    """Flags (E,) of the links that have failed; None where none has."""
    failed = instance.arrays.get(FAILED)
    return None if failed is None or not failed.any() else failed.astype(bool)


def differs_only_in(instance: Instance, before: Instance | None, *names: str) -> bool:
    """Whether an instance shares parameters and arrays with one before, but for those named.

    Never with failed links, which cut demands off.
    """
    if before is None or before.params != instance.params or FAILED in instance.arrays:
        return False
    shared = instance.arrays.keys() - set(names)
    return shared == before.arrays.keys() - set(names) and all(
        instance.arrays[name] is before.arrays[name] for name in shared
    )


def _joined(n: int, edges: Array, capacities: Array, there: Array) -> tuple[Array, Array, Array]:
    """Links with both directions (2, P) of directed ones, and per arc capacity and presence."""
    codes = np.sort(edges, axis=0)
    _, begins, places = np.unique(codes[0] * n + codes[1], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(begins))  # pairs in the order in which they are listed
    pairs = edges[:, np.sort(begins)]
    link = rank[places.reshape(-1)]
    arc = 2 * link + (pairs[0, link] != edges[0])
    joint, present = np.ones(2 * pairs.shape[1]), np.zeros(2 * pairs.shape[1], dtype=bool)
    joint[arc], present[arc] = capacities, there
    return np.ascontiguousarray(pairs), joint, present


def build_network(
    n: int,
    edges: Array,
    capacities: Array,
    demands: Array,
    volumes: Array,
    directed: bool = False,
    there: Array | None = None,
) -> Network:
    """The arrays of a network whose parts are known to be sound.

    capacities, there: (2 E,) of every arc, and whether it is there; all are by default.
    """
    tails = np.concatenate([edges[0], edges[1]])
    heads = np.concatenate([edges[1], edges[0]])
    link = np.arange(edges.shape[1], dtype=np.int64)
    arcs = np.concatenate([2 * link, 2 * link + 1])
    whole = there is None or bool(there.all())
    if not whole and there is not None:
        tails, heads, arcs = (part[there[arcs]] for part in (tails, heads, arcs))
    arc_of = np.full((n, n), -1, dtype=np.int32)
    arc_of[tails, heads] = arcs
    back = first, heads, arcs = _star(n, tails, heads, arcs)
    if not whole:
        back = _star(n, heads_of(edges, arcs), tails_of(edges, arcs), arcs)
    return Network(
        num_nodes=n,
        edges=edges,
        capacities=capacities,
        first=first,
        heads=heads,
        arcs=arcs,
        arc_of=arc_of,
        sources=np.ascontiguousarray(demands[0]),
        targets=np.ascontiguousarray(demands[1]),
        volumes=volumes,
        hops=hop_distances(first, heads),
        directed=directed,
        back_first=back[0],
        tails=back[1],
        back_arcs=back[2],
    )


def tails_of(edges: Array, arcs: Array) -> Array:
    """Nodes at which arcs begin."""
    found: Array = edges[arcs & 1, arcs >> 1]
    return found


def heads_of(edges: Array, arcs: Array) -> Array:
    """Nodes at which arcs end."""
    return tails_of(edges, arcs ^ 1)


def _star(n: int, begins: Array, ends: Array, arcs: Array) -> tuple[Array, Array, Array]:
    """First arcs of the nodes (n + 1,), the other ends in rising order, and the arcs."""
    order = np.lexsort((ends, begins))
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(begins, minlength=n), out=first[1:])
    return first, np.ascontiguousarray(ends[order]), np.ascontiguousarray(arcs[order])


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


def _positive(instance: Instance, name: str, count: int, *, or_zero: bool = False) -> Array:
    values = np.array(instance.array(name), dtype=np.float64)
    where = f"instance {instance.name!r}: {name}"
    if values.shape != (count,):
        raise InstanceError(f"{where} has shape {values.shape}, expected ({count},)")
    fine = values >= SMALLEST_AMOUNT
    if or_zero and fine.any():  # some demands may be of nothing now
        fine |= values == 0.0
    if not (np.isfinite(values).all() and fine.all()):
        raise InstanceError(f"{where} must be positive numbers, the smallest is {values.min()}")
    return values


def _refuse_twice(name: str, kind: str, codes: Array, n: int) -> None:
    found, counts = np.unique(codes, return_counts=True)
    if len(found) != len(codes):
        u, v = divmod(int(found[counts.argmax()]), n)
        raise InstanceError(f"instance {name!r}: the {kind} {u}-{v} stands there twice; join them")
