"""SNDlib networks, native text and XML: nodes, links with capacities and modules, demands.

A link's capacity is the pre-installed one if there is any, else that of its largest module. Routing
costs are the present weights of links, unless all of them are 0. Other costs, admissible paths and
limits on the length of paths do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from itertools import islice

import numpy as np

from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.networks.markup import Element, attribute, parse, root_tag, text_of
from lagco.instances.formats.networks.topology import PROBLEMS, Topology, node_words
from lagco.instances.formats.source import Source, clean
from lagco.instances.instance import Instance
from lagco.store import shown

SIGNATURE = "?SNDlib native format"
_TOKEN = re.compile(r"[()]|[^\s()]+")
_HEADER = re.compile(r"\?SNDlib native format;\s*+type:\s*+([a-z]++)", re.IGNORECASE)
_NAMESPACE = "http://sndlib.zib.de/network"


def matches(source: Source) -> bool:
    """The signature, or a section NODES, comes first."""
    for _, text in islice(source.lines(), 100):
        if text.startswith(SIGNATURE) or re.fullmatch(r"(META|NODES)\s*\(", text):
            return True
        if not text.startswith("#"):
            return False
    return False


class _Tokens:
    """Words and parentheses with their lines; one can look ahead by one."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._rest = self._walk()
        self.line = 1
        self._ahead: tuple[int, str] | None = next(self._rest, None)

    def _walk(self) -> Iterator[tuple[int, str]]:
        skipping = False  # META holds free text up to a line with the closing parenthesis
        for line, text in self.source.lines():
            if text.startswith(("#", "?")) and not skipping:
                continue
            if skipping:
                skipping = text != ")"
            elif re.match(r"META\s*\(", text):
                skipping = ")" not in text
            else:
                for found in _TOKEN.finditer(text.partition(" #")[0]):
                    yield line, found[0]

    @property
    def ahead(self) -> str | None:
        """Next token; None at the end."""
        return self._ahead[1] if self._ahead else None

    def next(self, what: str) -> str:
        """The next token, which must be there."""
        if self._ahead is None:
            raise self.source.error(f"the file ends where {what} should stand", self.line)
        self.line, token = self._ahead
        self._ahead = next(self._rest, None)
        return token

    def expect(self, wanted: str, what: str) -> None:
        """A given token."""
        found = self.next(f"{wanted!r} {what}")
        if found != wanted:
            raise self.source.error(f"expected {wanted!r} {what}, got {shown(found)}", self.line)

    def number(self, what: str, low: float = 0.0) -> float:
        """A number."""
        return self.source.real(self.next(what), what, self.line, low=low)

    def skip(self) -> None:
        """Skip past the parenthesis that closes the one just opened."""
        depth = 1
        while depth:
            token = self.next("a closing parenthesis")
            depth += (token == "(") - (token == ")")


def read(source: Source) -> Topology:
    """The network of a file in the native format."""
    source.refuse_large("a network")
    kind = _HEADER.match(source.text)
    if kind and kind[1].lower() != "network":
        raise source.error(f"a {clean(kind[1].lower(), 40)} of SNDlib; only networks are read", 1)
    topology = Topology("sndlib")
    seen = _read_sections(source, topology, _ENTRIES)
    for section in ("NODES", "LINKS"):
        if section not in seen:
            raise source.error(f"there is no section {section}")
    _settle(topology)
    return topology


def _read_node(source: Source, tokens: _Tokens, topology: Topology) -> None:
    """``id`` or ``id ( x y )``."""
    name = tokens.next("a node")
    line = tokens.line
    position = None
    if tokens.ahead == "(":
        tokens.expect("(", "")
        x = tokens.number("a coordinate", low=-1e15)
        position = x, tokens.number("a coordinate", low=-1e15)
        tokens.expect(")", f"after the coordinates of {shown(name)}")
    topology.add_node(source, name, position, line)


def _read_ends(tokens: _Tokens, what: str) -> tuple[str, str]:
    """``id ( source target )``."""
    name = tokens.next(what)
    tokens.expect("(", f"after {what} {shown(name)}")
    ends = tokens.next("a node"), tokens.next("a node")
    tokens.expect(")", f"after the nodes of {shown(name)}")
    return ends


def _read_link(source: Source, tokens: _Tokens, topology: Topology) -> None:
    """``id ( source target ) capacity cost cost cost ( {capacity cost}* )``."""
    ends = _read_ends(tokens, "the link")
    line = tokens.line
    installed = tokens.number("the pre-installed capacity")
    tokens.number("its cost")
    weight = tokens.number("the routing cost")
    tokens.number("the setup cost")
    tokens.expect("(", "before the modules")
    largest = 0.0
    while tokens.ahead != ")":
        largest = max(largest, tokens.number("the capacity of a module"))
        tokens.number("the cost of a module")
    tokens.expect(")", "after the modules")
    topology.add_link(source, *ends, installed or largest, line, weight or None)


def _read_demand(source: Source, tokens: _Tokens, topology: Topology) -> None:
    """``id ( source target ) unit value longest``."""
    ends = _read_ends(tokens, "the demand")
    line = tokens.line
    tokens.number("the routing unit")
    volume = tokens.number("the demand")
    longest = tokens.next("the longest path or UNLIMITED")
    if longest.upper() != "UNLIMITED":
        source.real(longest, "the longest path", tokens.line, low=0.0)
    topology.add_demand(source, *ends, volume, line)


#: what reads the entries of a section
_ENTRIES = {"NODES": _read_node, "LINKS": _read_link, "DEMANDS": _read_demand}


def _read_sections(
    source: Source,
    topology: Topology,
    entries: Mapping[str, Callable[[Source, _Tokens, Topology], None]],
) -> set[str]:
    """Read the sections that `entries` knows, pass over the others; names of all of them."""
    tokens = _Tokens(source)
    seen: set[str] = set()
    while tokens.ahead is not None:
        section = tokens.next("a section")
        tokens.expect("(", f"after {shown(section)[1:-1]}")
        if section in seen:
            raise source.error(f"a second section {section}", tokens.line)
        seen.add(section)
        read_entry = entries.get(section)
        if read_entry is None:
            tokens.skip()
            continue
        if "NODES" not in seen:
            raise source.error(f"{section} comes before NODES", tokens.line)
        while tokens.ahead != ")":
            read_entry(source, tokens, topology)
        tokens.expect(")", f"at the end of {section}")
    return seen


def add_demands(topology: Topology, source: Source) -> None:
    """Add the demands of a file in the native format to another network, by names of nodes."""
    _read_sections(source, topology, {"DEMANDS": _read_demand})


def _settle(topology: Topology) -> None:
    """Links that are listed in both directions are meant as directed."""
    pairs = {link[:2] for link in topology.links}
    topology.directed = any((v, u) in pairs for u, v in pairs)


def matches_xml(source: Source) -> bool:
    """XML whose outermost element is a network."""
    return root_tag(source) == "network"


def read_xml(source: Source) -> Topology:
    """The network of an XML file."""
    root = parse(source)
    topology = Topology("sndlib-xml")
    structure = root.first("networkStructure")
    if structure is None:
        raise source.error("there is no <networkStructure>")
    for node in _listed(structure, "nodes", "node"):
        position = None
        if node.first("coordinates") is not None:
            position = (
                _number(source, node, "coordinates", "x"),
                _number(source, node, "coordinates", "y"),
            )
        topology.add_node(source, attribute(source, node, "id"), position, node.line)
    for link in _listed(structure, "links", "link"):
        capacity = 0.0
        if link.first("preInstalledModule") is not None:
            capacity = _number(source, link, "preInstalledModule", "capacity", low=0.0)
        modules = link.first("additionalModules")
        for module in modules.all("addModule") if modules and not capacity else ():
            capacity = max(capacity, _number(source, module, "capacity", low=0.0))
        u, v = text_of(source, link, "source"), text_of(source, link, "target")
        weight = 0.0
        if link.first("routingCost") is not None:
            weight = _number(source, link, "routingCost", low=0.0)
        topology.add_link(source, u, v, capacity, link.line, weight or None)
    _add_listed_demands(source, root, topology)
    _settle(topology)
    return topology


def add_demands_xml(topology: Topology, source: Source) -> None:
    """Add the demands of an XML file to another network, by names of nodes."""
    _add_listed_demands(source, parse(source), topology)


def _add_listed_demands(source: Source, root: Element, topology: Topology) -> None:
    for demand in _listed(root, "demands", "demand"):
        u, v = text_of(source, demand, "source"), text_of(source, demand, "target")
        volume = _number(source, demand, "demandValue", low=0.0)
        topology.add_demand(source, u, v, volume, demand.line)


def _listed(element: Element, group: str, tag: str) -> Iterator[Element]:
    found = element.first(group)
    return iter(()) if found is None else found.all(tag)


def _number(source: Source, element: Element, *path: str, low: float = -1e15) -> float:
    return source.real(text_of(source, element, *path), f"<{path[-1]}>", element.line, low=low)


def write(instance: Instance) -> str:
    """The network in the native format; capacities are written as pre-installed.

    Present weights are routing costs.
    """
    names = node_words(instance)
    points = instance.arrays.get("coordinates")
    rows = [f"{SIGNATURE}; type: network; version: 1.0", f"# network {instance.name}", "NODES ("]
    for v, name in enumerate(names):
        at = "" if points is None else f" ( {spelled(points[v, 0])} {spelled(points[v, 1])} )"
        rows.append(f"  {name}{at}")
    rows += [")", "LINKS ("]
    for k, (u, v, capacity, weight) in enumerate(_links(instance)):
        facts = f"{spelled(capacity)} 0 {weight} 0"
        rows.append(f"  L{k + 1} ( {names[u]} {names[v]} ) {facts} ( )")
    rows += [")", "DEMANDS ("]
    for k, (s, t, volume) in enumerate(_demands(instance)):
        rows.append(f"  D{k + 1} ( {names[s]} {names[t]} ) 1 {spelled(volume)} UNLIMITED")
    return "\n".join([*rows, ")", ""])


def write_xml(instance: Instance) -> str:
    """The network as XML."""
    names = node_words(instance)
    points = instance.arrays.get("coordinates")
    rows = ['<?xml version="1.0" encoding="UTF-8"?>']
    rows += [f'<network xmlns="{_NAMESPACE}" version="1.0">', " <networkStructure>", "  <nodes>"]
    for v, name in enumerate(names):
        at = ""
        if points is not None:
            x, y = spelled(points[v, 0]), spelled(points[v, 1])
            at = f"<coordinates><x>{x}</x><y>{y}</y></coordinates>"
        rows.append(f'   <node id="{escape(name)}">{at}</node>')
    rows += ["  </nodes>", "  <links>"]
    for k, (u, v, capacity, weight) in enumerate(_links(instance)):
        cost = f"<routingCost>{weight}</routingCost>" if weight else ""
        installed = f"<capacity>{spelled(capacity)}</capacity><cost>0</cost>"
        rows.append(
            f'   <link id="L{k + 1}">{_ends_xml(names[u], names[v])}'
            f"<preInstalledModule>{installed}</preInstalledModule>{cost}</link>"
        )
    rows += ["  </links>", " </networkStructure>", " <demands>"]
    for k, (s, t, volume) in enumerate(_demands(instance)):
        value = f"<routingUnit>1</routingUnit><demandValue>{spelled(volume)}</demandValue>"
        rows.append(f'  <demand id="D{k + 1}">{_ends_xml(names[s], names[t])}{value}</demand>')
    return "\n".join([*rows, " </demands>", "</network>", ""])


def _ends_xml(u: str, v: str) -> str:
    return f"<source>{escape(u)}</source><target>{escape(v)}</target>"


def _links(instance: Instance) -> Iterator[tuple[int, int, float, int]]:
    """Ends, capacity and present weight of the links, 0 where there is none."""
    edges = np.asarray(instance.array("edges"))
    weights = instance.arrays.get("weights", np.zeros(edges.shape[1])).astype(np.int64)
    found = zip(
        *edges.tolist(), instance.array("capacities").tolist(), weights.tolist(), strict=True
    )
    return iter(found)


def _demands(instance: Instance) -> Iterator[tuple[int, int, float]]:
    demands = np.asarray(instance.array("demands"))
    return zip(*demands.tolist(), instance.array("volumes").tolist(), strict=True)


NATIVE = Format(
    name="sndlib",
    summary="networks as in SNDlib, native text",
    problems=PROBLEMS,
    matches=matches,
    read=read,
    write=write,
    suffixes=(".txt", ".snd"),
)
XML = Format(
    name="sndlib-xml",
    summary="networks as in SNDlib, XML",
    problems=PROBLEMS,
    matches=matches_xml,
    read=read_xml,
    write=write_xml,
    suffixes=(".xml",),
)
