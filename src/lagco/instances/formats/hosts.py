"""An inventory of hosts for `cyber-path`, as JSON (``schemas/hosts.schema.json``).

Services and vulnerabilities are those of the problem's catalogue; a host runs the services that it
lists and those of its vulnerabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import suggest
from lagco.instances.formats.document import VERSION, Document, declares, json_value
from lagco.instances.formats.format import Format, origin
from lagco.instances.formats.source import Source, clean
from lagco.instances.instance import Instance
from lagco.store import readable_json

if TYPE_CHECKING:
    from lagco.problems.cyber_path.catalogue import Catalogue


NAME = "lagco-hosts"
#: chances where a file says nothing: the middle of the generator's ranges
CHANCES = {"recon": 0.3, "feature_visible": 0.6, "detection": 0.1}


def catalogue() -> Catalogue:
    """The words in which an inventory is written."""
    from lagco.problems.cyber_path.catalogue import load_catalogue

    return load_catalogue()


@dataclass
class Hosts:
    """A checked inventory, as instances of `cyber-path`."""

    document: Document

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `cyber-path`."""
        document, content = self.document, self.document.content
        hosts = content["hosts"]
        index = document.index("hosts")
        words = catalogue()
        running: list[list[str]] = []
        for position, host in enumerate(hosts):
            self._refuse_unknown(position, "services", words.service_index)
            self._refuse_unknown(position, "vulnerabilities", words.vulnerability_index)
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
        return Instance(
            problem=problem,
            name=clean(content.get("name", "")) or source.name,
            size=len(hosts),
            arrays={
                "vulns": _padded(vulns),
                "services": _padded(running),
                "data": data,
                "names": np.array(list(index)),
            },
            params=params,
            origin=origin(source, "hosts", []),
        )

    def _refuse_unknown(self, position: int, field: str, known: dict[str, int]) -> None:
        for place, name in enumerate(self.document.content["hosts"][position].get(field, ())):
            if name not in known:
                kind = "service" if field == "services" else "vulnerability"
                path = ("hosts", position, field, place)
                raise self.document.error(path, suggest(kind, clean(name, 40), known))


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
