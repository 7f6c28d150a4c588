"""The command `embed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import SEED, Data, Dpi, Encoder, Features, Problem, Seed, Side
from lagco.cli.output import AsJson, print_result


def embed(
    problem: Problem,
    data: Data,
    encoder: Encoder = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help="Folder of an agent whose encoder to use, or default (the one that comes with "
            "lagco)."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a picture of the action space (png, svg, pdf).")
    ] = None,
    features: Features = "full",
    instances: Annotated[int, typer.Option(help="Largest number of instances to measure.")] = 20,
    seed: Seed = SEED,
    side: Side = 4.0,
    dpi: Dpi = 128,
    as_json: AsJson = False,
) -> None:
    """Measure how compact the action space of a problem is (cmp@k), and draw it."""
    import lagco

    found = lagco.embed(
        problem,
        data,
        encoder,
        agent=agent,
        plot=plot,
        features=features,
        instances=instances,
        seed=seed,
        progress=not as_json,
        side=side,
        dpi=dpi,
    )
    if not as_json:
        found |= found.pop("cmp")
    print_result(found, as_json)
