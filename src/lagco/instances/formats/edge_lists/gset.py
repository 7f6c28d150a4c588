"""Gset graphs as the generator rudy writes them: ``nodes edges``, then ``node node weight``."""

from __future__ import annotations

from itertools import islice

from lagco.instances.formats.edge_lists.instances import Graph, weighted_pairs
from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.source import Source
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import shown


def matches(source: Source) -> bool:
    """Two whole numbers, then two or three numbers per line."""
    head = [line.split(None, 3) for _, line in islice(source.lines(), 2)]
    if not head or len(head[0]) != 2 or not all(token.isdigit() for token in head[0]):
        return False
    return len(head) == 1 or (
        len(head[1]) in (2, 3) and all(token.isdigit() for token in head[1][:2])
    )


def read(source: Source) -> Graph:
    """The graph; an edge without a weight weighs 1, weights of parallel edges add up."""
    lines = source.lines()
    number, header = next(lines)
    nodes, edges = header.split(None, 1)
    graph = Graph(source, "gset", source.nodes(nodes, number), parallel=True)
    declared = source.integer(edges, "the number of edges", number, low=0)
    width = 0
    for line, text in () if graph.add_table(lines.position) else lines:
        parts = text.split(None, 3)
        width = width or len(parts)
        if len(parts) != width or width not in (2, 3):
            raise source.error(f"expected 'node node weight', got {shown(text)}", line)
        graph.add(parts[0], parts[1], parts[2] if width == 3 else None, line)
    if len(graph) != declared:
        raise source.error(
            f"declares {of_things(declared, 'edges')}, but lists {len(graph)}", number
        )
    graph.close()
    return graph


def write(instance: Instance) -> str:
    """The graph with its weights."""
    pairs, weights = weighted_pairs(instance)
    rows = [f"{u} {v} {spelled(w)}" for (u, v), w in zip(pairs, weights.tolist(), strict=True)]
    return "\n".join([f"{instance.size} {len(pairs)}", *rows]) + "\n"


FORMAT = Format(
    name="gset",
    summary="weighted graphs as in Gset (rudy)",
    problems=("max-cut", "min-vertex"),
    matches=matches,
    read=read,
    write=write,
    suffixes=(".rud", ".rudy", ".mc"),
)
