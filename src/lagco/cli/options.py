"""Options that several commands share, and number parsing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.errors import UsageError
from lagco.runtime.stopping import exit_code, interruption

#: settings of every command
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
#: default seed of every command and function that takes one
SEED = 42


def whole_number(given: str | int) -> int:
    """A whole number, also as 1e5 or 100_000."""
    try:
        number = float(str(given).replace("_", ""))
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise typer.BadParameter(f"{given!r} is not a whole number such as 5000 or 1e5")
    return int(number)


def whole_numbers(name: str, text: str) -> list[int]:
    """Whole numbers from a list (1,5,7), a range (0-99) or a mix of both; 1e5 counts as one."""
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
def kept(what: Callable[[], str]) -> Iterator[None]:
    """On Ctrl-C and the like, say what was kept and how to continue, and end the command."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        interrupted = interruption(error)
        if interrupted is None:
            raise
        typer.echo(f"stopped: {what()}", err=True)
        raise typer.Exit(exit_code(interrupted)) from None


def names(text: str) -> list[str]:
    """The names in a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def whole(help: str) -> typer.models.OptionInfo:
    """An option for a whole number."""
    found: typer.models.OptionInfo = typer.Option(help=help, parser=whole_number, metavar="<int>")
    return found


#: beginning of the help of every argument and option that takes a problem
PROBLEM = "Name of a problem, or module:Class"
Problem = Annotated[str, typer.Argument(help=f"{PROBLEM}.")]
OtherProblem = Annotated[
    str | None,
    typer.Option(
        help=f"{PROBLEM}. Needed if the data could mean several, or an own problem.",
    ),
]
Data = Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")]
Features = Annotated[str, typer.Option(help="Feature set: full, paper, budget or unplanned.")]
Side = Annotated[float, typer.Option(help="Width of the picture in inches.")]
Dpi = Annotated[float, typer.Option(help="Resolution of the picture in dots per inch.")]
Seed = Annotated[int, whole("Random seed.")]
Decoder = Annotated[
    str | None,
    typer.Option(
        help="How the agent's points are decoded to actions: nearest, sampled, preview, scored, "
        "ranked or rule:module:function. Default: as the agent was trained."
    ),
]
Neighbours = Annotated[
    int, typer.Option("--k", help="Number of nearest actions the decoder chooses from.")
]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
Encoder = Annotated[
    Path | None,
    typer.Option(help="Folder of a pre-trained encoder. Default: pre-train one on the data."),
]
Workers = Annotated[int | None, typer.Option(help="Number of processes. Default: one per core.")]
