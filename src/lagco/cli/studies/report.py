"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import PROBLEM


def report(
    folder: Annotated[
        Path, typer.Argument(help="Folder of a study or of a replay, or an exported study.")
    ],
    out: Annotated[
        Path, typer.Option(help="HTML file to write; its tables go to a folder next to it.")
    ] = Path("report.html"),
    episodes: Annotated[
        bool, typer.Option(help="Draw an episode of the best agent of each problem.")
    ] = True,
    problem: Annotated[
        list[str] | None,
        typer.Option(
            help=f"{PROBLEM}, to draw the episodes of one that is not part of lagco. Can be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the report of a study or a replay as one HTML page, and its tables as LaTeX and CSV."""
    from lagco.report import build

    page = build(folder, out, problems=problem or (), episodes=episodes)
    tables = page.with_suffix(".tables")
    size = page.stat().st_size / 1e6
    typer.echo(f"{page} ({size:.1f} MB), tables in {tables}")
