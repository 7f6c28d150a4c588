"""The command `info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.output import AsJson, print_facts, print_json


def info(
    path: Annotated[Path, typer.Argument(help="An instance file or the folder of a data set.")],
    as_json: AsJson = False,
) -> None:
    """Say what a file or folder is, and verify it."""
    import lagco

    described = lagco.info(path)
    print_json(described) if as_json else print_facts(described)
