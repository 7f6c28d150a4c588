"""Two plain tables, one of virtual and one of physical machines, with columns of any names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances.formats.document import VERSION, Document
from lagco.instances.formats.placement import NAME, RESOURCES, Machines
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.table import header, rows
from lagco.results.numbers import of_things
from lagco.store import Place

#: names under which a column is found that nobody names, by what it holds
KNOWN: Mapping[str, Sequence[str]] = {
    "name": (
        "name",
        "id",
        "vm",
        "vmid",
        "vm_id",
        "vm_name",
        "pm",
        "pmid",
        "pm_id",
        "pm_name",
        "hostname",
        "host_name",
        "instance",
        "instance_id",
        "instance_name",
    ),
    "pe": ("pe", "pes", "cpu", "cpus", "vcpu", "vcpus", "cores", "core"),
    "mips": ("mips",),
    "memory": ("memory", "ram", "mem", "memory_gb", "ram_gb"),
    "storage": ("storage", "disk", "disk_gb", "ssd"),
    "host": ("host", "hypervisor", "node", "server", "pm", "hostname", "host_name"),
    "tenant": ("tenant", "owner", "project", "customer"),
    "vulnerability": ("vulnerability",),
    "escape": ("escape",),
    "idle_power": ("idle_power",),
    "peak_power": ("peak_power",),
}
_VMS = ("name", *RESOURCES, "host", "tenant", "vulnerability")
_PMS = ("name", *RESOURCES, "escape", "idle_power", "peak_power")
_NEEDED = ("name", "pe")
_WORDS = ("name", "host", "tenant")


def columns_of(given: str | Mapping[str, str] | None) -> dict[str, str]:
    """Names of columns by what they hold, from a mapping or ``name=vm_id,pe=vcpus``."""
    if not given:
        return {}
    if isinstance(given, str):
        parts = [part.partition("=") for part in given.split(",")]
        given = {what.strip(): column.strip() for what, _, column in parts}
    for what, column in given.items():
        if what not in KNOWN:
            raise UsageError(f"columns={what}={column}: {suggest('column', what, list(KNOWN))}")
        if not column:
            raise UsageError(f"columns={what}: give it as {what}=COLUMN")
    return {what: column.lower() for what, column in given.items()}


def read_tables(vms: Source, pms: Source, columns: Mapping[str, str]) -> Machines:
    """The machines of two tables.

    Args:
        vms: table of virtual machines: a name and cores (``pe``) at least.
        pms: table of physical machines, likewise.
        columns: names of columns by what they hold, for tables with others than the usual ones.
    """
    _refuse_unknown(vms, pms, columns)
    lines: dict[tuple[str, int], int] = {}
    content = {
        "format": NAME,
        "version": VERSION,
        "vms": _entries(vms, "vms", _VMS, columns, lines),
        "pms": _entries(pms, "pms", _PMS, columns, lines),
    }
    return Machines(_Tables(vms, pms, content, lines), "placement-tables")


def _refuse_unknown(vms: Source, pms: Source, columns: Mapping[str, str]) -> None:
    """Refuse columns that neither table has; an amount left out would not be noticed."""
    head = list(dict.fromkeys([*header(vms), *header(pms)]))
    for what, column in columns.items():
        if column not in head:
            raise UsageError(f"columns={what}={column}: {suggest('column', column, head)}")


class _Tables(Document):
    """The content of two tables, whose errors name the one that is meant."""

    def __init__(
        self, vms: Source, pms: Source, content: dict[str, Any], lines: dict[tuple[str, int], int]
    ) -> None:
        self._vms, self._pms = vms, pms
        super().__init__(vms, content, "placement", lines)

    def error(self, path: Place, reason: str) -> InstanceError:
        """Error about the value at `path`, in its own table."""
        self.source = self._pms if path and path[0] == "pms" else self._vms
        return super().error(path, reason)


def _entries(
    source: Source,
    part: str,
    wanted: Sequence[str],
    columns: Mapping[str, str],
    lines: dict[tuple[str, int], int],
) -> list[dict[str, Any]]:
    places = _places(source, part, wanted, columns)
    table = rows(source)
    width = len(next(table)[1])
    entries: list[dict[str, Any]] = []
    for line, cells in table:
        if len(cells) != width:
            raise source.error(f"{of_things(len(cells), 'cells')}, the header has {width}", line)
        entry: dict[str, Any] = {}
        amounts: dict[str, float] = {}
        for what, place in places.items():
            if not cells[place]:
                continue
            if what in _WORDS:
                entry[what] = cells[place]
            elif what in RESOURCES:
                amounts[what] = source.real(cells[place], what, line)
            else:
                entry[what] = source.real(cells[place], what, line)
        entry["demand" if part == "vms" else "capacity"] = amounts
        lines[part, len(entries)] = line
        entries.append(entry)
    return entries


def _places(
    source: Source, part: str, wanted: Sequence[str], columns: Mapping[str, str]
) -> dict[str, int]:
    """Place of the column of everything wanted that the table has."""
    head = header(source)
    plain = [re.sub("[^a-z0-9]+", "_", name).strip("_") for name in head]
    found: dict[str, int] = {}
    for what in wanted:
        taken = found.values()
        places = [plain.index(name) for name in KNOWN[what] if name in plain]
        if columns.get(what) in head:
            places = [head.index(columns[what])]
        free = [place for place in places if place not in taken]
        if free:
            found[what] = free[0]
    lacking = [what for what in _NEEDED if what not in found]
    if lacking:
        kind = "virtual" if part == "vms" else "physical"
        rest = ", ".join(what for what in wanted if what not in _NEEDED)
        example = ",".join(f"{what}=COLUMN" for what in lacking)
        raise source.error(
            f"a table of {kind} machines needs {' and '.join(_NEEDED)} (cores), and may have "
            f"{rest}; none of its columns {clean(', '.join(head), 200)} is known to be "
            f"{' or '.join(lacking)}: say which one is by columns, such as {example}",
            1,
        )
    return found
