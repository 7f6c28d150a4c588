"""Events of networks: traffic that changes, demands, links and nodes that come and go.

What is out of service is put aside and comes back with what it had: links that are down or lead to
a node that is, and demands whose ends no links join. Weights keep their values, a path over a link
that is gone is replaced by the fewest hops. The two directions of a link fail together, also where
each is a link of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Draft, EventType, number, rows, text
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import node_names
from lagco.problems.networks.network import DIRECTED, MOST_AMOUNT, SMALLEST_AMOUNT
from lagco.store import shown

_SOURCE, _TARGET = text("node that traffic comes from"), text("node that it goes to")
_ONE_END, _OTHER_END = text("node at one end"), text("node at the other end")
_VOLUME = number("traffic in the unit of the capacities", low=0.0, high=MOST_AMOUNT)
_CAPACITY = number("capacity in each direction", low=SMALLEST_AMOUNT, high=MOST_AMOUNT)


def _change_matrix(draft: Draft, volumes: Any) -> None:
    names = node_names(draft.before)
    place_of = dict(zip(names, range(len(names)), strict=True)).__getitem__
    sources, targets, amounts = zip(*volumes, strict=True) if volumes else ((), (), ())
    try:
        ends = [list(map(place_of, nodes)) for nodes in (sources, targets)]
    except KeyError as error:
        draft.named("node", str(error.args[0]), names)
    n = len(names)
    codes = _codes(np.array(ends, dtype=np.int64), n)
    given = np.array(amounts, dtype=np.float64)
    _check_pairs(draft, codes, names)
    wanted = np.zeros(n * n)
    wanted[codes] = given
    known = np.zeros(n * n, dtype=bool)
    for suffix in ("", "_aside"):
        pairs = draft.arrays.get(f"demands{suffix}")
        if pairs is not None:
            own = _codes(pairs, n)
            draft.arrays[f"volumes{suffix}"] = np.maximum(wanted[own], SMALLEST_AMOUNT)
            known[own] = True
    new = codes[~known[codes] & (given > 0.0)]
    if new.size:
        _add_demands(draft, np.stack([new // n, new % n]), wanted[new])
        _settle(draft)


def _check_pairs(draft: Draft, codes: Array, names: list[str]) -> None:
    """Refuse traffic of a node to itself and pairs that stand there twice."""
    n = len(names)
    loops = codes[codes // n == codes % n]
    if loops.size:
        raise draft.error(f"a demand leads from the node {shown(names[loops[0] % n])} to itself")
    counts = np.bincount(codes, minlength=1)
    if counts.max() > 1:
        source, target = divmod(int(counts.argmax()), n)
        raise draft.error(f"the demand {names[source]}-{names[target]} stands there twice")


def _change_demand(draft: Draft, source: str, target: str, volume: float) -> None:
    names = node_names(draft.before)
    u, v = draft.named("node", source, names), draft.named("node", target, names)
    if u == v:
        raise draft.error(f"a demand leads from the node {shown(source)} to itself")
    for place, name in ((u, source), (v, target)):
        if _is_down(draft, place):
            raise draft.error(f"the node {shown(name)} is down: let it come up first")
    for suffix in ("", "_aside"):
        row = _row_of(draft.arrays.get(f"demands{suffix}"), u, v)
        if row is None:
            continue
        if volume > 0.0:
            volumes = draft.arrays[f"volumes{suffix}"].copy()
            volumes[row] = max(volume, SMALLEST_AMOUNT)
            draft.arrays[f"volumes{suffix}"] = volumes
        elif suffix:
            draft.forget_aside("demands", [row])
        elif draft.count("demands") == 1:
            raise draft.error(f"{source}-{target} is the last demand, which has to stay")
        else:
            draft.remove("demands", [row])
        return
    if volume == 0.0:
        raise draft.error(f"there is no demand {source}-{target} that could go")
    _add_demands(draft, np.array([[u], [v]]), np.array([volume]))
    _settle(draft)


def _take_link_down(draft: Draft, source: str, target: str) -> None:
    links, aside = _links(draft, source, target)
    _flag_links(draft)
    if aside:
        _set(draft, "down_aside", links, 1)  # it was out of service with one of its nodes
        return
    _set(draft, "down", links, 1)
    draft.put_aside("links", links)
    _settle(draft)


def _bring_link_up(draft: Draft, source: str, target: str) -> None:
    names = node_names(draft.before)
    u, v = draft.named("node", source, names), draft.named("node", target, names)
    links, down = _rows_between(draft.aside("edges"), u, v), draft.aside("down")
    if down is None or not down[links].any():
        raise draft.error(f"the link {source}-{target} is not down")
    _set(draft, "down_aside", links, 0)
    _bring_links_back(draft)
    _settle(draft)


def _take_node_down(draft: Draft, node: str) -> None:
    v = draft.named("node", node, node_names(draft.before))
    if _is_down(draft, v):
        raise draft.error(f"the node {shown(node)} is down already")
    if "nodes_down" not in draft.arrays:
        draft.arrays["nodes_down"] = np.zeros(int(draft.params["nodes"]), dtype=np.int8)
    _set(draft, "nodes_down", v, 1)
    _flag_links(draft)
    touching = (draft.arrays["edges"] == v).any(axis=0)
    if touching.all():
        raise draft.error(f"without the node {shown(node)} no link is left")
    draft.put_aside("links", touching)
    _settle(draft)


def _bring_node_up(draft: Draft, node: str) -> None:
    v = draft.named("node", node, node_names(draft.before))
    if not _is_down(draft, v):
        raise draft.error(f"the node {shown(node)} is not down")
    _set(draft, "nodes_down", v, 0)
    _bring_links_back(draft)
    _settle(draft)


def _change_capacity(draft: Draft, source: str, target: str, capacity: float) -> None:
    links, aside = _links(draft, source, target)
    if aside:
        raise draft.error(f"the link {source}-{target} is down: let it come up first")
    if draft.params.get(DIRECTED):
        names = node_names(draft.before)
        links = links[draft.arrays["edges"][0, links] == names.index(source)]
        if not links.size:
            raise draft.error(f"there is no link from {source} to {target}")
    _set(draft, "capacities", links, capacity)


EVENTS = {
    "matrix": EventType(
        "the whole matrix of traffic is another; a demand that it lacks pauses, with an amount of "
        "1e-12, and keeps its path",
        _change_matrix,
        {"volumes": rows("source, target and volume of every demand", _SOURCE, _TARGET, _VOLUME)},
    ),
    "demand": EventType(
        "a demand has another volume, appears or, with volume 0, goes; a new one takes the path "
        "with the fewest hops",
        _change_demand,
        {"source": _SOURCE, "target": _TARGET, "volume": _VOLUME},
    ),
    "link-down": EventType(
        "a link fails, in both directions; paths over it are replaced by the fewest hops, demands "
        "whose ends nothing joins any more wait",
        _take_link_down,
        {"source": _ONE_END, "target": _OTHER_END},
    ),
    "link-up": EventType(
        "a failed link is back, with the capacity and the weight that it had",
        _bring_link_up,
        {"source": _ONE_END, "target": _OTHER_END},
    ),
    "node-down": EventType(
        "a node fails, with its links and demands",
        _take_node_down,
        {"node": text("the node")},
    ),
    "node-up": EventType(
        "a failed node is back, with its links, unless they failed themselves, and its demands",
        _bring_node_up,
        {"node": text("the node")},
    ),
    "capacity": EventType(
        "a link has another capacity, where links are directed from source to target alone",
        _change_capacity,
        {"source": _ONE_END, "target": _OTHER_END, "capacity": _CAPACITY},
    ),
}


def waiting_share(instance: Instance) -> float:
    """Share of the traffic whose ends no links in service join."""
    waiting = instance.arrays.get("volumes_aside")
    if waiting is None:
        return 0.0
    lost = float(waiting.sum())
    return lost / (lost + float(instance.array("volumes").sum()))


def moved_paths(draft: Draft) -> bool:
    """Whether paths may have lost a link, or demands have none yet."""
    known = draft.before.arrays
    return any(draft.arrays[name] is not known[name] for name in ("edges", "demands"))


def _add_demands(draft: Draft, pairs: Array, volumes: Array) -> None:
    """Add demands (2, k); where paths are kept, their own are to be mended."""
    amounts, nowhere = np.maximum(volumes, SMALLEST_AMOUNT), int(draft.params["nodes"])
    draft.extend("demands", len(amounts), demands=pairs, volumes=amounts, paths=nowhere)


def _bring_links_back(draft: Draft) -> None:
    """Bring links into service that are not down, between nodes that are not."""
    edges, down = draft.aside("edges"), draft.aside("down")
    if edges is None or down is None:
        return
    nodes_down = draft.arrays.get("nodes_down", np.zeros(int(draft.params["nodes"]), dtype=bool))
    draft.bring_back("links", (down == 0) & (nodes_down[edges] == 0).all(axis=0))


def _settle(draft: Draft) -> None:
    """Let demands wait whose ends no links join, and serve those again that some do."""
    waiting = draft.aside("demands")
    if waiting is not None:
        draft.bring_back("demands", _joined(draft, waiting))
    cut = ~_joined(draft, draft.arrays["demands"])
    if cut.all():
        raise draft.error("no demand could be served any more; an instance has at least one")
    if cut.any():
        draft.put_aside("demands", cut)


def _joined(draft: Draft, pairs: Array) -> Array:
    """Flags (k,) of the pairs of nodes (2, k) of which links lead from the first to the second."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, dijkstra

    n, (u, v) = int(draft.params["nodes"]), draft.arrays["edges"]
    graph = csr_array((np.ones(len(u)), (u, v)), shape=(n, n))
    directed = bool(draft.params.get(DIRECTED))
    part = connected_components(graph, directed, connection="strong")[1]
    joined = np.asarray(part[pairs[0]] == part[pairs[1]])
    if directed and not joined.all():  # from one part to another there may be a way, but not back
        sources, rows = np.unique(pairs[0, ~joined], return_inverse=True)
        hops = dijkstra(graph, indices=sources, unweighted=True)
        joined[~joined] = np.isfinite(hops[rows, pairs[1, ~joined]])
    return joined


def _links(draft: Draft, source: str, target: str) -> tuple[Array, bool]:
    """Rows of a link that is not down, and whether it is out of service with one of its nodes."""
    names = node_names(draft.before)
    u, v = draft.named("node", source, names), draft.named("node", target, names)
    rows = _rows_between(draft.arrays["edges"], u, v)
    if rows.size:
        return rows, False
    rows = _rows_between(draft.aside("edges"), u, v)
    if not rows.size:
        raise draft.error(f"there is no link {source}-{target}")
    down = draft.aside("down")
    if down is not None and down[rows].any():
        raise draft.error(f"the link {source}-{target} is down already")
    return rows, True


def _flag_links(draft: Draft) -> None:
    """Have a flag per link that says whether it failed itself."""
    for suffix in ("", "_aside"):
        edges = draft.arrays.get(f"edges{suffix}")
        if edges is not None and f"down{suffix}" not in draft.arrays:
            draft.arrays[f"down{suffix}"] = np.zeros(edges.shape[1], dtype=np.int8)


def _set(draft: Draft, name: str, rows: Any, value: Any) -> None:
    array = draft.arrays[name].copy()
    array[rows] = value
    draft.arrays[name] = array


def _is_down(draft: Draft, node: int) -> bool:
    down = draft.arrays.get("nodes_down")
    return down is not None and bool(down[node])


def _row_of(pairs: Array | None, u: int, v: int) -> int | None:
    """Where a pair stands in (2, k); None if nowhere."""
    if pairs is None:
        return None
    places = np.flatnonzero((pairs[0] == u) & (pairs[1] == v))
    return int(places[0]) if places.size else None


def _rows_between(edges: Array | None, u: int, v: int) -> Array:
    """Rows of the link between two nodes in (2, k): of both directions, where each has a row."""
    if edges is None:
        return np.zeros(0, dtype=np.int64)
    first, second = edges
    return np.flatnonzero(((first == u) & (second == v)) | ((first == v) & (second == u)))


def _codes(pairs: Array, n: int) -> Array:
    """A number per pair of nodes."""
    return np.asarray(pairs[0].astype(np.int64) * n + pairs[1])
