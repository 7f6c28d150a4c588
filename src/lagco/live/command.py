"""The function `live`: replay a timeline under several controllers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from lagco.core.problem import Problem
from lagco.errors import UsageError, suggest
from lagco.instances import Instance, read
from lagco.instances.timelines import Timeline, read_series, read_timeline, read_vm_trace
from lagco.instances.timelines.timeline import SUFFIX
from lagco.live.options import LiveOptions
from lagco.live.records import NOTES
from lagco.live.replay import Decision, replay
from lagco.live.result import LiveResult
from lagco.problems import problem_class, registered_class
from lagco.runtime.declared import declare_options
from lagco.runtime.stopping import stopping
from lagco.store import write_atomically

TABLE, PICTURE = "table.csv", "day.png"


def live(
    source: Instance | Timeline | str | Path,
    *,
    on_decision: Callable[[Decision], Any] | None = None,
    progress: bool = True,
    **options: Any,
) -> LiveResult:
    """Replay a timeline: controllers decide after every event, each from its own last state.

    A decision is put in force only where it keeps to all limits and is better than to change
    nothing, both judged from scratch. An answer after the deadline counts as no change, and is
    counted.

    Args:
        source: a timeline or its file (``….jsonl``), or an instance or its file together with
            `series` or `synthetic`.
        on_decision: called with every decision.
        progress: whether to show how it goes.
        options: see :class:`lagco.live.LiveOptions`.
    """
    chosen = _chosen(options)
    cls, timeline = _problem_and_timeline(source, chosen)
    with stopping():
        result = replay(cls, timeline, chosen, on_decision, progress)
    if chosen.out is not None:
        write_files(result, Path(chosen.out))
    return result


declare_options(live, LiveOptions)


def write_files(result: LiveResult, folder: Path) -> None:
    """Write the table, the picture and the notes of a replay into its folder."""
    text = io.StringIO()
    rows = result.rows()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(folder / TABLE, text.getvalue().encode())
    result.draw(folder / PICTURE)
    if result.notes:
        write_atomically(folder / NOTES, "".join(f"{note}\n" for note in result.notes).encode())


def _chosen(options: Mapping[str, Any]) -> LiveOptions:
    known = [field.name for field in fields(LiveOptions)]
    for name in options:
        if name not in known:
            raise UsageError(suggest("option", name, known))
    return LiveOptions(**options)


def _problem_and_timeline(source: Any, options: LiveOptions) -> tuple[type[Problem], Timeline]:
    given = None if options.problem is None else problem_class(options.problem)
    if isinstance(source, str | Path) and Path(source).suffix == SUFFIX:
        source = read_timeline(source, given)
    if isinstance(source, Timeline):
        for name in ("series", "synthetic"):
            more = getattr(options, name)
            if more is not None:
                raise UsageError(f"{name}={str(more)!r}: the source is a timeline")
        cls = given or registered_class(source.problem, source.name)
        return cls, source
    instance = source
    if not isinstance(source, Instance):
        instance = read(source, None if given is None else given.name)
    cls = given or registered_class(instance.problem, instance.name)
    if options.series is not None and instance.problem == "placement":
        return cls, read_vm_trace(options.series, instance)
    if options.series is not None:
        return cls, read_series(options.series, instance, holes=options.holes)
    if options.synthetic is not None:
        return cls, cls.draw_timeline(instance, seed=options.seed, until=options.synthetic)
    raise UsageError(
        f"{instance.name!r} is an instance, and nothing says what happens to it: give series=, "
        "synthetic= (seconds), or a timeline (….jsonl) instead"
    )
