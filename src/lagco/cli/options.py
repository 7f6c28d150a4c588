"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Problem = Annotated[str, typer.Argument(help="Name of a problem, or module:Class.")]
Data = Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")]
Features = Annotated[str, typer.Option(help="Feature set: full or paper.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
