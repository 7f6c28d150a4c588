"""The command `demonstrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.data.info import print_description
from lagco.cli.options import SEED, Data, Features, Problem, Seed
from lagco.cli.output import AsJson


def demonstrate(
    problem: Problem,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the demonstrations.")],
    teacher: Annotated[
        str, typer.Option(help="solver, search, greedy, or auto (the problem's own).")
    ] = "auto",
    episodes: Annotated[int, typer.Option(help="Episodes per instance.")] = 1,
    features: Features = "full",
    seed: Seed = SEED,
    as_json: AsJson = False,
) -> None:
    """Record a teacher's decisions as a data set for `train --teacher`."""
    import lagco

    lagco.demonstrate(
        problem, data, out, teacher=teacher, episodes=episodes, features=features, seed=seed
    )
    print_description(out, as_json)
