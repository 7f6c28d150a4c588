"""The command `warm`."""

from __future__ import annotations

from typing import Annotated

import typer


def warm(
    problems: Annotated[
        list[str] | None, typer.Argument(help="Which problems; all without a name.")
    ] = None,
) -> None:
    """Compile what `solve` needs, so that the first answer is as good as later ones."""
    from lagco.solving.warming import warm as warm_problems

    for name in warm_problems(problems or None):
        typer.echo(f"{name}: ready")
