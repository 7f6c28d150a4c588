"""Options that several commands share, and how numbers are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from lagco.errors import UsageError

#: exit code of a command that was stopped by Ctrl-C
INTERRUPTED = 130
#: settings of every command
CONTEXT = {"help_option_names": ["-h", "--help"]}


def whole_number(given: str | int) -> int:
    """A whole number, also as 1e5 or 100_000."""
    try:
        number = float(str(given).replace("_", ""))
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise typer.BadParameter(f"{given!r} is no whole number, such as 5000 or 1e5")
    return int(number)


def whole_numbers(name: str, text: str) -> list[int]:
    """Numbers from 0, as 1,5,7 or 0-99 or both; 1e5 is one too."""
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.partition("-")
            first = whole_number(low)
            found += range(first, whole_number(high) + 1) if dash else [first]
    except typer.BadParameter:
        found = []
    if not found:
        raise UsageError(f"{name}={text!r}: give whole numbers from 0, such as 0-99 or 1,5,7")
    return found


@contextmanager
def kept(what: str) -> Iterator[None]:
    """Says on Ctrl-C what was kept and how to go on, and ends the command."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"stopped: {what}", err=True)
        raise typer.Exit(INTERRUPTED) from None


def names(text: str) -> list[str]:
    """Names with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def whole(help: str) -> typer.models.OptionInfo:
    """An option for a whole number."""
    found: typer.models.OptionInfo = typer.Option(help=help, parser=whole_number, metavar="INTEGER")
    return found


Problem = Annotated[str, typer.Argument(help="Name of a problem, or module:Class.")]
OtherProblem = Annotated[
    str | None, typer.Option(help="module:Class, if the problem is not one of lagco's.")
]
Data = Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")]
Features = Annotated[str, typer.Option(help="Feature set: full or paper.")]
Side = Annotated[float, typer.Option(help="Side of a picture, in inches.")]
Dpi = Annotated[float, typer.Option(help="Dots per inch of a picture.")]
Seed = Annotated[int, whole("Seed of everything random.")]
Decoder = Annotated[
    str | None,
    typer.Option(
        help="How points become actions: nearest, sampled, rule:module:function, scored, preview "
        "or ranked; the agent's own by default."
    ),
]
Neighbours = Annotated[int, typer.Option("--k", help="Nearest actions the decoder sees.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
Encoder = Annotated[
    Path | None, typer.Option(help="Folder of an encoder; pre-trained on the data without.")
]
Workers = Annotated[int | None, typer.Option(help="Processes; one per core by default.")]
