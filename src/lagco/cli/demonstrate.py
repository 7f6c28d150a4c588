"""The command `demonstrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import Data, Features, Problem, Seed
from lagco.cli.output import AsJson, print_facts, print_json


def demonstrate(
    problem: Problem,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the demonstrations.")],
    teacher: Annotated[
        str, typer.Option(help="solver, search, greedy, or auto (the problem's own).")
    ] = "auto",
    episodes: Annotated[int, typer.Option(help="Episodes per instance.")] = 1,
    features: Features = "full",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Record a teacher's decisions as a data set for `train --teacher`."""
    import lagco
    from lagco.agents.demonstrations import KIND

    lagco.demonstrate(
        problem, data, out, teacher=teacher, episodes=episodes, features=features, seed=seed
    )
    found = KIND.read(out)
    described = {
        "kind": "demonstrations",
        **{name: found.content[name] for name in ("problem", "teacher", "seed", "features")},
        "instances": len(found.content["instances"]),
        "episodes": len(found.tensors["episodes"]),
        "states": len(found.tensors["choices"]) - 1,
        **found.measured,
        "sha256": found.checksum,
    }
    print_json(described) if as_json else print_facts(described)
