"""An instance as arrays: everything that is true about the hosts, seen by nobody but the rules."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import ArrayForm, Instance, InstanceForm
from lagco.instances.own_catalogue import OWN, catalogue_of, stand_ins
from lagco.problems.cyber_path.catalogue.vectors import (
    load_vectors,
    local_flags,
    needed_flags,
    outcome_flags,
)

#: array (n, n, V): whether a source reaches the service of a target's vulnerability; all without
REACH = "reach"
#: what an instance holds
FORM = InstanceForm(
    arrays={
        "vulns": ArrayForm("text", ("size", None)),
        "services": ArrayForm("text", ("size", None)),
        "data": ArrayForm("integer", ("size",), low=0, below=2),
        "names": ArrayForm("text", ("size",), optional=True),
        REACH: ArrayForm("integer", ("size", "size", None), low=0, below=2, optional=True),
    },
    params={
        "properties": {
            "start": {"type": ["integer", "null"], "minimum": 0},
            OWN: {"type": "array", "items": {"type": "object"}},
        }
    },
    solution=ArrayForm("integer", (None, 3), low=0),
)
CHANCES = ("p_feature_visible", "p_recon", "p_detection", "p_data_present")
#: feature groups of a host, which become known one by one, and the arrays of each
GROUPS = ("services", "vulnerabilities", "data", "flags")
SERVICES, VULNERABILITIES, DATA, FLAGS = range(len(GROUPS))
GROUP_COLUMNS: tuple[tuple[str, ...], ...] = (
    ("num_services", "service_text"),
    ("num_vulns", "outcomes", "requirements", "local", "vulnerability_text"),
    ("data",),
    (),
)


@dataclass(frozen=True)
class Network:
    """The hosts of an instance.

    Attributes:
        size: number of hosts n.
        width: most vulnerabilities that a host has, V.
        vulns: int64 (n, V), positions in the catalogue; -1 beyond the last.
        counts: int32 (n,), vulnerabilities of each host.
        codes: int32 (n, V), outcomes, access and privilege (see `outcomes`); 0 beyond the last.
        data: int8 (n,), whether there is data to take away.
        services: positions in the catalogue, per host.
        stand_in: entry of the package's catalogue whose text each vulnerability has.
        reach: int8 (n, n, V), what sources reach; (0, 0, 0) where they reach everything.
        chances: the four probabilities of the instance.
        vigilance: what each trace adds to the chance of detection.
    """

    size: int
    width: int
    vulns: Array
    counts: Array
    codes: Array
    data: Array
    services: list[Array]
    stand_in: Array
    reach: Array
    chances: dict[str, float]
    vigilance: float


def read_network(instance: Instance) -> Network:
    """Check an instance and look its entries up in the catalogue.

    Raises:
        InstanceError: names the host, service, vulnerability or parameter that is wrong.
    """
    who = f"instance {instance.name!r}"
    n = instance.size
    catalogue = catalogue_of(instance)
    vuln_ids, service_ids, data = (instance.array(k) for k in ("vulns", "services", "data"))
    for name, array, ndim in (
        ("vulns", vuln_ids, 2),
        ("services", service_ids, 2),
        ("data", data, 1),
    ):
        if array.ndim != ndim or array.shape[0] != n:
            raise InstanceError(f"{who}: {name} has shape {array.shape}, one row per host is {n}")
    if n < 1 or vuln_ids.shape[1] < 1:
        raise InstanceError(f"{who}: needs at least one host and one vulnerability per host")
    if not np.isin(data, (0, 1)).all():
        raise InstanceError(f"{who}: data must be 0 or 1 for every host")
    vulns: Array = np.full(vuln_ids.shape, -1, dtype=np.int64)
    services = []
    for host in range(n):
        owner = f"{who}, host {host}"
        running = _lookup(owner, "service", service_ids[host], catalogue.service_index)
        found = _lookup(owner, "vulnerability", vuln_ids[host], catalogue.vulnerability_index)
        for vulnerability in found:
            if catalogue.service_of[vulnerability] not in running:
                entry = catalogue.vulnerabilities[vulnerability]
                raise InstanceError(
                    f"{owner}: has {entry.id!r}, but does not run its service {entry.service!r}"
                )
        vulns[host, : len(found)] = found
        services.append(np.array(running, dtype=np.int64))
    service_texts, stand_in = stand_ins(catalogue)
    reach = instance.arrays.get(REACH, np.zeros((0, 0, 0))).astype(np.int8)
    if reach.size and reach.shape[2] != vulns.shape[1]:
        raise InstanceError(
            f"{who}: reach has shape {reach.shape}, expected ({n}, {n}, {vulns.shape[1]})"
        )
    return Network(
        size=n,
        width=vulns.shape[1],
        vulns=vulns,
        counts=(vulns >= 0).sum(axis=1).astype(np.int32),
        codes=np.where(vulns >= 0, catalogue.codes[vulns], 0).astype(np.int32),
        data=data.astype(np.int8),
        services=[service_texts[running] for running in services],
        stand_in=stand_in,
        reach=reach,
        chances=_chances(who, instance),
        vigilance=_vigilance(who, instance),
    )


def _lookup(owner: str, kind: str, ids: Array, index: dict[str, int]) -> list[int]:
    listed = [str(entry) for entry in ids if entry != ""]
    for entry in listed:
        if entry not in index:
            close = difflib.get_close_matches(entry, index, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise InstanceError(f"{owner}: the catalogue has no {kind} {entry!r}{hint}")
    if len(set(listed)) < len(listed):
        raise InstanceError(f"{owner}: lists a {kind} twice")
    return [index[entry] for entry in listed]


def _chances(who: str, instance: Instance) -> dict[str, float]:
    chances = {}
    for name in CHANCES:
        value = instance.params.get(name)
        if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise InstanceError(f"{who}: {name} is {value!r}, it must be a number from 0 to 1")
        chances[name] = float(value)
    for name, only in (("goal", "control"), ("fully_connected", True)):
        if instance.params.get(name, only) != only:
            raise InstanceError(
                f"{who}: {name} is {instance.params[name]!r}, only {only!r} is implemented"
            )
    return chances


def _vigilance(who: str, instance: Instance) -> float:
    value = instance.params.get("vigilance", 0.0)
    if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise InstanceError(f"{who}: vigilance is {value!r}, it must be a number from 0 to 1")
    return float(value)


def host_columns(network: Network, features: str) -> dict[str, Array]:
    """What each host would show if everything of it were known: `GROUP_COLUMNS`, (n, ...) each."""
    n = network.size
    vectors = load_vectors(features)
    count = np.log1p if features == "full" else np.asarray
    there = network.vulns >= 0
    share = (there / np.maximum(network.counts, 1)[:, None]).astype(np.float32)
    codes = network.codes
    text = np.zeros((n, vectors.width), dtype=np.float32)
    for host, running in enumerate(network.services):
        if len(running):
            text[host] = vectors.services[running].mean(axis=0)
    columns = {
        "num_services": count([len(running) for running in network.services]),
        "service_text": text,
        "num_vulns": count(network.counts),
        "outcomes": np.einsum("hv,hvo->ho", share, outcome_flags(codes)),
        "requirements": np.einsum("hv,hvp->hp", share, needed_flags(codes)),
        "local": np.einsum("hv,hv->h", share, local_flags(codes)),
        "vulnerability_text": np.einsum(
            "hv,hvd->hd", share, vectors.vulnerabilities[network.stand_in[network.vulns]]
        ),
    }
    return {k: np.asarray(v, dtype=np.float32) for k, v in columns.items()} | {"data": network.data}
