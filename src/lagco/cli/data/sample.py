"""The command `sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.output import AsJson, print_json, print_table


def sample(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a sample or problem. Without a name, all are listed."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File or folder to write to. Default: the current folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a sample instance that comes with lagco to a file."""
    import lagco
    from lagco.samples import SAMPLES, find_sample

    if name is None:
        if as_json:
            print_json([vars(entry) for entry in SAMPLES.values()])
            return
        rows = [(entry.name, entry.problem, entry.summary) for entry in SAMPLES.values()]
        print_table("samples", ("name", "problem", "what it is"), rows)
        typer.echo("lagco sample NAME writes one here")
        return
    path = lagco.sample(name, out)
    entry = find_sample(name)
    if as_json:
        print_json({**vars(entry), "path": str(path)})
        return
    typer.echo(f"{path}: {entry.summary}")
    typer.echo(f"try: lagco solve {path}{f' --problem {entry.problem}' if entry.named else ''}")
