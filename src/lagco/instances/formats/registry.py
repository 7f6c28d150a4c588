"""All formats: detection by content, reading and writing."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.errors import InstanceError, UnknownName, suggest
from lagco.instances.formats import (
    demands as demand_table,
)
from lagco.instances.formats import (
    dimacs,
    graphml,
    gset,
    hosts,
    placement,
    sndlib,
    tsplib,
)
from lagco.instances.formats.document import json_value
from lagco.instances.formats.format import Format
from lagco.instances.formats.markup import parse
from lagco.instances.formats.solutions import SOLUTIONS, form_of, solution_text
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.topology import Topology
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
        placement.JSON,
        hosts.FORMAT,
        placement.CSV,
        *SOLUTIONS,
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
    return NATIVE if _is_native(Path(path)) else _format_of(Source.load(path)).name


def read(
    path: str | Path, problem: str | None = None, demands: str | Path | None = None
) -> Instance:
    """Read an instance from a file of any format, packed by gzip or not.

    What a reader decided or left out (capacities filled in, parts of a network dropped) is listed
    in ``instance.origin["notes"]``.

    Args:
        path: the file.
        problem: what it shall serve; the format's default without.
        demands: CSV file with the demands of a network, instead of its own.

    Raises:
        InstanceError: names the file, the line where there is one, and the reason.
    """
    path = Path(path)
    if _is_native(path):
        instance = read_native(path)
        if problem not in (None, instance.problem):
            raise InstanceError(f"{path}: an instance of {instance.problem!r}, not of {problem!r}")
        if demands is not None:
            raise InstanceError(f"{path}: has its demands already; leave demands= out")
        return instance
    source = Source.load(path)
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
    served = chosen.problems or (sndlib.NATIVE.problems if chosen is demand_table.FORMAT else ())
    if instance.problem not in served:
        able = [NATIVE, *(known.name for known in writers if instance.problem in known.problems)]
        raise InstanceError(
            f"instance {instance.name!r} of {instance.problem!r} cannot be written as {name!r}; "
            f"it can as {', '.join(able)}"
        )
    _write_text(path, chosen.write(instance))


def write_solution(instance: Instance, solution: Any, path: str | Path) -> None:
    """Write a solution in the field's own form: see the guide on instance files.

    Args:
        instance: what it solves.
        solution: as the problem's `solution()` gives it.
        path: the file.
    """
    _write_text(Path(path), solution_text(instance, solution))


def read_solution(instance: Instance, path: str | Path) -> Array:
    """Read a solution of `instance` from a file as :func:`write_solution` makes it.

    Raises:
        InstanceError: it is damaged or does not belong to the instance.
    """
    return form_of(instance).read(Source.load(path), instance)


def _is_native(path: Path) -> bool:
    """Whether lagco's own reader is in charge: a zip, or a file that is called like ours."""
    if path.suffix == SUFFIX:
        return True
    try:
        with path.open("rb") as stream:
            return path.is_file() and stream.read(2) == b"PK"
    except (OSError, ValueError):
        return False  # reading it properly says what is wrong


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
        kind = f"JSON whose 'format' is neither {placement.NAME!r} nor {hosts.NAME!r}, "
    elif begin == "<":
        kind = f"XML about <{clean(parse(source).tag)}>, "
    raise source.error(f"{kind}of no format that is read here: {names}, {NATIVE}")


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
