"""The command `generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import json_mapping, whole_numbers
from lagco.cli.output import AsJson, print_facts, print_json


def generate(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or module:Class.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    n: Annotated[
        int | None, typer.Option("-n", help="Number of instances; 101 by default.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the data set.")] = 42,
    sizes: Annotated[
        str | None,
        typer.Option(help="One size, several in turn as 20,50, or a range as 10-20."),
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds of an environment's reset(), such as 0-99 or 1,5,7.")
    ] = None,
    options: Annotated[
        str | None, typer.Option(help="Options of an environment's reset(), as JSON.")
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(help="sweeps, solver, both or none; by default those that the problem has."),
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Number of sweeps; the paper's by default.")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; one per core by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Generate a data set of random instances with references."""
    import lagco

    lagco.generate(
        problem,
        n,
        seed=seed,
        out=out,
        sizes=sizes,
        seeds=None if seeds is None else whole_numbers("seeds", seeds),
        options=None if options is None else json_mapping("options", options),
        references=references,
        sweeps=sweeps,
        workers=workers,
        progress=not as_json,
    )
    described = lagco.info(out)
    print_json(described) if as_json else print_facts(described)
