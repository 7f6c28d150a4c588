"""The command `render`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import Dpi, Problem, Seed, Side
from lagco.cli.output import AsJson, print_facts, print_json


def render(
    problem: Problem,
    out: Annotated[
        Path, typer.Option(help="File: gif or webp for an animation, png, svg, pdf for a picture.")
    ],
    agent: Annotated[
        str,
        typer.Option(help="Folder of an agent, default (the one lagco brings), greedy, random."),
    ] = "default",
    data: Annotated[
        Path | None, typer.Option(help="Instance file or folder of a data set; the first is shown.")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Size of the instance that is generated without data.")
    ] = None,
    seed: Seed = 42,
    frames: Annotated[int, typer.Option(help="Frames of an animation at most.")] = 40,
    fps: Annotated[float, typer.Option(help="Frames per second.")] = 4.0,
    side: Side = 4.0,
    dpi: Dpi = 128,
    as_json: AsJson = False,
) -> None:
    """Draw an agent at work: an animation of its decisions, or a picture of what it achieved."""
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
