"""GraphML networks as in the Internet Topology Zoo.

A link's capacity is its ``LinkSpeedRaw`` (or ``capacity``, or ``bandwidth``, as other programs call
it), else ``LinkSpeed`` x ``LinkSpeedUnits`` (K, M, G, T), all in the same unit. Links of a node to
itself carry nothing and are left out. Nodes are called by their labels, with the id behind where
several share one. The present weight of a link is its ``weight`` (or ``igp_metric``, ``metric``,
``ospf_cost``, ``cost``).
"""

from __future__ import annotations

from collections import Counter
from html import escape

from lagco.errors import InstanceError
from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.networks.markup import Element, attribute, parse, root_tag
from lagco.instances.formats.networks.topology import PROBLEMS, Topology, node_names
from lagco.instances.formats.source import MAX_NAME, Source, clean
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import shown

UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
#: what is written: attribute, its type, and whether of nodes or edges
_KEYS = (
    ("label", "string", "node"),
    ("Longitude", "double", "node"),
    ("Latitude", "double", "node"),
    ("LinkSpeedRaw", "double", "edge"),
    ("weight", "int", "edge"),
)
#: attributes that give a link's capacity as one number, the first that is there
_CAPACITIES = ("LinkSpeedRaw", "capacity", "bandwidth")
#: likewise its weight
_WEIGHTS = ("weight", "igp_metric", "metric", "ospf_cost", "cost")
_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"


def matches(source: Source) -> bool:
    """XML whose outermost element is graphml."""
    return root_tag(source) == "graphml"


def read(source: Source) -> Topology:
    """The network of a file; it has no demands."""
    root = parse(source)
    graph = root.first("graph")
    if graph is None:
        raise source.error("there is no <graph>")
    keys = {
        attribute(source, key, "id"): key.attributes.get("attr.name", "") for key in root.all("key")
    }
    topology = Topology("graphml", directed=graph.attributes.get("edgedefault") == "directed")
    _read_nodes(source, graph, keys, topology)
    loops = 0
    for edge in graph.all("edge"):
        ends = [_resolved(source, edge, end, topology) for end in ("source", "target")]
        capacity = _capacity(source, edge, keys)
        if ends[0] == ends[1]:
            loops += 1
        else:
            weight = _weight(source, edge, keys)
            topology.add_link(source, ends[0], ends[1], capacity, edge.line, weight)
    if loops:
        topology.notes.append(f"left out: {of_things(loops, 'links')} of a node to itself")
    return topology


def _read_nodes(source: Source, graph: Element, keys: dict[str, str], topology: Topology) -> None:
    nodes = list(graph.all("node"))
    facts = [_facts(node, keys) for node in nodes]
    labels = [clean(fact.get("label", ""), MAX_NAME // 2) for fact in facts]
    shared = Counter(labels)
    for node, fact, label in zip(nodes, facts, labels, strict=True):
        if node.first("graph") is not None:
            raise source.error("a graph inside a node is not read", node.line)
        identity = attribute(source, node, "id")
        name = (
            label
            if label and shared[label] == 1
            else f"{label} ({identity})"
            if label
            else identity
        )
        position = None
        if fact.get("Longitude") and fact.get("Latitude"):
            x = source.real(fact["Longitude"], "Longitude", node.line)
            position = x, source.real(fact["Latitude"], "Latitude", node.line)
        if identity in topology.aliases:
            raise source.error(f"the node {shown(identity)} stands there twice", node.line)
        topology.aliases[identity] = len(topology.names)
        topology.add_node(source, name, position, node.line)


def _resolved(source: Source, edge: Element, end: str, topology: Topology) -> str:
    """Name of the node at an end; edges go by ids alone."""
    identity = attribute(source, edge, end)
    place = topology.aliases.get(identity)
    if place is None:
        raise source.error(f"there is no node {shown(identity)}", edge.line)
    return topology.names[place]


def _facts(element: Element, keys: dict[str, str]) -> dict[str, str]:
    return {keys.get(d.attributes.get("key", ""), ""): d.text.strip() for d in element.all("data")}


def _capacity(source: Source, edge: Element, keys: dict[str, str]) -> float | None:
    facts = _facts(edge, keys)
    for name in _CAPACITIES:
        if raw := facts.get(name):
            return source.real(raw, name, edge.line, low=0.0)
    try:
        speed = float(facts.get("LinkSpeed", "").strip(" <>~"))
        value = speed * UNITS[facts.get("LinkSpeedUnits", "").strip()[:1].upper()]
    except (ValueError, KeyError):
        return None  # a remark rather than a number
    return value if 0.0 < value <= 1e15 else None


def _weight(source: Source, edge: Element, keys: dict[str, str]) -> float | None:
    facts = _facts(edge, keys)
    for name in _WEIGHTS:
        if given := facts.get(name):
            return source.real(given, name, edge.line)
    return None


def write(instance: Instance) -> str:
    """The topology; the demands have a file of their own (format 'demands')."""
    names = node_names(instance)
    if len(set(names)) < len(names):
        raise InstanceError(f"instance {instance.name!r}: two nodes have the same name")
    points, weights = instance.arrays.get("coordinates"), instance.arrays.get("weights")
    rows = ['<?xml version="1.0" encoding="utf-8"?>', f'<graphml xmlns="{_NAMESPACE}">']
    number = {name: f"d{k}" for k, (name, _, _) in enumerate(_KEYS)}
    for name, kind, target in _KEYS:
        key = f'attr.name="{name}" attr.type="{kind}" for="{target}" id="{number[name]}"'
        rows.append(f"  <key {key} />")

    def data(name: str, value: str) -> str:
        return f'<data key="{number[name]}">{escape(value)}</data>'

    kind = "directed" if instance.params.get("directed", False) else "undirected"
    rows.append(f'  <graph edgedefault="{kind}">')
    for v, name in enumerate(names):
        facts = data("label", name)
        if points is not None:
            facts += data("Longitude", spelled(points[v, 0])) + data(
                "Latitude", spelled(points[v, 1])
            )
        rows.append(f'    <node id="{v}">{facts}</node>')
    edges, capacities = instance.array("edges").T.tolist(), instance.array("capacities").tolist()
    for e, ((u, v), capacity) in enumerate(zip(edges, capacities, strict=True)):
        facts = data("LinkSpeedRaw", spelled(capacity))
        if weights is not None:
            facts += data("weight", str(int(weights[e])))
        rows.append(f'    <edge source="{u}" target="{v}">{facts}</edge>')
    return "\n".join([*rows, "  </graph>", "</graphml>", ""])


FORMAT = Format(
    name="graphml",
    summary="networks as in the Internet Topology Zoo",
    problems=PROBLEMS,
    matches=matches,
    read=read,
    write=write,
    suffixes=(".graphml",),
)
