"""The command `warm`."""

from __future__ import annotations

from typing import Annotated

import typer


def warm(
    problems: Annotated[
        list[str] | None, typer.Argument(help="Names of problems. Default: all.")
    ] = None,
) -> None:
    """Compile the numerical code that `solve` uses, so that the first call does not wait for it."""
    from lagco.solving.warming import warm as warm_problems

    for name in warm_problems(problems or None):
        typer.echo(f"{name}: ready")
