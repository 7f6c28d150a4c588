"""Communication networks of SNDlib, GraphML and REPETITA files, as instances of both problems.

- Parallel links become one with the sum of their capacities. Of parallel links with different
  weights only those of the lowest count, since the others carry nothing.
- Where a file lists both directions of links, each direction is a link with a capacity and a
  weight of its own. In SNDlib, and where one could not come back otherwise, a link that such a file
  lists in one direction only counts for both.
- A link without a known capacity takes the median of the known ones, or 1 if none is known.
- Weights have to be whole numbers from 1 to 65535. Where they exceed what is usual here (1 to 5),
  all of these may be chosen.
- Of a network in several parts the one with the most nodes is kept.
- Demands come from the `demands` file, else from the network's own file, else from a gravity model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from statistics import median, median_low
from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import close_to
from lagco.instances.formats.format import origin
from lagco.instances.formats.source import Source
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
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
#: names that a message about an unknown one lists
_NEAR = 3
#: what the problems take for granted where a file says nothing
PARAMS: dict[str, dict[str, Any]] = {
    "ospf": {"ecmp": True, "min_weight": 1, "max_weight": 5},
    "traffic": {"max_path_len": 4},
}
#: what routers accept as weight of a link
MOST_WEIGHT = 65535


class Link(NamedTuple):
    """A link as a file lists it; None where something is not known."""

    source: int
    target: int
    capacity: float | None
    weight: float | None = None
    delay: float | None = None


@dataclass
class Topology:
    """Nodes, links and demands as a file lists them.

    Attributes:
        format_name: of the file.
        names: of the nodes, each different.
        links: ends, capacity, weight and delay.
        positions: of the nodes, None where it is not known.
        directed: whether a link is listed once per direction.
        one_way: whether such a link never leads back, whatever follows from that.
        demands: source, target and volume.
        aliases: further names by which a demand file may call a node.
        notes: what was decided or left out.
    """

    format_name: str
    names: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    positions: list[tuple[float, float] | None] = field(default_factory=list)
    directed: bool = False
    one_way: bool = False
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
            source.named(name, "the name of a node", line)
            raise source.error(self._unknown(name), line)
        return found

    def _unknown(self, name: str) -> str:
        near = close_to(name, self.names, most=_NEAR)
        listed = near or self.names[:_NEAR]
        more = ", …" if len(self.names) > len(listed) else ""
        found = ", ".join(map(shown, listed))
        hint = f"did you mean {found}?" if near else f"the nodes are {found}{more}"
        return f"there is no node {shown(name)}; {hint}"

    def add_link(
        self,
        source: Source,
        u: str,
        v: str,
        capacity: float | None,
        line: int,
        weight: float | None = None,
        delay: float | None = None,
    ) -> None:
        """Add a link between two nodes; a capacity of 0 counts as not known."""
        ends = self.node(source, u, line), self.node(source, v, line)
        if ends[0] == ends[1]:
            raise source.error(f"a link joins the node {shown(u)} to itself", line)
        if capacity is not None and 0.0 < capacity < SMALLEST:
            raise source.error(f"a capacity is {capacity:g}, below {SMALLEST:g}", line)
        self.links.append(Link(*ends, capacity or None, weight, delay))

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
        links, directed = self._directed_links(notes)
        edges, capacities, weights, delays = _merged(
            _with_weights(_with_capacities(links, notes), self.names, notes), directed, notes
        )
        kept = _largest_part(len(self.names), edges, directed)
        inside = kept[edges].all(axis=0)
        place = np.cumsum(kept) - 1
        edges, capacities = place[edges[:, inside]], capacities[inside]
        if not kept.all():
            notes.append(self._left_out(kept))
        demands = self._kept_demands(source, kept, place)
        if not demands:
            notes.append("demands by the gravity model")
            demands = gravity_demands(int(kept.sum()), edges, capacities, directed)
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
        params: dict[str, Any] = {"nodes": int(kept.sum()), **PARAMS[problem]}
        if directed:
            params["directed"] = True
        if delays is not None:
            arrays["delays"] = delays[inside]
        if weights is not None and problem == "ospf":
            arrays["weights"] = weights[inside]
            params |= weight_params(arrays["weights"])
        elif weights is not None:
            notes.append("weights of links do not count where every demand has a path of its own")
        return Instance(
            problem=problem,
            name=source.name,
            size=int((edges if problem == "ospf" else pairs).shape[1]),
            arrays=arrays,
            params=params,
            origin=origin(source, self.format_name, notes),
        )

    def _left_out(self, kept: Array) -> str:
        """Note about the nodes that are not kept."""
        left = np.flatnonzero(~kept)
        named = ", ".join(self.names[v] for v in left[:10]) + (", …" if len(left) > 10 else "")
        lost = sum(not (kept[s] and kept[t]) for s, t, _ in self.demands)
        with_them = f" and {of_things(lost, 'demands')}" if lost else ""
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

    def _directed_links(self, notes: list[str]) -> tuple[list[Link], bool]:
        """The links, and whether each leads in one direction only."""
        pairs = {link[:2] for link in self.links}
        single = [link for link in self.links if (link.target, link.source) not in pairs]
        if not self.directed or (len(single) == len(self.links) and not self.one_way):
            return self.links, False
        if not single or self.one_way:
            return self.links, True
        edges = np.array([link[:2] for link in self.links]).T
        joined = _largest_part(len(self.names), edges, False).sum()
        if (
            self.format_name == "graphml"
            and _largest_part(len(self.names), edges, True).sum() == joined
        ):
            return self.links, True
        notes.append(
            f"listed in one direction only, taken for both: {of_things(len(single), 'links')}"
        )
        back = [link._replace(source=link.target, target=link.source) for link in single]
        return self.links + back, True


def weight_params(weights: Array) -> dict[str, int]:
    """Parameters of `ospf` for present weights: their range, and what one change makes.

    Where they are not of the usual range, a change is as large as a small weight.
    """
    usual = PARAMS["ospf"]
    if weights.min() >= usual["min_weight"] and weights.max() <= usual["max_weight"]:
        return {}
    step = max(int(weights.min()), round(float(np.median(weights)) / 10.0), 1)
    return {"max_weight": MOST_WEIGHT, "weight_step": step}


def _with_capacities(links: list[Link], notes: list[str]) -> list[Link]:
    """The links, unknown capacities filled in."""
    known = [link.capacity for link in links if link.capacity is not None]
    usual = float(median(known)) if known else 1.0
    missing = len(links) - len(known)
    if missing:
        what = f"the median {usual:g}" if known else "1"
        notes.append(
            f"no capacity for {missing} of {of_things(len(links), 'links')}: {what} for each"
        )
    return [link._replace(capacity=usual) if link.capacity is None else link for link in links]


def _with_weights(links: list[Link], names: list[str], notes: list[str]) -> list[Link]:
    """The links with the weights of all, or of none where one is no weight."""
    known = [link for link in links if link.weight is not None]
    for link in known:
        weight = link.weight
        if weight is None or weight != round(weight) or not 1 <= weight <= MOST_WEIGHT:
            notes.append(
                f"weights left out: {weight:g} of {names[link.source]}-{names[link.target]} is no "
                f"whole number from 1 to {MOST_WEIGHT}"
            )
            return [link._replace(weight=None) for link in links]
    if not known or len(known) == len(links):
        return links
    usual = median_low([link.weight for link in known if link.weight is not None])
    notes.append(
        f"no weight for {len(links) - len(known)} of {of_things(len(links), 'links')}: the median "
        f"{usual:g} for each"
    )
    return [link._replace(weight=usual) if link.weight is None else link for link in links]


def _merged(
    links: list[Link], directed: bool, notes: list[str]
) -> tuple[Array, Array, Array | None, Array | None]:
    """Links (2, E), capacities, weights and delays (E,), one for each pair of nodes.

    Weights and delays are None where no link has any.
    """
    found: dict[tuple[int, int], Link] = {}
    parallel = idle = 0
    for link in links:
        u, v = link.source, link.target
        ends = (u, v) if directed else (min(u, v), max(u, v))
        other = found.get(ends)
        if other is None:
            found[ends] = link
            continue
        parallel += 1
        mine, its = link.weight or 0.0, other.weight or 0.0
        if mine == its:
            both = (link.capacity or 0.0) + (other.capacity or 0.0)
            found[ends] = other._replace(capacity=both)
        else:
            idle += 1
            found[ends] = link if mine < its else other
    if parallel > idle:
        notes.append(f"merged: {of_things(parallel - idle, 'parallel links')}")
    if idle:
        notes.append(
            f"left out: {of_things(idle, 'links')} beside a parallel one of a lower weight, which "
            "carries all"
        )
    merged = list(found.values())
    weights = delays = None
    if merged[0].weight is not None:
        weights = np.array([link.weight for link in merged], dtype=np.int64)
    if all(link.delay is not None for link in merged):
        delays = np.array([link.delay for link in merged], dtype=np.float64)
    capacities = np.array([link.capacity for link in merged], dtype=np.float64)
    return np.array(list(found), dtype=np.int64).T, capacities, weights, delays


def _largest_part(n: int, edges: Array, directed: bool) -> Array:
    """Flags (n,) of the nodes of the largest connected part, the first of several.

    Of directed links one from which every node can be reached from every other.
    """
    from scipy.sparse.csgraph import connected_components

    _, part = connected_components(_adjacency(n, edges), directed, connection="strong")
    return np.asarray(part == np.bincount(part).argmax())


def _adjacency(n: int, edges: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))


def gravity_demands(
    n: int, edges: Array, capacities: Array, directed: bool = False
) -> dict[tuple[int, int], float]:
    """Demands between all ordered pairs, in proportion to the capacity that ends at both nodes.

    Scaled so that links are a quarter full on average if all traffic takes the fewest hops, and
    rounded to six digits. In a large network only the nodes of most capacity exchange traffic: as
    many as have 20 000 pairs, that is 141.
    """
    from scipy.sparse.csgraph import dijkstra

    mass = np.bincount(edges.reshape(-1), np.tile(capacities, 2), minlength=n)
    count = min(n, (1 + int(np.sqrt(1 + 4 * MAX_GRAVITY_PAIRS))) // 2)
    chosen = np.sort(np.argsort(-mass, kind="stable")[:count])
    hops = dijkstra(_adjacency(n, edges), directed=directed, unweighted=True, indices=chosen)
    share = np.outer(mass[chosen], mass[chosen])
    np.fill_diagonal(share, 0.0)
    room = capacities.sum() * (1.0 if directed else 2.0)
    volumes = share * (GRAVITY_LOAD * room / (share * hops[:, chosen]).sum())
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
