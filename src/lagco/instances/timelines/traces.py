"""Published traces of virtual machines as timelines: Azure's packing trace, and CSV as of VMAgent.

Azure Traces for Packing 2020: a SQLite file with the tables ``vm`` (``vmId``, ``tenantId``,
``vmTypeId``, ``starttime``, ``endtime`` in days) and ``vmType`` (``vmTypeId``, ``machineId``,
``core``, ``memory``, ``ssd``, ``hdd`` as shares of a machine). VMAgent, the Huawei-East-1 data set:
a CSV with the columns ``vmid``, ``cpu``, ``memory``, ``time`` and ``type``, 0 where a machine is
created and 1 where it is deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from lagco.errors import InstanceError, UsageError
from lagco.instances.formats.source import Source, clean, open_file
from lagco.instances.formats.table import header, rows
from lagco.instances.instance import Instance
from lagco.instances.timelines.event import Event
from lagco.instances.timelines.timeline import Moment, Timeline
from lagco.results.numbers import of_things

_SQLITE = b"SQLite format 3\0"
_DAY = 86400.0
_TABLES = {
    "vm": ("vmId", "tenantId", "vmTypeId", "starttime", "endtime"),
    "vmType": ("vmTypeId", "machineId", "core", "memory"),
}
_COLUMNS = ("vmid", "cpu", "memory", "time", "type")
_CREATED, _DELETED = "0", "1"
#: at equal times machines leave before others come
_EVENTS = """
SELECT starttime AS at, 1 AS comes, vm.vmId, vm.tenantId, size.core, size.memory
FROM vm JOIN (
    SELECT vmTypeId, MAX(core) AS core, MAX(memory) AS memory
    FROM vmType WHERE machineId = :machine GROUP BY vmTypeId
) AS size ON size.vmTypeId = vm.vmTypeId
WHERE endtime IS NULL OR (endtime > starttime AND endtime > 0)
UNION ALL
SELECT endtime, 0, vm.vmId, NULL, NULL, NULL
FROM vm WHERE endtime > starttime AND endtime > 0
AND vmTypeId IN (SELECT vmTypeId FROM vmType WHERE machineId = :machine)
ORDER BY at, comes, vmId
"""
_MACHINE = """
SELECT machineId FROM vmType GROUP BY machineId ORDER BY COUNT(DISTINCT vmTypeId) DESC, machineId
"""
_LEFT_OUT = """
SELECT COUNT(*) FROM vm
WHERE vmTypeId NOT IN (SELECT vmTypeId FROM vmType WHERE machineId = :machine)
"""


def read_vm_trace(path: str | Path, instance: Instance, *, machine: int | None = None) -> Timeline:
    """A trace of virtual machines that come to the physical machines of an instance, and leave.

    Times are seconds; machines that were there before time 0 come at 0. Those of the instance stay.

    Args:
        path: the SQLite file of Azure, or the CSV file of VMAgent.
        instance: of `placement`. Shares of Azure's trace are of its first physical machine.
        machine: id of the kind of machine that these shares are of; that for which most kinds of
            virtual machines have shares without. Others are left out, and counted in a note.

    Raises:
        InstanceError: names the file, the line where there is one, and the reason.
    """
    path = Path(path)
    if "pm_capacities" not in instance.arrays:
        raise UsageError(f"{path}: {instance.name!r} has no physical machines to place others on")
    with open_file(path) as stream:
        is_azure = stream.read(len(_SQLITE)) == _SQLITE
    notes: list[str] = []
    origin = {"file": clean(path.name)}
    if is_azure:
        capacity = instance.array("pm_capacities")[0]
        amounts = float(capacity[0]), float(capacity[2])
        chosen = _check_azure(path, machine)
        return Timeline(
            instance.problem,
            instance,
            lambda: _azure_moments(path, chosen, amounts, notes),
            path.stem,
            origin,
            notes,
        )
    source = Source.load(path)
    if machine is not None:
        raise UsageError(f"machine={machine}: only Azure's trace has kinds of machines")
    if not set(_COLUMNS) <= set(header(source)):
        raise source.error(
            f"a trace of machines has the columns {', '.join(_COLUMNS)}, or is the SQLite file of "
            f"Azure's packing trace; this has {clean(', '.join(header(source)), 100) or 'none'}",
            1,
        )
    return Timeline(
        instance.problem, instance, lambda: _csv_moments(source, notes), path.stem, origin, notes
    )


def _check_azure(path: Path, machine: int | None) -> int:
    """The kind of machine to take; an error where tables or columns are missing."""
    with closing(_opened(path)) as database:
        for table, columns in _TABLES.items():
            asked = "SELECT name FROM pragma_table_info(?)"
            found = {str(name).lower() for (name,) in _asked(path, database, asked, (table,))}
            lacking = [column for column in columns if column.lower() not in found]
            if lacking:
                what = f"the columns {', '.join(lacking)} of" if found else ""
                raise InstanceError(
                    f"{path}: lacks {what} the table {table!r}; a packing trace has the tables "
                    f"{' and '.join(_TABLES)}"
                )
        kinds = [kind for (kind,) in _asked(path, database, _MACHINE)]
    if not kinds or (machine is not None and machine not in kinds):
        known = ", ".join(map(str, sorted(kinds)[:20])) or "none"
        raise InstanceError(f"{path}: no shares of machine {machine}; there are {known}")
    return int(kinds[0] if machine is None else machine)


def _azure_moments(
    path: Path, machine: int, amounts: tuple[float, float], notes: list[str]
) -> Iterator[Moment]:
    named = {"machine": machine}
    with closing(_opened(path)) as database:
        (left_out,) = next(_asked(path, database, _LEFT_OUT, named))
        if left_out:
            others = of_things(left_out, "virtual machines")
            notes.append(f"{others} left out, which have no shares of machine {machine}")
        for at, comes, vm, tenant, core, memory in _asked(path, database, _EVENTS, named):
            where = f"{path}, vm {vm}"
            if not all(
                isinstance(value, int | float) for value in (at, *((core,) if comes else ()))
            ):
                raise InstanceError(f"{where}: its time or its share of the cores is no number")
            event = Event("vm-gone", vm=str(vm))
            if comes:
                event = Event(
                    "vm",
                    vm=str(vm),
                    pe=core * amounts[0],
                    memory=(memory or 0.0) * amounts[1],
                    tenant=f"tenant {tenant}",
                )
            yield Moment(max(0.0, at * _DAY), event, where)


def _opened(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _asked(path: Path, database: sqlite3.Connection, asked: str, named: Any = ()) -> Iterator[Any]:
    """Rows of a question, as they are reached."""
    try:
        yield from database.execute(asked, named)
    except sqlite3.Error as error:
        raise InstanceError(f"{path}: damaged, or no packing trace ({error})") from None


def _csv_moments(source: Source, notes: list[str]) -> Iterator[Moment]:
    head = header(source)
    place = {column: head.index(column) for column in _COLUMNS}
    present: set[str] = set()
    unknown = 0
    table = rows(source)
    next(table)
    for line, cells in table:
        if len(cells) != len(head):
            raise source.error(f"{len(cells)} cells below {len(head)} columns", line)
        vm, kind = cells[place["vmid"]], cells[place["type"]]
        time = source.real(cells[place["time"]], "time", line)
        where = f"{source.path}, line {line}"
        if kind not in (_CREATED, _DELETED):
            raise source.error(
                f"type is {clean(kind, 40)!r}; it is 0 (created) or 1 (deleted)", line
            )
        if kind == _DELETED:
            if vm in present:
                present.discard(vm)
                yield Moment(time, Event("vm-gone", vm=vm), where)
            else:
                unknown += 1
            continue
        if vm in present:
            raise source.error(f"{clean(vm, 40)!r} is created while it is there", line)
        present.add(vm)
        amounts = {
            name: source.real(cells[place[column]], column, line)
            for name, column in (("pe", "cpu"), ("memory", "memory"))
        }
        yield Moment(time, Event("vm", vm=vm, **amounts), where)
    if unknown:
        notes.append(f"{of_things(unknown, 'deletions')} of machines that were never created")
