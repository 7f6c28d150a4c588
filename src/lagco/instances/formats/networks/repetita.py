"""REPETITA networks (``.graph``) and their demands (``.demands``), text in columns.

Links are directed, each with an IGP weight, a bandwidth and a delay. Nodes are called by their
labels; links and demands refer to them by number from 0. Several demand files may go with one
network.
"""

from __future__ import annotations

from itertools import islice

import numpy as np

from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.networks.topology import PROBLEMS, Topology, node_words
from lagco.instances.formats.source import Lines, Source
from lagco.instances.instance import Instance
from lagco.store import shown

_NODES, _EDGES, _DEMANDS = "NODES", "EDGES", "DEMANDS"
_COLUMNS = {
    _NODES: ("label", "x", "y"),
    _EDGES: ("label", "src", "dest", "weight", "bw", "delay"),
    _DEMANDS: ("label", "src", "dest", "bw"),
}


def _begins(source: Source, section: str) -> bool:
    """Whether the first two lines are those of a section."""
    lines = [text.split() for _, text in islice(source.lines(), 2)]
    counted = bool(lines) and len(lines[0]) == 2 and lines[0][0].upper() == section
    return counted and len(lines) == 2 and lines[1][:1] == ["label"]


def matches(source: Source) -> bool:
    """``NODES`` with their number, then the names of the columns."""
    return _begins(source, _NODES)


def matches_demands(source: Source) -> bool:
    """``DEMANDS`` with their number, then the names of the columns."""
    return _begins(source, _DEMANDS)


def _rows(source: Source, lines: Lines, section: str) -> list[tuple[int, list[str]]]:
    """The rows of the section that begins here, with their lines."""
    line, text = next(lines, (None, ""))
    words = text.split()
    if len(words) != 2 or words[0].upper() != section:
        raise source.error(f"expected {section} and their number, got {shown(text)}", line)
    count = source.integer(words[1], f"the number of {section}", line, low=0)
    line, text = next(lines, (line, ""))
    columns = _COLUMNS[section]
    if tuple(text.lower().split()) != columns:
        raise source.error(f"expected the columns {' '.join(columns)}, got {shown(text)}", line)
    found: list[tuple[int, list[str]]] = []
    for line, text in islice(lines, count):
        cells = text.split()
        if len(cells) != len(columns):
            raise source.error(f"expected {' '.join(columns)}, got {shown(text)}", line)
        found.append((line, cells))
    if len(found) < count:
        raise source.error(f"the file ends after {len(found)} of {count} {section}")
    return found


def read(source: Source) -> Topology:
    """The network of a file; it has no demands."""
    source.refuse_large("a network")
    topology = Topology("repetita", directed=True, one_way=True)
    lines = source.lines()
    for line, (label, x, y) in _rows(source, lines, _NODES):
        position = source.real(x, "x", line), source.real(y, "y", line)
        topology.add_node(source, label, position, line)
    for line, (label, begin, end, weight, capacity, delay) in _rows(source, lines, _EDGES):
        what = f"of {shown(label)}"
        topology.add_link(
            source,
            _node(source, topology, begin, line),
            _node(source, topology, end, line),
            source.real(capacity, f"the bandwidth {what}", line, low=0.0),
            line,
            source.real(weight, f"the weight {what}", line),
            source.real(delay, f"the delay {what}", line, low=0.0),
        )
    rest = next(lines, None)
    if rest is not None:
        raise source.error(f"expected nothing after the {_EDGES}, got {shown(rest[1])}", rest[0])
    return topology


def add_demands(topology: Topology, source: Source) -> None:
    """Add the demands of a file to a network."""
    lines = source.lines()
    for line, (label, begin, end, amount) in _rows(source, lines, _DEMANDS):
        volume = source.real(amount, f"the bandwidth of {shown(label)}", line, low=0.0)
        u, v = _node(source, topology, begin, line), _node(source, topology, end, line)
        if u != v:  # what a node sends to itself does not count
            topology.add_demand(source, u, v, volume, line)


def _node(source: Source, topology: Topology, number: str, line: int) -> str:
    """Name of the node of that number."""
    return topology.names[source.integer(number, "a node", line, 0, len(topology.names) - 1)]


def write(instance: Instance) -> str:
    """The network; a link of both directions is written as two. The demands have their own file."""
    names, points = node_words(instance), instance.arrays.get("coordinates")
    edges = np.asarray(instance.array("edges"))
    count = edges.shape[1]
    weights = instance.arrays.get("weights", np.ones(count))
    delays = instance.arrays.get("delays", np.zeros(count))
    places = np.zeros((len(names), 2)) if points is None else points
    rows = [f"{_NODES} {len(names)}", " ".join(_COLUMNS[_NODES])]
    rows += [
        f"{name} {spelled(x)} {spelled(y)}" for name, (x, y) in zip(names, places, strict=True)
    ]
    back = not instance.params.get("directed", False)
    rows += ["", f"{_EDGES} {count * (1 + back)}", " ".join(_COLUMNS[_EDGES])]
    table = zip(*edges.tolist(), weights, instance.array("capacities"), delays, strict=True)
    number = 0
    for u, v, weight, capacity, delay in table:
        facts = f"{int(weight)} {spelled(capacity)} {spelled(delay)}"
        for begin, end in ((u, v), (v, u))[: 1 + back]:
            rows.append(f"edge_{number} {begin} {end} {facts}")
            number += 1
    return "\n".join([*rows, ""])


def write_demands(instance: Instance) -> str:
    """The demands of a network."""
    demands, volumes = np.asarray(instance.array("demands")), instance.array("volumes")
    rows = [f"{_DEMANDS} {len(volumes)}", " ".join(_COLUMNS[_DEMANDS])]
    for number, (s, t, volume) in enumerate(zip(*demands.tolist(), volumes, strict=True)):
        rows.append(f"demand_{number} {s} {t} {spelled(volume)}")
    return "\n".join([*rows, ""])


FORMAT = Format(
    name="repetita",
    summary="networks as in REPETITA, with directed links and weights",
    problems=PROBLEMS,
    matches=matches,
    read=read,
    write=write,
    suffixes=(".graph",),
)
DEMANDS = Format(
    name="repetita-demands",
    summary="traffic demands of a network as in REPETITA",
    problems=(),
    matches=matches_demands,
    write=write_demands,
    hint="it goes with a topology: read(topology, demands=path)",
)
