"""The command `render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import SEED, Dpi, Problem, Seed, Side
from lagco.cli.output import AsJson, print_facts, print_json


def render(
    problem: Problem,
    out: Annotated[
        Path,
        typer.Option(
            help="File to write: gif or webp for an animation; png, svg or pdf for a picture."
        ),
    ],
    agent: Annotated[
        str,
        typer.Option(
            help="Folder of an agent, default (the one that comes with lagco), greedy or random."
        ),
    ] = "default",
    data: Annotated[
        Path | None,
        typer.Option(
            help="Instance file, or folder of a data set, whose first instance is drawn. Default: "
            "a random instance."
        ),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Size of the random instance, if no --data is given.")
    ] = None,
    seed: Seed = SEED,
    frames: Annotated[int, typer.Option(help="Largest number of frames.")] = 40,
    fps: Annotated[float, typer.Option(help="Frames per second.")] = 4.0,
    side: Side = 4.0,
    dpi: Dpi = 128,
    as_json: AsJson = False,
) -> None:
    """Draw an agent at work, as an animation of its decisions or a picture of its solution."""
    import lagco

    found = lagco.render(
        problem,
        out,
        agent=agent,
        data=data,
        size=size,
        seed=seed,
        frames=frames,
        fps=fps,
        side=side,
        dpi=dpi,
    )
    print_json(found) if as_json else print_facts(found)
