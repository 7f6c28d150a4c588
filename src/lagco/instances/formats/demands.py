"""Traffic demands as CSV, to go with a topology.

Three forms are read: a list ``source,target,volume``; a matrix with the names of the nodes in the
first row and column (rows are sources); a matrix of bare numbers in the order of the nodes. What a
node sends to itself does not count.
"""

from __future__ import annotations

from dataclasses import replace

from lagco.instances.formats.format import Format, spelled
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.table import header, rows, separator, written
from lagco.instances.formats.topology import Topology, node_names
from lagco.instances.instance import Instance
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
    """A list's header, or a first row of as many cells as there are rows or one more."""
    head = header(source)
    if separator(source) is None or not head:
        return False
    if _is_list(head):
        return True
    count = sum(1 for _ in source.lines())
    bare = all(_is_number(cell) for cell in head)
    return count == len(head) and (bare or len(set(head)) == len(head))


def with_demands(topology: Topology, source: Source) -> Topology:
    """The topology with the demands of a file instead of its own."""
    table = rows(source)
    line, head = next(table, (1, []))
    changed = replace(
        topology, demands=[], notes=[*topology.notes, f"demands of {clean(source.path.name)}"]
    )
    names = topology.names
    if _is_list([cell.lower() for cell in head]):
        for line, cells in table:
            if len(cells) != 3:
                raise source.error(f"expected source, target and volume, got {shown(cells)}", line)
            volume = source.real(cells[2], "a volume", line, low=0.0)
            if changed.node(source, cells[0], line) != changed.node(source, cells[1], line):
                changed.add_demand(source, cells[0], cells[1], volume, line)
    elif head and all(_is_number(cell) for cell in head):
        if len(head) != len(names):
            raise source.error(f"a row of {len(head)} numbers for {len(names)} nodes", line)
        _add_row(changed, source, names[0], names, head, line)
        count = 1
        for line, cells in table:
            if count == len(names):
                raise source.error(f"more than {count} rows for {count} nodes", line)
            _add_row(changed, source, names[count], names, cells, line)
            count += 1
        if count < len(names):
            raise source.error(f"{count} rows for {len(names)} nodes")
    else:
        targets = head[1:]
        _refuse_repeated(source, targets, line)
        begun: list[str] = []
        for line, cells in table:
            begun.append(cells[0])
            _add_row(changed, source, cells[0], targets, cells[1:], line)
            if len(begun) > len(names):
                raise source.error(f"more rows than the network has nodes ({len(names)})", line)
        _refuse_repeated(source, begun, None)
    if not any(volume > 0.0 for _, _, volume in changed.demands):
        raise source.error("there is no demand between two different nodes")
    return changed


def _add_row(
    topology: Topology, source: Source, name: str, targets: list[str], cells: list[str], line: int
) -> None:
    if len(cells) != len(targets):
        raise source.error(f"{len(cells)} volumes for {len(targets)} nodes", line)
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
    hint="it goes with a topology: read(topology, demands=path)",
)
