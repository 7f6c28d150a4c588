"""The command `generate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.data.info import print_description
from lagco.cli.options import SEED, Problem, Seed, Workers, kept, whole_number, whole_numbers
from lagco.cli.output import AsJson
from lagco.errors import UsageError


def generate(
    problem: Problem,
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    n: Annotated[
        int | None,
        typer.Option(
            "-n",
            help="Number of instances. Default: 101.",
            parser=whole_number,
            metavar="<int>",
        ),
    ] = None,
    seed: Seed = SEED,
    sizes: Annotated[
        str | None,
        typer.Option(
            help="Size of the instances: one (20), several in turn (20,50) or a range (10-20). "
            "Default: the paper's range."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="For a Gymnasium environment: the seeds of reset(), such as 0-99 or 1,5,7."
        ),
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            help="Reference values to compute: sweeps, solver, both or none. Default: all that "
            "the problem offers."
        ),
    ] = None,
    sweeps: Annotated[
        int | None, typer.Option(help="Number of sweeps. Default: the paper's number.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="Option of the problem's generator, or of an environment's reset(), as "
            "NAME=VALUE. Can be repeated."
        ),
    ] = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Generate a data set of random instances with references."""
    import lagco

    with kept(lambda: _finished(out)):
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
    print_description(out, as_json)


def _finished(out: Path) -> str:
    """What an interrupted run has left."""
    if next(out.glob("*.npz"), None) is None:
        return "no instance was finished"
    return f"finished instances are kept in {out}; the same command continues"


def _parsed(options: list[str]) -> dict[str, Any]:
    """Options given as NAME=VALUE; a value that is not JSON is text."""
    parsed: dict[str, Any] = {}
    for entry in options:
        name, equals, value = entry.partition("=")
        if not equals:
            raise UsageError(f"--option {entry}: has no value; write --option {entry}=VALUE")
        try:
            parsed[name] = json.loads(value)
        except ValueError:
            parsed[name] = value
    return parsed
