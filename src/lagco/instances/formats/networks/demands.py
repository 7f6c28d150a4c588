"""Traffic demands in a file of their own, to go with a topology.

The file is one of SNDlib with demands, one of REPETITA, or CSV. Three forms of CSV are read: a list
``source,target,volume``; a matrix with the names of the nodes in the first row and column (rows are
sources); a matrix of bare numbers in the order of the nodes. What a node sends to itself does not
count.
"""

from __future__ import annotations

from dataclasses import replace

from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.networks import repetita, sndlib
from lagco.instances.formats.networks.markup import root_tag
from lagco.instances.formats.networks.topology import Topology, node_names
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.table import header, rows, separator, written
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import shown

_SOURCE = ("source", "src", "from", "origin")
_TARGET = ("target", "dst", "to", "destination", "sink")
_VOLUME = ("volume", "demand", "value", "traffic", "bandwidth")


def _is_list(head: list[str]) -> bool:
    return len(head) == 3 and head[0] in _SOURCE and head[1] in _TARGET and head[2] in _VOLUME


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def matches(source: Source) -> bool:
    """A list's header, or as many rows as the first one has cells; names of a matrix agree."""
    head, mark = header(source), separator(source)
    if mark is None or not head:
        return False
    if _is_list(head):
        return True
    begun = [text.partition(mark)[0].strip().strip('"').lower() for _, text in source.lines()]
    bare = all(_is_number(cell) for cell in head)
    named = len(set(head)) == len(head) and not set(begun[1:]).isdisjoint(head[1:])
    return len(begun) == len(head) and (bare or named)


def with_demands(topology: Topology, source: Source) -> Topology:
    """The topology with the demands of a file instead of its own."""
    changed = replace(
        topology, demands=[], notes=[*topology.notes, f"demands of {clean(source.path.name)}"]
    )
    add_demands(changed, source)
    if not any(volume > 0.0 for _, _, volume in changed.demands):
        raise source.error("there is no demand between two different nodes")
    return changed


def add_demands(topology: Topology, source: Source) -> None:
    """Add the demands of a file of any form to a network."""
    if repetita.matches_demands(source):
        repetita.add_demands(topology, source)
    elif sndlib.matches_xml(source):
        sndlib.add_demands_xml(topology, source)
    elif sndlib.matches(source):
        sndlib.add_demands(topology, source)
    elif (tag := root_tag(source)) is not None:
        raise source.error(
            f"XML about <{clean(tag)}>; give demands as CSV, as of REPETITA, or as of SNDlib"
        )
    else:
        _add_table(topology, source)


def _add_table(changed: Topology, source: Source) -> None:
    """Add the demands of a table (CSV)."""
    table = rows(source)
    line, head = next(table, (1, []))
    names = changed.names
    if _is_list([cell.lower() for cell in head]):
        for line, cells in table:
            if len(cells) != 3:
                raise source.error(f"expected source, target and volume, got {shown(cells)}", line)
            volume = source.real(cells[2], "a volume", line, low=0.0)
            if changed.node(source, cells[0], line) != changed.node(source, cells[1], line):
                changed.add_demand(source, cells[0], cells[1], volume, line)
    elif head and all(_is_number(cell) for cell in head):
        if len(head) != len(names):
            raise source.error(
                f"a row of {of_things(len(head), 'numbers')} for {of_things(len(names), 'nodes')}",
                line,
            )
        _add_row(changed, source, names[0], names, head, line)
        count = 1
        for line, cells in table:
            if count == len(names):
                raise source.error(
                    f"more than {of_things(count, 'rows')} for {of_things(count, 'nodes')}", line
                )
            _add_row(changed, source, names[count], names, cells, line)
            count += 1
        if count < len(names):
            raise source.error(f"{of_things(count, 'rows')} for {of_things(len(names), 'nodes')}")
    elif not _refers_to_columns(head, names):
        targets = head[1:]
        _refuse_repeated(source, targets, line)
        begun: list[str] = []
        for line, cells in table:
            begun.append(cells[0])
            _add_row(changed, source, cells[0], targets, cells[1:], line)
            if len(begun) > len(names):
                raise source.error(f"more rows than the network has nodes ({len(names)})", line)
        _refuse_repeated(source, begun, None)
    else:
        raise source.error(
            f"a list of demands has the columns source, target, volume, got {shown(head)}", line
        )


def _refers_to_columns(head: list[str], names: list[str]) -> bool:
    """Whether a first row is that of a list, of other columns or in another order."""
    words = {cell.lower() for cell in head if cell not in names}
    return not words.isdisjoint(_SOURCE) and not words.isdisjoint(_TARGET)


def _add_row(
    topology: Topology, source: Source, name: str, targets: list[str], cells: list[str], line: int
) -> None:
    if len(cells) != len(targets):
        raise source.error(
            f"{of_things(len(cells), 'volumes')} for {of_things(len(targets), 'nodes')}", line
        )
    begin = topology.node(source, name, line)
    for target, cell in zip(targets, cells, strict=True):
        volume = source.real(cell or "0", f"the volume from {shown(name)}", line, low=0.0)
        if topology.node(source, target, line) != begin and volume > 0.0:
            topology.add_demand(source, name, target, volume, line)


def _refuse_repeated(source: Source, names: list[str], line: int | None) -> None:
    known: set[str] = set()
    for name in names:
        if name in known:
            raise source.error(f"the node {shown(name)} stands there twice", line)
        known.add(name)


def write(instance: Instance) -> str:
    """The demands of a network as a list."""
    names = node_names(instance)
    pairs, volumes = instance.array("demands").T.tolist(), instance.array("volumes").tolist()
    table = [(names[s], names[t], spelled(v)) for (s, t), v in zip(pairs, volumes, strict=True)]
    return written([("source", "target", "volume"), *table])


FORMAT = Format(
    name="demands",
    summary="traffic demands of a network as CSV",
    problems=(),
    matches=matches,
    write=write,
    hint="give the topology, and this file as demands=PATH",
)
