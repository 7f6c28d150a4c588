"""The command `live`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lagco.cli.declared import declare_command
from lagco.cli.options import kept
from lagco.cli.output import AsJson, print_json, print_table, refused_by_reader
from lagco.live.options import LiveOptions
from lagco.results.numbers import of_things

if TYPE_CHECKING:
    from lagco.live import LiveResult

#: columns of the table: field of a row, heading
_COLUMNS = {
    "by": "controller",
    "mean": "mean",
    "p95": "95 %",
    "regret": "regret %",
    "overloads": "overloads",
    "unserved": "unserved %",
    "changes": "changes",
    "late": "late",
    "refused": "refused",
    "milliseconds": "ms",
    "slowest": "ms, 95 %",
}


def live(
    file: Annotated[
        Path,
        typer.Argument(
            help="A timeline (….jsonl), or an instance file with --series or --synthetic."
        ),
    ],
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Replay a timeline: controllers decide while the instance changes."""
    options = {name: value for name, value in given.items() if value is not None}
    LiveOptions(**options)  # refuses what does not fit together
    from lagco.live.command import live as replay

    out = options.get("out")
    with ExitStack() as ending:
        if out is not None:
            ending.enter_context(kept(lambda: f"decisions are in {out}; the same command goes on"))
        result = replay(file, **options)
    unread = refused_by_reader(lambda: _print(result, as_json))
    if unread is not None:
        raise unread
    if out is not None and not as_json:
        typer.echo(f"records, table and picture of the day written to {out}")


declare_command(live, LiveOptions)


def _print(result: LiveResult, as_json: bool) -> None:
    rows = result.rows()
    if as_json:
        print_json({"settings": dict(result.settings), "table": rows, "notes": list(result.notes)})
        return
    decisions = of_things(max((row["decisions"] for row in rows), default=0), "decisions")
    title = f"{result.settings['problem']} on {result.settings['timeline']}, {decisions} each"
    print_table(title, _COLUMNS.values(), [[row[name] for name in _COLUMNS] for row in rows])
    for note in result.notes:
        typer.echo(f"note: {note}")
