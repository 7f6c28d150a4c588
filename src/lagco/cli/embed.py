"""The command `embed`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import Data, Encoder, Features, Problem, Seed
from lagco.cli.output import AsJson, print_result


def embed(
    problem: Problem,
    data: Data,
    encoder: Encoder = None,
    plot: Annotated[Path | None, typer.Option(help="Picture to write (png, svg, pdf).")] = None,
    features: Features = "full",
    instances: Annotated[int, typer.Option(help="Instances to measure.")] = 20,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure how crowded the action space of a problem is (cmp@k), and draw it."""
    import lagco

    found = lagco.embed(
        problem,
        data,
        encoder,
        plot=plot,
        features=features,
        instances=instances,
        seed=seed,
    )
    print_result(found, as_json)
