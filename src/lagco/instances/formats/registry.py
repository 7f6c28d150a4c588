"""All formats: detection by content, reading and writing."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from lagco.arrays import Array
from lagco.errors import InstanceError, UnknownName, UsageError, suggest
from lagco.instances.form import declared_form
from lagco.instances.formats import hosts as attackable
from lagco.instances.formats import placement, tsplib
from lagco.instances.formats.document import json_value
from lagco.instances.formats.edge_lists import dimacs, gset
from lagco.instances.formats.format import Format
from lagco.instances.formats.machines.tables import columns_of, read_tables
from lagco.instances.formats.networks import demands as demand_table
from lagco.instances.formats.networks import graphml, repetita, sndlib
from lagco.instances.formats.networks.markup import parse
from lagco.instances.formats.networks.topology import Topology
from lagco.instances.formats.solutions import SOLUTIONS, SolutionForm, read_text, solution_text
from lagco.instances.formats.source import Source, clean, open_file
from lagco.instances.formats.table import separator
from lagco.instances.instance import Instance
from lagco.instances.native import SUFFIX, write_instance
from lagco.instances.native import read_instance as read_native
from lagco.registry import Registry
from lagco.store import write_atomically

NATIVE = "lagco"
_OWN = {
    known.name: known
    for known in (
        tsplib.TOUR,
        tsplib.FORMAT,
        gset.FORMAT,
        dimacs.DIMACS,
        dimacs.PACE,
        sndlib.NATIVE,
        sndlib.XML,
        graphml.FORMAT,
        repetita.FORMAT,
        placement.JSON,
        attackable.FORMAT,
        placement.CSV,
        *SOLUTIONS,
        repetita.DEMANDS,
        demand_table.FORMAT,
    )
}
#: in the order in which they are tried; packages add to them by entry points
FORMATS: Registry[Format] = Registry("format", "lagco.formats", _OWN)


def detect(path: str | Path) -> str:
    """Name of the format of a file, by its content.

    Raises:
        InstanceError: it is of none, or cannot be read.
    """
    with open_file(path) as stream:
        native = _is_native(Path(path), stream)
        return NATIVE if native else _format_of(Source.of(path, stream)).name


def read(
    path: str | Path,
    problem: str | None = None,
    demands: str | Path | None = None,
    *,
    hosts: str | Path | None = None,
    columns: Any = None,
    catalogue: str | Path | None = None,
    reachability: str | Path | None = None,
) -> Instance:
    """Read an instance from a file of any format, packed by gzip or not.

    What a reader decided or left out (capacities filled in, parts of a network dropped) is listed
    in ``instance.origin["notes"]``.

    Args:
        path: the file.
        problem: what it shall serve; the format's default without.
        demands: file with the demands of a network, instead of its own (CSV, REPETITA, SNDlib).
        hosts: table of physical machines (CSV), where the file is a table of virtual ones.
        columns: columns of these tables by what they hold, such as ``name=vm_id,pe=vcpus``.
        catalogue: own vulnerabilities of an inventory of hosts (CSV or JSON).
        reachability: firewall rules between its hosts (CSV): what they allow, nothing else is.

    Raises:
        InstanceError: names the file, the line where there is one, and the reason.
    """
    named = columns_of(columns)
    if hosts is None and named:
        raise UsageError("columns: are those of two tables of machines; give the other as hosts=")
    tables = {"catalogue": catalogue, "reachability": reachability}
    if any(tables.values()):
        return _inventory(Path(path), tables, problem)
    with open_file(path) as stream:
        if hosts is None:
            return read_opened(path, stream, problem, demands)
        source = Source.of(Path(path), stream)
    instance = read_tables(source, Source.load(hosts), named).instance(source, "placement")
    if problem not in (None, instance.problem) or demands is not None:
        raise UsageError(f"hosts={str(hosts)!r}: tables of machines are for placement alone")
    return instance


def _inventory(
    path: Path, tables: Mapping[str, str | Path | None], problem: str | None
) -> Instance:
    """An inventory of hosts with tables beside it."""
    source = Source.load(path)
    if not attackable.matches(source):
        name, value = next((name, value) for name, value in tables.items() if value is not None)
        raise UsageError(f"{name}={str(value)!r}: is for an inventory of hosts (JSON) alone")
    added = [None if table is None else Source.load(table) for table in tables.values()]
    found = attackable.with_tables(attackable.read(source), *added)
    return found.instance(source, problem or attackable.FORMAT.problems[0])


def read_opened(
    path: str | Path,
    stream: BinaryIO,
    problem: str | None = None,
    demands: str | Path | None = None,
) -> Instance:
    """The same of a file that is open already.

    Whatever the format, what is read holds what its problem declares, so that no file is read that
    is refused when it is used.
    """
    path = Path(path)
    reader = _native_instance if _is_native(path, stream) else _foreign_instance
    instance = reader(path, stream, problem, demands)
    try:
        declared_form(instance.problem).check(instance)
    except InstanceError as error:
        raise InstanceError(f"{path}: {error}") from error
    return instance


def _native_instance(
    path: Path, stream: BinaryIO, problem: str | None, demands: str | Path | None
) -> Instance:
    instance = read_native(path, stream)
    if problem not in (None, instance.problem):
        raise InstanceError(f"{path}: an instance of {instance.problem!r}, not of {problem!r}")
    if demands is not None:
        raise InstanceError(f"{path}: has its demands already; leave demands= out")
    return instance


def _foreign_instance(
    path: Path, stream: BinaryIO, problem: str | None, demands: str | Path | None
) -> Instance:
    source = Source.of(path, stream)
    known = _format_of(source)
    if known.read is None:
        raise source.error(f"not an instance but {known.summary}; {known.hint}")
    if problem is not None and problem not in known.problems:
        able = " or ".join(known.problems)
        raise source.error(f"the format {known.name!r} is for {able}, not {problem!r}")
    model = known.read(source)
    if demands is not None:
        if not isinstance(model, Topology):
            raise source.error(f"{known.summary} take no demands; only networks do")
        model = demand_table.with_demands(model, Source.load(demands))
    return model.instance(source, problem or known.problems[0])


def write(instance: Instance, path: str | Path, format: str | None = None) -> None:
    """Write an instance to a file, atomically; packed by gzip if the name ends in ``.gz``.

    Args:
        instance: what to write.
        path: the file.
        format: name of the format; by the file's suffix without.
    """
    path = Path(path)
    name = format or _format_for(instance, path)
    if name == NATIVE:
        write_instance(instance, path)
        return
    writers = [known for known in FORMATS.values() if known.write is not None]
    chosen = FORMATS.get(name)
    if chosen is None or chosen.write is None:
        raise UnknownName(suggest("format", name, [NATIVE, *(known.name for known in writers)]))
    of_demands = chosen in (demand_table.FORMAT, repetita.DEMANDS)
    served = chosen.problems or (sndlib.NATIVE.problems if of_demands else ())
    if instance.problem not in served:
        able = [NATIVE, *(known.name for known in writers if instance.problem in known.problems)]
        raise InstanceError(
            f"instance {instance.name!r} of {instance.problem!r} cannot be written as {name!r}; "
            f"it can as {', '.join(able)}"
        )
    _write_text(path, chosen.write(instance))


def write_solution(
    instance: Instance,
    solution: Any,
    path: str | Path,
    *,
    form: SolutionForm | None = None,
    objective: float | None = None,
) -> None:
    """Write a solution in the field's own form, of other problems as JSON: see the guide on files.

    Args:
        instance: what it solves.
        solution: as the problem's `solution()` gives it.
        path: the file.
        form: the problem's ``solution_form``, where it has one of its own.
        objective: of the solution, which JSON notes.
    """
    _write_text(Path(path), solution_text(instance, solution, form, objective))


def read_solution(
    instance: Instance, path: str | Path, *, form: SolutionForm | None = None
) -> Array:
    """Read a solution of `instance` from a file as :func:`write_solution` makes it.

    Raises:
        InstanceError: it is damaged or does not belong to the instance.
    """
    return read_text(Source.load(path), instance, form)


def _is_native(path: Path, stream: BinaryIO) -> bool:
    """Whether lagco's own reader is in charge: a zip, or a file that is called like ours."""
    begin = stream.read(2)
    stream.seek(0)
    return path.suffix == SUFFIX or begin == b"PK"


def _format_of(source: Source) -> Format:
    for known in FORMATS.values():
        if known.matches(source):
            return known
    names = ", ".join(known.name for known in FORMATS.values() if known.problems)
    kind = ""
    begin = source.text.lstrip()[:1]
    if not begin:
        raise source.error("the file is empty")
    if begin == "{":
        json_value(source)  # if it is damaged, that is the reason
        kind = f"JSON whose 'format' is neither {placement.NAME!r} nor {attackable.NAME!r}, "
    elif begin == "<":
        kind = f"XML about <{clean(parse(source).tag)}>, "
    elif separator(source) is not None:
        kind = placement.columns_needed(source)
    raise source.error(f"{kind}unknown format; lagco reads {names}, {NATIVE}")


def _format_for(instance: Instance, path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix == SUFFIX:
        return NATIVE
    for known in FORMATS.values():
        if instance.problem in known.problems and suffix in known.suffixes:
            return known.name
    able = {
        known.name: " ".join(known.suffixes)
        for known in FORMATS.values()
        if instance.problem in known.problems
    }
    listed = ", ".join(f"{name} ({endings})" for name, endings in able.items())
    raise InstanceError(
        f"{path}: give format= or a suffix that says how to write an instance of "
        f"{instance.problem!r}: {listed}{', ' if listed else ''}{NATIVE} ({SUFFIX})"
    )


def _write_text(path: Path, text: str) -> None:
    content = text.encode()
    if path.suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)
    write_atomically(path, content)
