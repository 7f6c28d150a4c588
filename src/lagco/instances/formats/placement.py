"""Virtual machines to place on physical machines: JSON, and the same as one CSV table.

The JSON follows ``schemas/placement.schema.json``. The CSV has a row per machine, traffic or link,
told apart by the column ``kind`` (pm, vm, traffic, link); the other columns are `COLUMNS`, in any
order, and only those that are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.instances.formats.document import VERSION, Document, declares, json_value
from lagco.instances.formats.format import Format, origin, spelled
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.table import header, rows, written
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import readable_json, shown

NAME = "lagco-placement"
RESOURCES = ("pe", "mips", "memory", "storage")
IDLE_POWER, PEAK_POWER = 75.0, 225.0
SMALLEST = 1e-9
#: physical machines up to which, without links, every two are joined
MAX_JOINED = 512
#: column of the CSV: kinds of rows that have it
COLUMNS = {
    "name": ("pm", "vm", "traffic", "link"),
    **dict.fromkeys(RESOURCES, ("pm", "vm")),
    "tenant": ("vm",),
    "host": ("vm",),
    "vulnerability": ("vm",),
    "escape": ("pm",),
    "idle_power": ("pm",),
    "peak_power": ("pm",),
    "other": ("traffic", "link"),
    "volume": ("traffic",),
    "latency": ("link",),
}
_WORDS = ("name", "tenant", "host", "other")
_PARTS = {"pm": "pms", "vm": "vms", "traffic": "traffic", "link": "links"}


@dataclass
class Machines:
    """A checked description, as instances of `placement`."""

    document: Document
    format_name: str

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `placement`."""
        document, content = self.document, self.document.content
        pms, vms = content["pms"], content["vms"]
        pm_index, vm_index = document.index("pms"), document.index("vms")
        notes: list[str] = []
        pairs, volumes = self._pairs("traffic", vm_index, "volume")
        links, latencies = self._links(pm_index, notes, wanted=bool(pairs.size))
        owners: dict[str, int] = {}
        for position, vm in enumerate(vms):
            tenant = vm.get("tenant", "tenant")
            if not tenant.isprintable():
                raise document.error(("vms", position, "tenant"), "it is not printable")
            owners.setdefault(tenant, len(owners))
        arrays: dict[str, Array] = {
            "vm_demands": _resources(vms, "demand"),
            "pm_capacities": _resources(pms, "capacity"),
            "tenants": np.array([owners[vm.get("tenant", "tenant")] for vm in vms], dtype=np.int32),
            "vm_vulnerability": _column(vms, "vulnerability", 0.0),
            "pm_escape": _column(pms, "escape", 0.0),
            "pm_idle": _column(pms, "idle_power", IDLE_POWER),
            "pm_peak": _column(pms, "peak_power", PEAK_POWER),
            "traffic_pairs": pairs,
            "traffic": volumes,
            "latency_links": links,
            "latencies": latencies,
            "vm_names": np.array(list(vm_index)),
            "pm_names": np.array(list(pm_index)),
            "tenant_names": np.array(list(owners)),
        }
        allocation = self._allocation(pm_index, arrays)
        if allocation is not None:
            arrays["allocation"] = allocation
        arrays |= self._limits(vm_index)
        return Instance(
            problem=problem,
            name=clean(content.get("name", "")) or source.name,
            size=len(vms),
            arrays=arrays,
            origin=origin(source, self.format_name, notes),
        )

    def _pairs(self, part: str, index: dict[str, int], value: str) -> tuple[Array, Array]:
        document = self.document
        found: dict[tuple[int, int], float] = {}
        for position, entry in enumerate(document.content.get(part, ())):
            ends = [
                document.look_up(index, name, (part, position, "between", end))
                for end, name in enumerate(entry["between"])
            ]
            pair = min(ends), max(ends)
            if pair in found:
                raise document.error((part, position), "the two stand there twice")
            found[pair] = _amount(entry[value])
        pairs = np.array(list(found), dtype=np.int32).reshape(-1, 2).T
        return np.ascontiguousarray(pairs), np.array(list(found.values()), dtype=np.float64)

    def _limits(self, index: dict[str, int]) -> dict[str, Array]:
        """Arrays of what limits allocations, where the file says any of it."""
        document, content = self.document, self.document.content
        found: dict[str, Array] = {}
        for part, field, name in (("pms", "maintenance", "drained"), ("vms", "pinned", "fixed")):
            flags = np.array([entry.get(field, False) for entry in content[part]], dtype=np.int8)
            if flags.any():
                found[name] = flags
        if content.get("headroom"):
            found["headroom"] = np.array([content["headroom"].get(r, 0.0) for r in RESOURCES])
        for part in ("apart", "together"):
            pairs = [
                pair
                for position, group in enumerate(content.get(part, ()))
                for pair in combinations(
                    [document.look_up(index, name, (part, position)) for name in group], 2
                )
            ]
            if pairs:
                found[part] = np.array(pairs, dtype=np.int32).T
        return found

    def _links(
        self, index: dict[str, int], notes: list[str], *, wanted: bool
    ) -> tuple[Array, Array]:
        """Latency links; without any, every two machines are 1 apart.

        Where no traffic asks for latencies, links from the first machine to the others will do.
        """
        document, count = self.document, len(index)
        if document.content.get("links"):
            links, latencies = self._pairs("links", index, "latency")
            _refuse_unreached(document, list(index), links)
            return links, latencies
        if not wanted and count > MAX_JOINED:
            star = np.stack([np.zeros(count - 1), np.arange(1, count)]).astype(np.int32)
            return star, np.ones(count - 1)
        if count > MAX_JOINED:
            raise document.source.error(
                f"give links; with {of_things(count, 'machines')} they have no default"
            )
        if count > 1:
            notes.append("no links: every two physical machines are 1 apart")
        links = np.stack(np.triu_indices(count, k=1)).astype(np.int32)
        return links, np.ones(links.shape[1])

    def _allocation(self, index: dict[str, int], arrays: dict[str, Array]) -> Array | None:
        """Present hosts (V,), None where there are none."""
        document = self.document
        vms, demands, capacities = (
            document.content["vms"], arrays["vm_demands"], arrays["pm_capacities"],
        )  # fmt: skip
        sizes, of = np.unique(demands, axis=0, return_inverse=True)
        lacking = [not (size <= capacities).all(axis=1).any() for size in sizes]
        too_large = np.array(lacking)[of.reshape(-1)]
        if too_large.any():
            reason = "it is too large for every physical machine"
            raise document.error(("vms", int(too_large.argmax())), reason)
        placed = ["host" in vm for vm in vms]
        if not any(placed):
            return None
        if not all(placed):
            raise document.error(("vms", placed.index(False)), "has no 'host', but others have")
        hosts = [
            document.look_up(index, vm["host"], ("vms", position, "host"))
            for position, vm in enumerate(vms)
        ]
        free = capacities * (1.0 + 1e-9)
        for position, host in enumerate(hosts):
            free[host] -= demands[position]
            if (free[host] < 0.0).any():
                r = int(free[host].argmin())
                used = demands[: position + 1, r][np.array(hosts[: position + 1]) == host].sum()
                reason = (
                    f"{shown(vms[position]['host'])} has no room left for it: {used:g} of "
                    f"{capacities[host, r]:g} {RESOURCES[r]} with those before it; give what may "
                    "be allocated as its capacity"
                )
                raise document.error(("vms", position, "host"), reason)
        return np.array(hosts, dtype=np.int32)


def _refuse_unreached(document: Document, names: list[str], links: Array) -> None:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(names)
    graph = csr_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    if part.any():
        raise document.error(("pms", int(part.argmax())), "no links lead there from the first one")


def _amount(value: float) -> float:
    """Amounts so small that ratios of them leave the range of numbers count as 0."""
    return float(value) if value >= SMALLEST else 0.0


def _resources(entries: list[dict[str, Any]], field: str) -> Array:
    return np.array([[_amount(entry[field].get(r, 0.0)) for r in RESOURCES] for entry in entries])


def _column(entries: list[dict[str, Any]], field: str, default: float) -> Array:
    return np.array([_amount(entry.get(field, default)) for entry in entries])


def matches_json(source: Source) -> bool:
    """A JSON object that says so."""
    return declares(source, NAME)


def read_json(source: Source) -> Machines:
    """The machines of a JSON file."""
    return Machines(Document(source, json_value(source), "placement"), "placement-json")


def columns_needed(source: Source) -> str:
    """What a table of machines without the column ``kind`` lacks; empty for any other file."""
    head = header(source)
    usual = {"vm", "vm_id", "vmid", "pm", "cpu", "cpus", "vcpu", "vcpus", "ram", "disk", "cores"}
    words = (usual | set(COLUMNS)) - {"name", "other"}
    if not words & set(head):
        return ""
    return (
        f"a table with the columns {clean(', '.join(head), 100)}: of two tables, of virtual and of "
        "physical machines, the second is given as hosts=FILE; a single one needs: kind (pm, "
        f"vm, traffic or link) and name in every row; {', '.join(RESOURCES)} in rows of pm and vm; "
        "other and volume in those of traffic; other and latency in those of link; "
    )


def matches_csv(source: Source) -> bool:
    """A header with the column ``kind``."""
    return "kind" in header(source)


def read_csv(source: Source) -> Machines:
    """The machines of a CSV file."""
    content: dict[str, Any] = {"format": NAME, "version": VERSION, "pms": [], "vms": []}
    lines: dict[tuple[str, int], int] = {}
    table = rows(source)
    first, head = next(table)
    head = [cell.lower() for cell in head]
    for column in head:
        if column not in ("kind", *COLUMNS):
            raise source.error(suggest("column", clean(column, 40), ["kind", *COLUMNS]), first)
    if len(set(head)) < len(head):
        raise source.error("two columns have the same name", first)
    for line, cells in table:
        if len(cells) != len(head):
            raise source.error(
                f"{of_things(len(cells), 'cells')}, the header has {len(head)}", line
            )
        row = {column: cell for column, cell in zip(head, cells, strict=True) if cell}
        kind = row.pop("kind", "").lower()
        if kind not in _PARTS:
            raise source.error(suggest("kind of row", clean(kind, 40), _PARTS), line)
        entries = content.setdefault(_PARTS[kind], [])
        lines[_PARTS[kind], len(entries)] = line
        entries.append(_entry(source, kind, row, line))
    return Machines(Document(source, content, "placement", lines), "placement-csv")


def _entry(source: Source, kind: str, row: dict[str, str], line: int) -> dict[str, Any]:
    """A row of the table as an object of the JSON form."""
    entry: dict[str, Any] = {}
    for column, cell in row.items():
        if kind not in COLUMNS[column]:
            raise source.error(f"a row of kind {kind} has no {column}", line)
        entry[column] = cell if column in _WORDS else source.real(cell, column, line)
    if kind in ("pm", "vm"):
        amounts = {name: entry.pop(name) for name in RESOURCES if name in entry}
        return entry | {"capacity" if kind == "pm" else "demand": amounts}
    return {"between": [entry.pop("name", ""), entry.pop("other", "")]} | entry


def _described(instance: Instance) -> dict[str, Any]:
    """The JSON form of an instance."""
    arrays = instance.arrays
    vm_names, pm_names = machine_names(instance, "vm"), machine_names(instance, "pm")
    tenants = tenant_names(instance)
    hosts = arrays.get("allocation")

    def amounts(row: Array) -> dict[str, float]:
        return dict(zip(RESOURCES, row.tolist(), strict=True))

    def joined(pairs: str, names: list[str], field: str, values: str) -> list[dict[str, Any]]:
        ends = instance.array(pairs).T.tolist()
        return [
            {"between": [names[u], names[v]], field: value}
            for (u, v), value in zip(ends, instance.array(values).tolist(), strict=True)
        ]

    vms = []
    for v, name in enumerate(vm_names):
        owner = int(instance.array("tenants")[v])
        vm: dict[str, Any] = {"name": name, "demand": amounts(instance.array("vm_demands")[v])}
        vm["tenant"] = tenants[owner]
        vm["vulnerability"] = float(instance.array("vm_vulnerability")[v])
        if "fixed" in arrays and arrays["fixed"][v]:
            vm["pinned"] = True
        if hosts is not None:
            vm["host"] = pm_names[int(hosts[v])]
        vms.append(vm)
    pms = [
        {
            "name": name,
            "capacity": amounts(instance.array("pm_capacities")[p]),
            "idle_power": float(instance.array("pm_idle")[p]),
            "peak_power": float(instance.array("pm_peak")[p]),
            "escape": float(instance.array("pm_escape")[p]),
            **({"maintenance": True} if "drained" in arrays and arrays["drained"][p] else {}),
        }
        for p, name in enumerate(pm_names)
    ]
    limits: dict[str, Any] = {
        part: [[vm_names[v], vm_names[w]] for v, w in arrays[part].T.tolist()]
        for part in ("apart", "together")
        if part in arrays
    }
    if "headroom" in arrays:
        limits["headroom"] = amounts(arrays["headroom"])
    return {
        "format": NAME,
        "version": VERSION,
        "name": instance.name,
        **limits,
        "pms": pms,
        "vms": vms,
        "traffic": joined("traffic_pairs", vm_names, "volume", "traffic"),
        "links": joined("latency_links", pm_names, "latency", "latencies"),
    }


def machine_names(instance: Instance, kind: str) -> list[str]:
    """Names of the virtual (``vm``) or physical (``pm``) machines of an instance."""
    names = instance.arrays.get(f"{kind}_names")
    if names is not None:
        return [str(name) for name in names.tolist()]
    count = len(instance.array("vm_demands" if kind == "vm" else "pm_capacities"))
    return [f"{kind}{number + 1}" for number in range(count)]


def tenant_names(instance: Instance) -> list[str]:
    """Names of the tenants of an instance, by id."""
    names = instance.arrays.get("tenant_names")
    if names is not None:
        return [str(name) for name in names.tolist()]
    return [f"tenant {owner + 1}" for owner in range(int(instance.array("tenants").max()) + 1)]


def write_json(instance: Instance) -> str:
    """The machines as JSON."""
    return readable_json(_described(instance)).decode()


def write_csv(instance: Instance) -> str:
    """The machines as CSV, which has no place for limits."""
    limits = {"apart", "together", "headroom", "drained", "fixed"} & set(instance.arrays)
    if limits:
        raise InstanceError(
            f"instance {instance.name!r} has limits ({', '.join(sorted(limits))}), which the CSV "
            "form cannot say; write it as JSON"
        )
    content = _described(instance)
    table: list[list[str]] = []
    for kind, part in _PARTS.items():
        for entry in content[part]:
            row = entry | entry.pop("capacity", {}) | entry.pop("demand", {})
            if "between" in row:
                row["name"], row["other"] = row.pop("between")
            cells = [row.get(column, "") for column in COLUMNS]
            table.append([kind, *(c if isinstance(c, str) else spelled(c) for c in cells)])
    return written([["kind", *COLUMNS], *table])


JSON = Format(
    name="placement-json",
    summary="virtual and physical machines as JSON",
    problems=("placement",),
    matches=matches_json,
    read=read_json,
    write=write_json,
    suffixes=(".json",),
)
CSV = Format(
    name="placement-csv",
    summary="virtual and physical machines as CSV",
    problems=("placement",),
    matches=matches_csv,
    read=read_csv,
    write=write_csv,
    suffixes=(".csv",),
)
