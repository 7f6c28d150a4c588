"""Events of `cyber-path`: hosts that are patched, come, or are cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Draft, Event, EventType, listed, text, whole
from lagco.instances import Instance
from lagco.instances.formats.hosts import host_names
from lagco.instances.own_catalogue import catalogue_of
from lagco.problems.cyber_path.network import REACH, read_network
from lagco.problems.cyber_path.patches.patching import without
from lagco.problems.cyber_path.reachability import Replay
from lagco.store import shown

#: as the vulnerability of a step: nothing was done, the attacker only is there
NOTHING = -1
_FEWEST = 2


def begun_at(host: int, steps: Array) -> Array:
    """Where an attack began and the steps taken since, as a start: (k + 1, 3)."""
    return np.concatenate([[[host, host, NOTHING]], steps]).astype(np.int64)


def _names(draft: Draft) -> list[str]:
    if "names" not in draft.arrays:
        draft.arrays["names"] = np.array(host_names(draft.before))
    return [str(name) for name in draft.arrays["names"].tolist()]


def _patch(draft: Draft, host: str, vulnerability: str) -> None:
    place = draft.named("host", host, _names(draft))
    closed = np.zeros(draft.arrays["vulns"].shape, dtype=bool)
    closed[place] = draft.arrays["vulns"][place] == vulnerability
    if not closed.any():
        listed_there = [name for name in draft.arrays["vulns"][place].tolist() if name]
        draft.named(f"vulnerability of {host}", vulnerability, listed_there)
    draft.arrays = without(draft.arrays, closed)


def _add_host(
    draft: Draft,
    host: str,
    vulnerabilities: Sequence[str],
    data: int | None,
    reaches: Sequence[str] | None,
    reached_from: Sequence[str] | None,
) -> None:
    names, words = _names(draft), catalogue_of(draft.before)
    if host in names:
        raise draft.error(f"there is a host {shown(host)} already")
    known = list(words.vulnerability_index)
    found = [words.vulnerabilities[draft.named("vulnerability", v, known)] for v in vulnerabilities]
    services = sorted({entry.service for entry in found})
    reach = draft.arrays.pop(REACH, None)
    for name, row in (("vulns", list(vulnerabilities)), ("services", services)):
        array = draft.arrays[name]
        width = max(array.shape[1], len(row))
        draft.arrays[name] = np.pad(array, ((0, 0), (0, width - array.shape[1])))
    draft.add(
        "size",
        vulns=_padded(vulnerabilities, draft.arrays["vulns"]),
        services=_padded(services, draft.arrays["services"]),
        data=data or 0,
        names=host,
    )
    if reach is not None:
        n, width = draft.arrays["vulns"].shape
        grown = np.zeros((n, n, width), dtype=np.int8)
        grown[: n - 1, : n - 1, : reach.shape[2]] = reach
        for other in reaches or ():
            grown[n - 1, draft.named("host", other, names)] = 1
        for other in reached_from or ():
            grown[draft.named("host", other, names), n - 1] = 1
        draft.arrays[REACH] = grown


def _padded(names: Sequence[str], array: Array) -> Array:
    return np.array([*names, *[""] * (array.shape[1] - len(names))])


def _cut_off(draft: Draft, host: str) -> None:
    names = _names(draft)
    place = draft.named("host", host, names)
    if draft.size <= _FEWEST:
        raise draft.error(f"{shown(host)} is one of the last two hosts, which have to stay")
    start = draft.params.get("start")
    if start == place:
        raise draft.error(f"{shown(host)} is where an attack begins")
    if start is not None:
        draft.params["start"] = start - (start > place)
    if draft.solution is not None:
        steps = np.asarray(draft.solution)
        if steps[0, 0] == place:
            raise draft.error(f"{shown(host)} is where the attack began")
        steps = steps[(steps[:, :2] != place).all(axis=1)]
        draft.solution = np.column_stack([steps[:, :2] - (steps[:, :2] > place), steps[:, 2]])
    draft.remove("size", [place])


def forget_impossible(draft: Draft) -> None:
    """Forget the steps of an attack that the network no longer allows, and what they led to."""
    if draft.solution is None:
        return
    steps = np.asarray(draft.solution)
    taken = Replay(read_network(draft.finish()), int(steps[0, 0]))
    kept = [step for step in steps[1:].tolist() if taken.take(*step) is None]
    draft.solution = begun_at(int(steps[0, 0]), np.array(kept, dtype=np.int64).reshape(-1, 3))


_RULE = "steps of the attack that this rules out are forgotten, and what is seen from none of them"
EVENTS = {
    "patched": EventType(
        f"a vulnerability is closed on a host; {_RULE}",
        _patch,
        {"host": text("its name"), "vulnerability": text("its id")},
    ),
    "host": EventType(
        f"a host comes; {_RULE}",
        _add_host,
        {
            "host": text("its name"),
            "vulnerabilities": listed("ids", text("id")),
            "data": whole("1 where there is data to take away", low=0, high=1, optional=True),
            "reaches": listed(
                "hosts whose services it reaches, where rules say so", text("name"), optional=True
            ),
            "reached_from": listed("hosts that reach its services", text("name"), optional=True),
        },
    ),
    "cut-off": EventType(
        f"a host is cut off from all others, and lost to the attacker; {_RULE}",
        _cut_off,
        {"host": text("its name")},
    ),
}


def draw_changes(
    instance: Instance, rng: np.random.Generator, step: float
) -> Iterator[tuple[float, Event]]:
    """Patches, hosts that come, and where it is known where an attack begins, hosts cut off."""
    hosts = {
        name: [word for word in row if word]
        for name, row in zip(host_names(instance), instance.array("vulns").tolist(), strict=True)
    }
    words, start = list(catalogue_of(instance).vulnerability_index), instance.params.get("start")
    safe = None if start is None else host_names(instance)[start]
    fewest, number, time = max(3, instance.size // 2), instance.size, 0.0
    while True:
        time += float(rng.exponential(step))
        kind = rng.random()
        open_ = [name for name, row in hosts.items() if row]
        leaving = [name for name in hosts if name != safe]
        fields: dict[str, Any]
        if kind < 0.5 and len(open_) > fewest:
            host = open_[int(rng.integers(len(open_)))]
            gone = hosts[host].pop(int(rng.integers(len(hosts[host]))))
            yield time, Event("patched", host=host, vulnerability=gone)
        elif kind < 0.75 and safe is not None and len(hosts) > fewest:
            host = leaving[int(rng.integers(len(leaving)))]
            del hosts[host]
            yield time, Event("cut-off", host=host)
        else:
            number += 1
            chosen = rng.choice(len(words), size=3, replace=False).tolist()
            host, fields = f"new{number}", {}
            hosts[host] = [words[place] for place in chosen]
            if REACH in instance.arrays:
                other = list(hosts)[int(rng.integers(len(hosts) - 1))]
                fields = {"reaches": [other], "reached_from": [other]}
            yield time, Event("host", host=host, vulnerabilities=list(hosts[host]), **fields)
