"""Communication networks of SNDlib and GraphML files, as instances of `ospf` and `traffic`.

Both problems take links with one capacity for each direction, and directed demands.

- Parallel links become one with the sum of their capacities. Where a file lists directed links,
  each direction is summed by itself and the smaller sum counts for both.
- A link without a known capacity takes the median of the known ones, or 1 if none is known.
- Of a network in several parts the one with the most nodes is kept.
- Demands come from the `demands` file, else from the network's own file, else from a gravity model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.instances.formats.format import counted, origin
from lagco.instances.formats.source import Source
from lagco.instances.instance import Instance
from lagco.store import shown

PROBLEMS = ("ospf", "traffic")
#: smallest capacity and volume, so that no ratio of two of them leaves the range of numbers
SMALLEST = 1e-9
#: nodes of the largest network that is read; problems keep a table of all their distances
MAX_NODES = 1_000
#: pairs of nodes between which the gravity model sends traffic
MAX_GRAVITY_PAIRS = 20_000
#: mean utilisation of the links that the gravity model aims at
GRAVITY_LOAD = 0.25
#: what the problems take for granted where a file says nothing
PARAMS: dict[str, dict[str, Any]] = {
    "ospf": {"ecmp": True, "min_weight": 1, "max_weight": 5},
    "traffic": {"max_path_len": 4},
}


@dataclass
class Topology:
    """Nodes, links and demands as a file lists them.

    Attributes:
        format_name: of the file.
        names: of the nodes, each different.
        links: ends and capacity, None where it is not known.
        positions: of the nodes, None where it is not known.
        directed: whether a link is listed once per direction.
        demands: source, target and volume.
        aliases: further names by which a demand file may call a node.
        notes: what was decided or left out.
    """

    format_name: str
    names: list[str] = field(default_factory=list)
    links: list[tuple[int, int, float | None]] = field(default_factory=list)
    positions: list[tuple[float, float] | None] = field(default_factory=list)
    directed: bool = False
    demands: list[tuple[int, int, float]] = field(default_factory=list)
    aliases: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._index = {name: v for v, name in enumerate(self.names)}

    def add_node(
        self, source: Source, name: str, position: tuple[float, float] | None, line: int
    ) -> None:
        """Add a node."""
        if name in self._index:
            raise source.error(f"the node {shown(name)} stands there twice", line)
        self._index[source.named(name, "the name of a node", line)] = len(self.names)
        if len(self.names) == MAX_NODES:
            raise source.error(f"more than {MAX_NODES} nodes; networks are read up to that", line)
        self.names.append(name)
        self.positions.append(position)

    def node(self, source: Source, name: str, line: int | None) -> int:
        """The node of that name."""
        found = self._index.get(name)
        found = self.aliases.get(name) if found is None else found
        if found is None:
            raise source.error(f"there is no node {shown(name)}", line)
        return found

    def add_link(self, source: Source, u: str, v: str, capacity: float | None, line: int) -> None:
        """Add a link between two nodes; a capacity of 0 counts as not known."""
        ends = self.node(source, u, line), self.node(source, v, line)
        if ends[0] == ends[1]:
            raise source.error(f"a link joins the node {shown(u)} to itself", line)
        if capacity is not None and 0.0 < capacity < SMALLEST:
            raise source.error(f"a capacity is {capacity:g}, below {SMALLEST:g}", line)
        self.links.append((*ends, capacity or None))

    def add_demand(self, source: Source, u: str, v: str, volume: float, line: int) -> None:
        """Add a demand from `u` to `v`; several for the same nodes add up."""
        ends = self.node(source, u, line), self.node(source, v, line)
        if ends[0] == ends[1]:
            raise source.error(f"a demand leads from the node {shown(u)} to itself", line)
        if 0.0 < volume < SMALLEST:
            raise source.error(f"a demand is {volume:g}, below {SMALLEST:g}", line)
        self.demands.append((*ends, volume))

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `ospf` or `traffic`."""
        notes = list(self.notes)
        if not self.links:
            raise source.error("the network has no link")
        edges, capacities = _merged(self._filled(notes), self.directed, notes)
        kept = _largest_part(len(self.names), edges)
        inside = kept[edges[0]]
        place = np.cumsum(kept) - 1
        edges, capacities = place[edges[:, inside]], capacities[inside]
        if not kept.all():
            notes.append(self._left_out(kept))
        demands = self._kept_demands(source, kept, place)
        if not demands:
            notes.append("demands by the gravity model")
            demands = gravity_demands(int(kept.sum()), edges, capacities)
        pairs = np.array(list(demands), dtype=np.int32).T
        arrays: dict[str, Array] = {
            "edges": edges.astype(np.int32),
            "capacities": capacities,
            "demands": pairs,
            "volumes": np.array(list(demands.values()), dtype=np.float64),
            "names": np.array(self.names)[kept],
        }
        if all(position is not None for position in self.positions):
            arrays["coordinates"] = np.array(self.positions, dtype=np.float64)[kept]
        return Instance(
            problem=problem,
            name=source.name,
            size=int((edges if problem == "ospf" else pairs).shape[1]),
            arrays=arrays,
            params={"nodes": int(kept.sum()), **PARAMS[problem]},
            origin=origin(source, self.format_name, notes),
        )

    def _left_out(self, kept: Array) -> str:
        """Note about the nodes that are not kept."""
        left = np.flatnonzero(~kept)
        named = ", ".join(self.names[v] for v in left[:10]) + (", …" if len(left) > 10 else "")
        lost = sum(not (kept[s] and kept[t]) for s, t, _ in self.demands)
        with_them = f" and {counted(lost, 'demand')}" if lost else ""
        return (
            f"in several parts: {kept.sum()} of {len(kept)} nodes kept, without {named}{with_them}"
        )

    def _kept_demands(
        self, source: Source, kept: Array, place: Array
    ) -> dict[tuple[int, int], float]:
        """Volume per ordered pair of kept nodes; several add up, those of 0 are left out."""
        sums: dict[tuple[int, int], float] = {}
        for s, t, volume in self.demands:
            if volume > 0.0 and kept[s] and kept[t]:
                pair = int(place[s]), int(place[t])
                sums[pair] = sums.get(pair, 0.0) + volume
        if self.demands and not sums:
            raise source.error("there is no demand between the nodes that are kept")
        return sums

    def _filled(self, notes: list[str]) -> list[tuple[int, int, float]]:
        """The links, unknown capacities filled in."""
        known = [capacity for _, _, capacity in self.links if capacity is not None]
        usual = float(median(known)) if known else 1.0
        missing = len(self.links) - len(known)
        if missing:
            what = f"the median {usual:g}" if known else "1"
            notes.append(f"no capacity for {missing} of {len(self.links)} links: {what} for each")
        return [(u, v, usual if c is None else c) for u, v, c in self.links]


def _merged(
    links: list[tuple[int, int, float]], directed: bool, notes: list[str]
) -> tuple[Array, Array]:
    """Links (2, E) and capacities (E,), one for each pair of nodes."""
    sums: dict[tuple[int, int], list[float]] = {}
    for u, v, capacity in links:
        both = sums.setdefault((min(u, v), max(u, v)), [0.0, 0.0])
        both[int(directed and u > v)] += capacity
    if directed:
        uneven = sum(there != back for there, back in sums.values() if there and back)
        if uneven:
            notes.append(
                f"capacities differ by direction on {counted(uneven, 'link')}: the smaller"
            )
    elif len(sums) < len(links):
        notes.append(f"merged: {counted(len(links) - len(sums), 'parallel link')}")
    capacities = [
        min(there, back) if there and back else there or back for there, back in sums.values()
    ]
    return np.array(list(sums), dtype=np.int64).T, np.array(capacities)


def _largest_part(n: int, edges: Array) -> Array:
    """Flags (n,) of the nodes of the largest connected part, the first of several."""
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_adjacency(n, edges), directed=False)
    return np.asarray(part == np.bincount(part).argmax())


def _adjacency(n: int, edges: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))


def gravity_demands(n: int, edges: Array, capacities: Array) -> dict[tuple[int, int], float]:
    """Demands between all ordered pairs, in proportion to the capacity that ends at both nodes.

    Scaled so that links are a quarter full on average if all traffic takes the fewest hops, and
    rounded to six digits. In a large network only the nodes of most capacity exchange traffic: as
    many as have 20 000 pairs, that is 141.
    """
    from scipy.sparse.csgraph import dijkstra

    mass = np.bincount(edges.reshape(-1), np.tile(capacities, 2), minlength=n)
    count = min(n, (1 + int(np.sqrt(1 + 4 * MAX_GRAVITY_PAIRS))) // 2)
    chosen = np.sort(np.argsort(-mass, kind="stable")[:count])
    hops = dijkstra(_adjacency(n, edges), directed=False, unweighted=True, indices=chosen)
    share = np.outer(mass[chosen], mass[chosen])
    np.fill_diagonal(share, 0.0)
    volumes = share * (GRAVITY_LOAD * 2.0 * capacities.sum() / (share * hops[:, chosen]).sum())
    return {
        (s, t): float(f"{volumes[i, j]:.6g}")
        for i, s in enumerate(chosen.tolist())
        for j, t in enumerate(chosen.tolist())
        if i != j
    }


def node_names(instance: Instance) -> list[str]:
    """Names of the nodes of a network; their numbers from 1 where it has none."""
    names = instance.arrays.get("names")
    if names is None:
        return [str(v + 1) for v in range(int(instance.params["nodes"]))]
    return [str(name) for name in names.tolist()]


def node_words(instance: Instance) -> list[str]:
    """Names of the nodes for formats that separate by spaces and parentheses, each different."""
    words: dict[str, int] = {}
    for name in node_names(instance):
        word = base = re.sub(r"[\s()#]+", "_", name).strip("_") or "node"
        while word in words:
            words[base] = words.get(base, 0) + 1
            word = f"{base}_{words[base]}"
        words[word] = 1
    return list(words)
