"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.errors import UsageError

Problem = Annotated[str, typer.Argument(help="Name of a problem, or module:Class.")]
Data = Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")]
Features = Annotated[str, typer.Option(help="Feature set: full or paper.")]
Side = Annotated[float, typer.Option(help="Side of a picture, in inches.")]
Dpi = Annotated[float, typer.Option(help="Dots per inch of a picture.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]


def whole_numbers(name: str, text: str) -> list[int]:
    """Numbers from 0, as 1,5,7 or 0-99 or both."""
    found: list[int] = []
    try:
        for part in text.split(","):
            low, _, high = part.partition("-")
            found += range(int(low), int(high or low) + 1)
    except ValueError:
        found = []
    if not found:
        raise UsageError(f"{name}={text!r}: give whole numbers from 0, such as 0-99 or 1,5,7")
    return found
