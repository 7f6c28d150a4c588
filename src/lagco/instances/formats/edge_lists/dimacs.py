"""Graphs with a line ``p kind nodes edges``: DIMACS (``e u v``) and PACE (``u v``).

Headers of DIMACS files count an edge once or twice, and many list it in both directions: the number
must fit one of these ways of counting.
"""

from __future__ import annotations

from lagco.instances.formats.edge_lists.instances import Graph, unweighted_pairs, weighted_pairs
from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.source import Lines, Source
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import shown

DIMACS_KINDS = ("edge", "edges", "col", "graph", "max-clique")
PACE_KINDS = ("td", "tw", "vc", "ds", "is", "cep", "tww")
#: lines of DIMACS files about something else than edges
_IGNORED = {"n": "weights of nodes", "d": "dimensions", "v": "positions", "x": "parameters"}


def _kind(source: Source) -> str | None:
    """The word after ``p`` on the first line that is not a comment."""
    parts = source.declaration.split(None, 2)
    return parts[1] if len(parts) > 1 and parts[0] == "p" else None


def matches_dimacs(source: Source) -> bool:
    """A line ``p edge`` or the like comes first."""
    return _kind(source) in DIMACS_KINDS


def matches_pace(source: Source) -> bool:
    """A line ``p td`` or the like comes first."""
    return _kind(source) in PACE_KINDS


def read_dimacs(source: Source) -> Graph:
    """The graph; edges may have a weight and may be listed in both directions."""
    return _read(source, "dimacs", marker="e")


def read_pace(source: Source) -> Graph:
    """The graph; an edge that is listed again counts once."""
    return _read(source, "pace", marker="")


def _read(source: Source, name: str, marker: str) -> Graph:
    lines = source.lines()
    graph, declared, header = _read_header(source, lines, name)
    prefix = marker and rf"{marker}[ \t]++"
    if not graph.add_table(lines.position, prefix, weights=bool(marker)):
        _read_edges(source, lines, graph, marker)
    listed = len(graph)
    graph.close()
    kept = graph.edges.shape[1]
    fits = {listed, kept, 2 * listed, 2 * kept} if marker else {listed, kept}
    if declared not in fits:
        raise source.error(f"declares {of_things(declared, 'edges')}, but lists {listed}", header)
    return graph


def _read_header(source: Source, lines: Lines, name: str) -> tuple[Graph, int, int]:
    """The graph without edges, the declared number of edges, and the line of both."""
    for line, text in lines:
        parts = text.split(None, 4)
        if parts[0] == "c":
            continue
        if parts[0] != "p" or len(parts) != 4:
            raise source.error(f"expected 'p kind nodes edges', got {shown(text)}", line)
        graph = Graph(source, name, source.nodes(parts[2], line), parallel=False)
        return graph, source.integer(parts[3], "the number of edges", line, low=0), line
    raise source.error("there is no line 'p kind nodes edges'")


def _read_edges(source: Source, lines: Lines, graph: Graph, marker: str) -> None:
    """Line by line, with comments and remarks in between."""
    ignored: set[str] = set()
    width = 2 + bool(marker)
    for line, text in lines:
        parts = text.split(None, 4)
        word = parts[0]
        if word == "c":
            continue
        if marker and word in _IGNORED:
            ignored.add(_IGNORED[word])
        elif marker and (word != marker or len(parts) not in (width, width + 1)):
            raise source.error(f"expected '{marker} node node', got {shown(text)}", line)
        elif not marker and len(parts) != width:
            raise source.error(f"expected 'node node', got {shown(text)}", line)
        else:
            u, v = parts[width - 2 : width]
            graph.add(u, v, parts[width] if len(parts) > width else None, line)
    graph.notes += [f"left out: {what}" for what in sorted(ignored)]


def write_dimacs(instance: Instance) -> str:
    """The graph, with weights where they are not all 1."""
    pairs, weights = weighted_pairs(instance)
    plain = bool((weights == 1.0).all())
    rows = [
        f"e {u} {v}" if plain else f"e {u} {v} {spelled(w)}"
        for (u, v), w in zip(pairs, weights.tolist(), strict=True)
    ]
    return "\n".join([f"p edge {instance.size} {len(pairs)}", *rows]) + "\n"


def write_pace(instance: Instance) -> str:
    """The graph; it cannot hold weights."""
    rows = [f"{u} {v}" for u, v in unweighted_pairs(instance, "pace")]
    return "\n".join([f"p td {instance.size} {len(rows)}", *rows]) + "\n"


DIMACS = Format(
    name="dimacs",
    summary="graphs as in the DIMACS challenges",
    problems=("min-vertex", "max-cut"),
    matches=matches_dimacs,
    read=read_dimacs,
    write=write_dimacs,
    suffixes=(".col", ".dimacs", ".clq"),
)
PACE = Format(
    name="pace",
    summary="graphs as in the PACE challenges",
    problems=("min-vertex", "max-cut"),
    matches=matches_pace,
    read=read_pace,
    write=write_pace,
    suffixes=(".gr",),
)
