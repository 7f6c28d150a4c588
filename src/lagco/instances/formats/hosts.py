"""An inventory of hosts for `cyber-path`, as JSON (``schemas/hosts.schema.json``).

Services and vulnerabilities are those of the catalogue (:mod:`lagco.instances.catalogue`), and
those that the file or a table adds; a host runs the services that it lists and those of its
vulnerabilities. Firewall rules may say what hosts reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.instances.formats.document import VERSION, Document, declares, json_value
from lagco.instances.formats.format import Format, origin
from lagco.instances.formats.source import Source, clean
from lagco.instances.formats.table import header, rows, table_of
from lagco.instances.instance import Instance
from lagco.instances.own_catalogue import FIELDS, OWN, catalogue_of, checked_entries
from lagco.store import Place, readable_json, spelled_path

NAME = "lagco-hosts"
#: chances where a file says nothing: the middle of the generator's ranges
_RULE = ("source", "target", "service")
#: unknown names that a message lists
_NAMED = 20
CHANCES = {"recon": 0.3, "feature_visible": 0.6, "detection": 0.1}


@dataclass
class Hosts:
    """A checked inventory, as instances of `cyber-path`."""

    document: Document

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `cyber-path`."""
        document, content = self.document, self.document.content
        hosts = content["hosts"]
        index = document.index("hosts")
        own = checked_entries(
            content.get("catalogue", ()), lambda n, reason: document.error(("catalogue", n), reason)
        )
        words = catalogue_of(Instance(problem, "", len(hosts), {}, {OWN: own}))
        running: list[list[str]] = []
        self._refuse_unknown("services", words.service_index)
        self._refuse_unknown("vulnerabilities", words.vulnerability_index)
        for host in hosts:
            found = [words.vulnerability_index[name] for name in host["vulnerabilities"]]
            implied = {words.vulnerabilities[place].service for place in found}
            running.append(sorted(implied | set(host.get("services", ()))))
        vulns = [host["vulnerabilities"] for host in hosts]
        if not any(vulns):
            raise source.error("no host has a vulnerability, so there is nothing to decide")
        data = np.array([host.get("data", False) for host in hosts], dtype=np.int8)
        chances = CHANCES | {"data_present": float(data.mean())} | content.get("chances", {})
        params: dict[str, Any] = {f"p_{name}": float(value) for name, value in chances.items()}
        if "vigilance" in content:
            params["vigilance"] = float(content["vigilance"])
        if "start" in content:
            params["start"] = document.look_up(index, content["start"], ("start",))
        arrays = {
            "vulns": _padded(vulns),
            "services": _padded(running),
            "data": data,
            "names": np.array(list(index)),
        }
        if own:
            params[OWN] = own
        if "reachability" in content:
            services = [[words.vulnerabilities[words.vulnerability_index[v]].service for v in row]
                        for row in vulns]  # fmt: skip
            arrays["reach"] = self._reach(services, index, set(words.service_index))
        return Instance(
            problem=problem,
            name=clean(content.get("name", "")) or source.name,
            size=len(hosts),
            arrays=arrays,
            params=params,
            origin=origin(source, "hosts", []),
        )

    def _refuse_unknown(self, field: str, known: dict[str, int]) -> None:
        """Name all services or vulnerabilities that are not in the catalogue, in one message."""
        unknown: dict[str, tuple[str | int, ...]] = {}
        for position, host in enumerate(self.document.content["hosts"]):
            for place, name in enumerate(host.get(field, ())):
                if name not in known:
                    unknown.setdefault(name, ("hosts", position, field, place))
        if not unknown:
            return
        kind = "service" if field == "services" else "vulnerability"
        names = [clean(name, 40) for name in unknown]
        first = suggest(kind, names[0], known)
        if len(names) > 1:
            kinds = "services" if kind == "service" else "vulnerabilities"
            first = f"unknown {kinds}: {', '.join(names[:_NAMED])}"
            first += f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        remedy = "say what they do by catalogue= (columns " + ", ".join(FIELDS) + ")"
        raise self.document.error(next(iter(unknown.values())), f"{first}; {remedy}")

    def _reach(self, services: list[list[str]], index: dict[str, int], known: set[str]) -> Array:
        """What hosts reach (n, n, V), by rules that allow; empty or ``*`` stands for all."""
        n, width = len(services), max(1, *map(len, services))
        reach = np.zeros((n, n, width), dtype=np.int8)
        for number, rule in enumerate(self.document.content["reachability"]):
            chosen = []
            for field in ("source", "target"):
                name = rule.get(field, "*") or "*"
                if name != "*" and name not in index:
                    path = ("reachability", number, field)
                    raise self.document.error(path, suggest("host", clean(name, 40), index))
                chosen.append(range(n) if name == "*" else [index[name]])
            service = rule.get("service", "*") or "*"
            if service != "*" and service not in known:
                path = ("reachability", number, "service")
                raise self.document.error(path, suggest("service", clean(service, 40), known))
            for target in chosen[1]:
                for place, runs in enumerate(services[target]):
                    if service in ("*", runs):
                        reach[list(chosen[0]), target, place] = 1
        return reach


def with_tables(hosts: Hosts, catalogue: Source | None, rules: Source | None) -> Hosts:
    """The inventory with vulnerabilities and firewall rules from tables (CSV, the first as JSON).

    Columns: id, service, outcomes (separated by ``;``), access and privilege; and source, target
    and service of what is allowed, empty or ``*`` for all.
    """
    content = dict(hosts.document.content)
    added: dict[str, _Added] = {}
    for part, table, columns in (("catalogue", catalogue, FIELDS), ("reachability", rules, _RULE)):
        if table is None:
            continue
        own = list(content.get(part, ()))
        if part == "catalogue" and table.text.lstrip()[:1] == "[":
            entries, lines = json_value(table), []
        else:
            entries = _rows(table, columns)
            lines = [line for line, _ in rows(table)][1:]
        content[part] = [*own, *entries]
        added[part] = _Added(table, len(own), lines)
    return Hosts(_Inventory(hosts.document.source, content, added))


class _Added(NamedTuple):
    """Entries that a table adds to a part of an inventory.

    Attributes:
        source: the table.
        first: position of its first entry in the part.
        lines: line of each entry; none of a JSON file.
    """

    source: Source
    first: int
    lines: list[int]


class _Inventory(Document):
    """An inventory with tables, whose errors name the file that is meant."""

    def __init__(
        self, source: Source, content: dict[str, Any], added: Mapping[str, _Added]
    ) -> None:
        self._added = added
        super().__init__(source, content, "hosts")

    def error(self, path: Place, reason: str) -> InstanceError:
        """Error about the value at `path`, in its own table."""
        table = self._added.get(str(path[0])) if len(path) > 1 else None
        place = -1 if table is None else int(path[1]) - table.first
        if table is None or place < 0:
            return super().error(path, reason)
        field = f"{spelled_path(path[2:])}: " if len(path) > 2 else ""
        if not table.lines:
            return table.source.error(f"{spelled_path((place, *path[2:]))}: {reason}")
        return table.source.error(f"{field}{reason}", table.lines[place])


def _rows(source: Source, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a table that has these columns."""
    if set(header(source)) != set(columns):
        raise source.error(f"the first line must be {','.join(columns)}", 1)
    return table_of(source)


def _padded(lists: list[list[str]]) -> Array:
    width = max(1, *map(len, lists))
    return np.array([names + [""] * (width - len(names)) for names in lists])


def host_names(instance: Instance) -> list[str]:
    """Names of the hosts of an instance."""
    names = instance.arrays.get("names")
    if names is not None:
        return [str(name) for name in names.tolist()]
    return [f"host{number + 1}" for number in range(instance.size)]


def matches(source: Source) -> bool:
    """A JSON object that says so."""
    return declares(source, NAME)


def read(source: Source) -> Hosts:
    """The hosts of a file."""
    return Hosts(Document(source, json_value(source), "hosts"))


def write(instance: Instance) -> str:
    """The hosts as JSON."""
    content: dict[str, Any] = {"format": NAME, "version": VERSION, "name": instance.name}
    names = host_names(instance)
    if "start" in instance.params:
        content["start"] = names[int(instance.params["start"])]
    if "vigilance" in instance.params:
        content["vigilance"] = float(instance.params["vigilance"])
    content["chances"] = {
        name: float(instance.params[f"p_{name}"]) for name in (*CHANCES, "data_present")
    }
    words = catalogue_of(instance)
    if instance.params.get(OWN):
        content["catalogue"] = [dict(entry) for entry in instance.params[OWN]]
    if "reach" in instance.arrays:
        services = {v.id: v.service for v in words.vulnerabilities}
        found = np.argwhere(instance.array("reach")).tolist()
        vulns = instance.array("vulns").tolist()
        rules = dict.fromkeys((s, t, services[vulns[t][k]]) for s, t, k in found if vulns[t][k])
        content["reachability"] = [
            {"source": names[s], "target": names[t], "service": service} for s, t, service in rules
        ]
    content["hosts"] = [
        {
            "name": name,
            "services": [word for word in services if word],
            "vulnerabilities": [word for word in vulns if word],
            "data": bool(data),
        }
        for name, services, vulns, data in zip(
            names,
            instance.array("services").tolist(),
            instance.array("vulns").tolist(),
            instance.array("data").tolist(),
            strict=True,
        )
    ]
    return readable_json(content).decode()


FORMAT = Format(
    name="hosts",
    summary="an inventory of hosts as JSON",
    problems=("cyber-path",),
    matches=matches,
    read=read,
    write=write,
    suffixes=(".json",),
)
