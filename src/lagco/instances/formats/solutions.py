"""Solutions in the field's own form, one per problem; all can be read back.

A tour as in TSPLIB, a cover as in PACE, and tables (CSV) with the names of the instance's file:
the side of every node, the weight of every link, the path of every demand, the host of every
virtual machine, attack steps. Problems of one's own have JSON, or the form that they define.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, close_to
from lagco.instances.formats.format import Format
from lagco.instances.formats.hosts import host_names
from lagco.instances.formats.networks.topology import node_names
from lagco.instances.formats.placement import machine_names
from lagco.instances.formats.plain_solutions import (
    matches,
    plain_values,
    read_plain,
    write_plain,
)
from lagco.instances.formats.source import Source
from lagco.instances.formats.table import header, rows, written
from lagco.instances.formats.tsplib import named_tour, read_tour, write_tour
from lagco.instances.instance import Instance
from lagco.instances.own_catalogue import catalogue_of
from lagco.results.numbers import of_things
from lagco.store import shown

#: OSPF's metric of a link has 16 bits
MAX_WEIGHT = 65_535


@dataclass(frozen=True)
class SolutionForm:
    """File form of the solutions of a problem; one of your own names it in ``solution_form``.

    Attributes:
        read: the solution of a file, in the form of the problem's `solution()`.
        write: the text of a solution.
        named: the rows of that text as plain values, with the names of the instance's file.
        shape: what a solution must look like, for messages.
        fits: whether an array looks like that.
    """

    read: Callable[[Source, Instance], Array]
    write: Callable[[Instance, Array], str]
    named: Callable[[Instance, Array], list[Any]] = plain_values
    shape: str = "what solution() gives"
    fits: Callable[[Instance, Array], bool] = lambda instance, solution: True


def _table(source: Source, head: tuple[str, ...]) -> list[tuple[int, list[str]]]:
    """Rows below the header `head`, all as wide as it."""
    if header(source) != list(head):
        raise source.error(f"the first line must be {','.join(head)}", 1)
    found = list(rows(source))[1:]
    for line, cells in found:
        if len(cells) != len(head):
            raise source.error(
                f"{of_things(len(cells), 'cells')}, expected {', '.join(head)}", line
            )
    return found


def _place(source: Source, names: dict[str, int], name: str, line: int) -> int:
    if name not in names:
        near = close_to(name, names)
        hint = f"; did you mean {shown(near[0])}?" if near else ""
        raise source.error(f"the instance has no {shown(name)}{hint}", line)
    return names[name]


def _index(names: list[str]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _once(
    source: Source, values: dict[Any, Any], key: Any, value: Any, line: int, what: str
) -> None:
    if key in values:
        raise source.error(f"{what} stands there twice; leave one of the lines out", line)
    values[key] = value


def _complete(source: Source, values: dict[int, int], names: list[str]) -> Array:
    for place, name in enumerate(names):
        if place not in values:
            raise source.error(f"nothing is said about {shown(name)}")
    return np.array([values[place] for place in range(len(names))], dtype=np.int64)


# -- cover

_COVER = "s vc"


def read_cover(source: Source, instance: Instance) -> Array:
    """The chosen nodes of a PACE ``.vc`` file, in rising order."""
    chosen: dict[int, int] = {}
    declared: int | None = None
    n = instance.size
    begin = 0
    for line, text in source.lines():
        parts = text.split(None, 4)
        if parts[0] == "c":
            continue
        if parts[0] == "s":
            if declared is not None or len(parts) != 4 or parts[1] != "vc":
                raise source.error(f"expected one line 's vc nodes size', got {shown(text)}", line)
            nodes = source.integer(parts[2], "the number of nodes", line)
            if nodes != n:
                raise source.error(
                    f"{of_things(nodes, 'nodes')}, but {instance.name!r} has {n}", line
                )
            declared, begin = source.integer(parts[3], "the size", line, 0, n), line
        elif declared is None:
            raise source.error("there is no line 's vc nodes size' before it", line)
        else:
            if len(parts) != 1:
                raise source.error(f"expected a node, got {shown(text)}", line)
            node = source.integer(parts[0], "a node", line, 1, n)
            _once(source, chosen, node - 1, 1, line, f"the node {node}")
    if declared is None:
        raise source.error("there is no line 's vc nodes size'")
    if declared != len(chosen):
        raise source.error(
            f"declares {of_things(declared, 'nodes')}, but lists {len(chosen)}", begin
        )
    return np.array(sorted(chosen), dtype=np.int64)


def chosen_nodes(instance: Instance, solution: Array) -> list[int]:
    """The chosen nodes, numbered from 1."""
    return (np.unique(solution) + 1).tolist()


def write_cover(instance: Instance, solution: Array) -> str:
    """A PACE ``.vc`` file."""
    chosen = chosen_nodes(instance, solution)
    return "\n".join([f"{_COVER} {instance.size} {len(chosen)}", *map(str, chosen), ""])


# -- tables

#: rows of a table with names, below its header
Rows = Callable[[Instance, Array], list[Any]]


def _writer(head: tuple[str, ...], rows: Rows) -> Callable[[Instance, Array], str]:
    return lambda instance, solution: written([head, *rows(instance, solution)])


def _namer(head: tuple[str, ...], rows: Rows) -> Rows:
    return lambda instance, solution: [
        dict(zip(head, row, strict=True)) for row in rows(instance, solution)
    ]


_SIDES = ("node", "side")
_WEIGHTS = ("source", "target", "weight")
_PATHS = ("path",)
_ALLOCATION = ("vm", "pm")
_STEPS = ("step", "source", "target", "vulnerability")


def read_sides(source: Source, instance: Instance) -> Array:
    """Side of every node: (n,)."""
    found: dict[int, int] = {}
    for line, (node, side) in _table(source, _SIDES):
        place = source.integer(node, "a node", line, 1, instance.size) - 1
        value = source.integer(side, "a side", line, 0, 1)
        _once(source, found, place, value, line, f"the node {place + 1}")
    names = [str(number + 1) for number in range(instance.size)]
    return _complete(source, found, names).astype(np.int8)


def sides(instance: Instance, solution: Array) -> list[Any]:
    """A row per node, numbered from 1."""
    return list(enumerate(solution.tolist(), start=1))


def read_weights(source: Source, instance: Instance) -> Array:
    """Weight of every link: (E,)."""
    names = node_names(instance)
    known = _index(names)
    links = instance.array("edges").T.tolist()
    place = {tuple(ends): number for number, ends in enumerate(links)}
    if not instance.params.get("directed", False):
        place |= {ends[::-1]: number for ends, number in place.items()}
    weights: dict[int, int] = {}
    for line, (u, v, weight) in _table(source, _WEIGHTS):
        ends = (_place(source, known, u, line), _place(source, known, v, line))
        if ends not in place:
            raise source.error(f"there is no link between {shown(u)} and {shown(v)}", line)
        value = source.integer(weight, "a weight", line, 1, MAX_WEIGHT)
        _once(source, weights, place[ends], value, line, f"the link {shown(f'{u}-{v}')}")
    return _complete(source, weights, [f"{names[u]}-{names[v]}" for u, v in links])


def weights(instance: Instance, solution: Array) -> list[Any]:
    """A row per link."""
    names = node_names(instance)
    links = instance.array("edges").T.tolist()
    found = zip(links, solution.tolist(), strict=True)
    return [(names[u], names[v], int(w)) for (u, v), w in found]


def read_paths(source: Source, instance: Instance) -> Array:
    """Path of every demand as nodes padded with n: (D, T)."""
    names = node_names(instance)
    known = _index(names)
    demands = instance.array("demands").T.tolist()
    place = {tuple(ends): number for number, ends in enumerate(demands)}
    paths: dict[int, list[int]] = {}
    table = rows(source)
    line, head = next(table, (1, []))
    if tuple(head) != _PATHS:
        raise source.error(f"the first line must be {_PATHS[0]}", line)
    for line, cells in table:
        nodes = [_place(source, known, cell, line) for cell in cells if cell]
        ends = (nodes[0], nodes[-1])
        if ends not in place:
            first, last = (shown(names[node]) for node in ends)
            raise source.error(f"no demand from {first} to {last}", line)
        if len(set(nodes)) < len(nodes):
            raise source.error("the path comes to a node twice", line)
        between = shown(f"{names[nodes[0]]}-{names[nodes[-1]]}")
        _once(source, paths, place[ends], nodes, line, f"the demand {between}")
    for number, (s, t) in enumerate(demands):
        if number not in paths:
            raise source.error(f"no path from {shown(names[s])} to {shown(names[t])}")
    longest = max(len(path) for path in paths.values())
    padded = np.full((len(demands), longest), len(names), dtype=np.int64)
    for number, path in paths.items():
        padded[number, : len(path)] = path
    return padded


def paths(instance: Instance, solution: Array) -> list[Any]:
    """A row per demand: the nodes of its path."""
    names = node_names(instance)
    return [[names[v] for v in row if v < len(names)] for row in solution.tolist()]


def read_allocation(source: Source, instance: Instance) -> Array:
    """Host of every virtual machine: (V,)."""
    vms, pms = machine_names(instance, "vm"), machine_names(instance, "pm")
    vm_index, pm_index = _index(vms), _index(pms)
    hosts: dict[int, int] = {}
    for line, (vm, pm) in _table(source, _ALLOCATION):
        host = _place(source, pm_index, pm, line)
        place = _place(source, vm_index, vm, line)
        _once(source, hosts, place, host, line, f"the machine {shown(vm)}")
    return _complete(source, hosts, vms)


def allocation(instance: Instance, solution: Array) -> list[Any]:
    """A row per virtual machine."""
    vms, pms = machine_names(instance, "vm"), machine_names(instance, "pm")
    found = zip(vms, solution.tolist(), strict=True)
    return [(vm, pms[pm]) for vm, pm in found]


def read_steps(source: Source, instance: Instance) -> Array:
    """Attack steps: (k, 3) source host, target host, vulnerability of the catalogue."""
    known = _index(host_names(instance))
    index = catalogue_of(instance).vulnerability_index
    steps = []
    for position, (line, (number, begin, end, vulnerability)) in enumerate(_table(source, _STEPS)):
        if source.integer(number, "a step", line) != position + 1:
            raise source.error(f"this should be step {position + 1}", line)
        ends = _place(source, known, begin, line), _place(source, known, end, line)
        if vulnerability not in index:
            raise source.error(f"the catalogue has no {shown(vulnerability)}", line)
        steps.append((*ends, index[vulnerability]))
    return np.array(steps, dtype=np.int64).reshape(-1, 3)


def steps(instance: Instance, solution: Array) -> list[Any]:
    """A row per step, in order."""
    names, words = host_names(instance), catalogue_of(instance).vulnerabilities
    found = enumerate(solution.reshape(-1, 3).tolist(), start=1)
    return [(k, names[s], names[t], words[v].id) for k, (s, t, v) in found]


def _within(array: Array, low: int, high: int) -> bool:
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "f" and (array == array.round()).all())
    return bool(whole and (not array.size or (low <= array.min() and array.max() <= high)))


def _fits_steps(instance: Instance, steps: Array) -> bool:
    if steps.size == 0:
        return True
    most = len(catalogue_of(instance).vulnerabilities) - 1
    return (
        steps.ndim == 2
        and steps.shape[1] == 3
        and _within(steps[:, :2], 0, instance.size - 1)
        and _within(steps[:, 2], 0, most)
    )


FORMS = {
    "tsp": SolutionForm(
        read_tour,
        write_tour,
        named_tour,
        "all cities in order",
        lambda i, s: np.array_equal(np.sort(s, axis=None), np.arange(i.size)),
    ),
    "min-vertex": SolutionForm(
        read_cover,
        write_cover,
        chosen_nodes,
        "nodes",
        lambda i, s: s.ndim == 1 and _within(s, 0, i.size - 1),
    ),
    "max-cut": SolutionForm(
        read_sides,
        _writer(_SIDES, sides),
        _namer(_SIDES, sides),
        "0 or 1 per node",
        lambda i, s: s.shape == (i.size,) and _within(s, 0, 1),
    ),
    "ospf": SolutionForm(
        read_weights,
        _writer(_WEIGHTS, weights),
        _namer(_WEIGHTS, weights),
        "a weight per link",
        lambda i, s: s.shape == (i.array("edges").shape[1],) and _within(s, 1, MAX_WEIGHT),
    ),
    "traffic": SolutionForm(
        read_paths,
        _writer(_PATHS, paths),
        paths,
        "a path per demand, as nodes padded with n",
        lambda i, s: (
            s.ndim == 2
            and len(s) == i.array("demands").shape[1]
            and _within(s, 0, int(i.params["nodes"]))
        ),
    ),
    "placement": SolutionForm(
        read_allocation,
        _writer(_ALLOCATION, allocation),
        _namer(_ALLOCATION, allocation),
        "a host per virtual machine",
        lambda i, s: s.shape == (i.size,) and _within(s, 0, len(i.array("pm_capacities")) - 1),
    ),
    "cyber-path": SolutionForm(
        read_steps,
        _writer(_STEPS, steps),
        _namer(_STEPS, steps),
        "source, target and vulnerability per step",
        _fits_steps,
    ),
}


def form_of(instance: Instance, own: SolutionForm | None = None) -> SolutionForm | None:
    """File form of the solutions of the instance's problem; None for JSON.

    Args:
        instance: what is solved.
        own: the form that a problem of one's own defines.
    """
    return FORMS.get(instance.problem, own)


def solution_text(
    instance: Instance,
    solution: Any,
    own: SolutionForm | None = None,
    objective: float | None = None,
) -> str:
    """The text of a solution; `objective` is noted where the form has a place for it."""
    form = form_of(instance, own)
    if form is None:
        return write_plain(instance, solution, objective)
    array = np.asarray(solution)
    if not form.fits(instance, array):
        raise InstanceError(
            f"not a solution of {instance.name!r}: it must be {form.shape}, got {array.dtype} of "
            f"shape {array.shape}"
        )
    return form.write(instance, array if form is own else array.astype(np.int64))


def read_text(source: Source, instance: Instance, own: SolutionForm | None = None) -> Array:
    """The solution of a text as :func:`solution_text` gives it."""
    form = form_of(instance, own)
    return read_plain(source, instance) if form is None else form.read(source, instance)


def named_solution(instance: Instance, solution: Any, own: SolutionForm | None = None) -> list[Any]:
    """A solution as plain values, named and numbered as in its file; as it is where it has none."""
    array = np.asarray(solution)
    form = form_of(instance, own)
    if form is None:
        plain: list[Any] = array.tolist()
        return plain
    return form.named(instance, array if form is own else array.astype(np.int64))


def _matches_cover(source: Source) -> bool:
    return source.declaration.split(None, 2)[:2] == _COVER.split()


def _matches_table(head: tuple[str, ...]) -> Callable[[Source], bool]:
    return lambda source: header(source) == list(head)


_HINT = "it is a solution: read it with read_solution(instance, path)"
SOLUTIONS = (
    Format("solution", "a solution of a problem of one's own", (), matches, hint=_HINT),
    Format("cover", "chosen nodes as in PACE", (), _matches_cover, hint=_HINT),
    *(
        Format(name, summary, (), _matches_table(head), hint=_HINT)
        for name, summary, head in (
            ("sides", "the side of every node", _SIDES),
            ("weights", "the weight of every link", _WEIGHTS),
            ("paths", "the path of every demand", _PATHS),
            ("allocation", "the host of every virtual machine", _ALLOCATION),
            ("attack-steps", "attack steps in order", _STEPS),
        )
    ),
)
