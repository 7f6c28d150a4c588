"""The log replayed: every decision is made again, or weighed again, and compared bit by bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread
from lagco.serve.options import ServeOptions
from lagco.serve.storing.database import Database
from lagco.serve.storing.store import Entry, Reader, StoredInstance
from lagco.serve.working.instance_state import InstanceState, finite, written
from lagco.serve.working.uploads import instance_of

_PAGE = 1000


@dataclass
class Audit:
    """What came of replaying a log.

    Attributes:
        decided: decisions that were made again, by their turns.
        weighed: decisions that were weighed again, as their time cannot come back.
        differences: what came out otherwise, in sentences.
    """

    decided: int = 0
    weighed: int = 0
    differences: list[str] = field(default_factory=list)


@one_thread()
def audit(options: ServeOptions) -> Audit:
    """Replay the logs of all live instances of a store."""
    found = Audit()
    database = Database(options.store)
    database.make_tables()
    try:
        reader = Reader(database)
        for known in list(reader.instances()):
            _replay(reader, known, options, found)
    finally:
        database.close()
    return found


def _replay(reader: Reader, known: StoredInstance, options: ServeOptions, found: Audit) -> None:
    _, content = reader.snapshot(known.id, first=True)
    state = InstanceState(
        problem_class(known.about["problem"]), instance_of(content), options.agent
    )
    for entry in _entries(reader, known.id):
        body = json.loads(entry.body)
        if entry.kind == "decision" and not body["late"]:
            again = _again(state, body, found) | {"based_on": state.version}
            for name in ("based_on", "before", "after", "rows"):
                if again[name] != body[name]:
                    found.differences.append(
                        f"{known.id}, decision {entry.number}: {name} was {body[name]!r} and is "
                        f"{again[name]!r}"
                    )
        if entry.version is not None:
            state.follow(body)
            if state.summary()["objective"] != entry.objective:
                found.differences.append(f"{known.id}, version {entry.version}: other objective")


def _again(state: InstanceState, body: dict[str, Any], found: Audit) -> dict[str, Any]:
    """A decision made again, or weighed again."""
    if body["turns"] is not None:
        found.decided += 1
        return json.loads(json.dumps(state.decide(body)))
    found.weighed += 1
    solution = written(state.incumbent, body["rows"]) if body["rows"] else None
    outcome = state.weighed(solution, body["max_changes"])
    return {
        "before": finite(outcome.held.objective),
        "after": finite(outcome.after.objective),
        "rows": [[row, value] for row, value in outcome.rows],
    }


def _entries(reader: Reader, id: str) -> Iterator[Entry]:
    last = 0
    while page := reader.history(id, last, _PAGE):
        yield from page
        last = page[-1].seq
