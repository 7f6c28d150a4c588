"""The command `report`: the page of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of a study, or its exported file.")
    ],
    out: Annotated[Path, typer.Option(help="The page; tables go beside it.")] = Path("report.html"),
    episodes: Annotated[bool, typer.Option(help="Draw episodes of trained agents.")] = True,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            help="module:Class whose episodes to draw, if it is not one of lagco's.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the page of a study, with its tables as LaTeX and CSV beside it."""
    from lagco.report import build

    page = build(folder, out, problems=problem or (), episodes=episodes)
    tables = page.with_suffix(".tables")
    size = page.stat().st_size / 1e6
    typer.echo(f"{page} ({size:.1f} MB), tables in {tables}")
