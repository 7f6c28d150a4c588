"""The command `generate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.options import Problem, Seed, Workers, kept, whole_number, whole_numbers
from lagco.cli.output import AsJson, print_result
from lagco.errors import UsageError


def generate(
    problem: Problem,
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            help="Number of instances; 101 by default.",
            parser=whole_number,
            metavar="INTEGER",
        ),
    ] = None,
    seed: Seed = 42,
    sizes: Annotated[
        str | None,
        typer.Option(help="One size, several in turn as 20,50, or a range as 10-20."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds of an environment's reset(), such as 0-99 or 1,5,7.")
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(help="sweeps, solver, both or none; by default those that the problem has."),
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Number of sweeps; the paper's by default.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="Option of the problem's generator, or of an environment's reset(), as "
            "NAME=VALUE; may be repeated."
        ),
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Generate a data set of random instances with references."""
    import lagco

    with kept(f"finished instances are kept in {out}; the same command goes on from there"):
        lagco.generate(
            problem,
            n,
            seed=seed,
            out=out,
            sizes=sizes,
            seeds=None if seeds is None else whole_numbers("seeds", seeds),
            options=_parsed(option) if option else None,
            references=references,
            sweeps=sweeps,
            workers=workers,
            progress=not as_json,
        )
    print_result(lagco.info(out), as_json)


def _parsed(options: list[str]) -> dict[str, Any]:
    """Options given as name=value; values are read as JSON where they are, else as text."""
    parsed: dict[str, Any] = {}
    for entry in options:
        name, equals, value = entry.partition("=")
        if not equals:
            raise UsageError(f"--option {entry}: give a name and a value as {entry}=…")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed
