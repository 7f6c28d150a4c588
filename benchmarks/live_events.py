"""Time of events on a network: a matrix, one demand, a link that fails, with what follows.

    python -m benchmarks.live_events [--instances FOLDER] [--out FILE]

On germany50 (50 nodes, 88 links) with the demands of all its days. Medians of processor time in
microseconds: of the instance (`after`), of the state of live agents (`moves`), of a running
environment with all features (`environment`), and of that with the embeddings of the default agent
(`encoded`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.live_traffic import EVENTS, FOLDER, SERIES
from lagco.agents.shipped import default_agent
from lagco.core.events import Event
from lagco.instances import Instance, read
from lagco.instances.timelines import read_series
from lagco.live.contract import Update, followed, live_instance
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread
from lagco.store import readable_json, write_atomically

REPEATS = 60


def measured(problem: str, folder: Path) -> dict[str, dict[str, float]]:
    """Medians by event and by what has followed it."""
    cls = problem_class(problem)
    instance = live_instance(cls, read(folder / "germany50.xml", problem), None)
    matrices = [m.event for m in read_series(folder / SERIES["germany50"][0], instance)]
    for event in matrices:  # so that all demands are there
        instance = followed(cls, instance, Update(0, None, (event,), 0))
    source, target = instance.array("demands")[:, 5]
    names = instance.array("names")
    ends = {"source": str(names[source]), "target": str(names[target])}
    demands = [Event("demand", volume=volume, **ends) for volume in (5.0, 6.0, 7.0)]
    found = {}
    for kind, events in (("matrix", matrices), ("demand", demands)):
        env = cls(instance, start="current")
        env.reset(seed=0)
        actor: Any = default_agent(problem).actor(env)
        moves: Any = cls.moves()
        changed = [instance]

        def after(event: Event, changed: list[Instance] = changed) -> None:
            changed[0] = cls.after(changed[0], event).instance

        def encoded(event: Event, env: Any = env, actor: Any = actor) -> None:
            env.apply(event)
            actor.observe()

        def look(_: Event, moves: Any = moves, changed: list[Instance] = changed) -> None:
            moves.begin(changed[0])

        found[kind] = {
            "after": _median(after, events),
            "moves": _median(look, events, before=after),
            "environment": _median(env.apply, events),
            "encoded": _median(encoded, events),
        }
    return found


def _median(
    call: Callable[[Event], Any],
    events: list[Event],
    before: Callable[[Event], Any] | None = None,
) -> float:
    """Microseconds of a call, on one event after the other."""
    times = []
    for event, _ in zip(cycle(events), range(REPEATS), strict=False):
        if before is not None:
            before(event)
        began = time.process_time()
        call(event)
        times.append(time.process_time() - began)
    return 1e6 * float(np.median(times[len(events) :]))


@one_thread()
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=Path, default=FOLDER)
    parser.add_argument("--out", type=Path, default=EVENTS)
    arguments = parser.parse_args()
    found = {problem: measured(problem, arguments.instances) for problem in ("ospf", "traffic")}
    write_atomically(arguments.out, readable_json(found))
    for problem, kinds in found.items():
        for kind, row in kinds.items():
            print(problem, kind, *(f"{name} {value:.0f} us" for name, value in row.items()))


if __name__ == "__main__":
    main()
