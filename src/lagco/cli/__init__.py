"""The command line: one thin command per verb, each a function of :mod:`lagco`."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from lagco.cli.lazy import command_of, lazy_group, single_command
from lagco.cli.options import CONTEXT
from lagco.cli.syntax import in_command_syntax
from lagco.errors import LagcoError, readable
from lagco.runtime.stopping import signals_interrupt
from lagco.runtime.user_modules import look_in

#: commands in the order of --help, and what they do; each is a module of a folder of this package
COMMANDS = {
    "solve": "Solve an instance file, or a folder of them, within a time limit.",
    "live": "Replay a timeline: controllers decide while the instance changes.",
    "serve": "Serve decisions on live instances over HTTP, with a page.",
    "sample": "Write an instance that comes with lagco to a file.",
    "generate": "Generate a data set of random instances with references.",
    "train": "Train an agent, or resume a run.",
    "evaluate": "Evaluate agents and plain policies on a data set.",
    "info": "Describe and verify a file or folder written by lagco, or an instance file.",
    "problems": "List the problems.",
    "agents": "List the agents that come with lagco.",
    "study": "Run the paper's experiments.",
    "report": "Write the report of a study as one HTML page.",
    "check": "Check the declaration of a problem.",
    "pretrain": "Pre-train the graph encoder of a problem.",
    "embed": "Measure and draw the action space of a problem.",
    "demonstrate": "Record a teacher's decisions as a data set.",
    "render": "Draw an agent at work, as an animation or a picture.",
    "warm": "Compile the numerical code that solve uses, ahead of time.",
    "bench": "Measure speed.",
}
#: commands by folder
FOLDERS = {
    "answers": ("solve", "live", "serve", "evaluate", "render", "warm"),
    "data": ("sample", "generate", "info", "problems", "check", "demonstrate"),
    "training": ("train", "agents", "pretrain", "embed"),
    "studies": ("study", "report", "bench"),
}


def load_command(name: str) -> Any:
    """The command of a module: its function of that name, or its group."""
    folder = next(folder for folder, names in FOLDERS.items() if name in names)
    module = import_module(f"lagco.cli.{folder}.{name}")
    group = getattr(module, "group", None)
    return single_command(name, getattr(module, name)) if group is None else command_of(group)


app = typer.Typer(
    name="lagco",
    cls=lazy_group("command", COMMANDS, load_command),
    help="Reinforcement learning on graph combinatorial optimisation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from lagco import __version__

        typer.echo(f"lagco {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("-q", "--quiet", help="Print only results and errors.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Print errors with their tracebacks.")
    ] = False,
    no_progress: Annotated[
        bool, typer.Option("--no-progress", help="Show no progress bars or progress lines.")
    ] = False,
) -> None:
    """Reinforcement learning on graph combinatorial optimisation."""
    global _verbose
    _verbose = verbose
    if quiet or no_progress:
        from lagco.runtime.progress import silence

        silence()


_verbose = False


def main() -> None:
    """Entry point of the command ``lagco``."""
    look_in(os.getcwd())
    atexit.register(gc.freeze)  # looking for cycles at the end would take 0.4 s in compiled code
    try:
        with signals_interrupt():
            app()
    except (LagcoError, OSError) as error:
        if _verbose:
            raise
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename2 or error.filename}: {error.strerror}"
        _fail(text)
    except Exception as error:
        from lagco.problems import user_line

        where = user_line(error)
        if where is None or _verbose:  # not in the user's own code: the whole traceback says more
            raise
        _fail(f"{where}; mend it there, then try lagco check")


def _fail(text: str) -> NoReturn:
    called = next((word for word in sys.argv[1:] if word in COMMANDS), None)
    if called is not None:
        text = in_command_syntax(text, load_command(called), sys.argv[1:])
    coloured = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    error = "\x1b[31merror:\x1b[0m" if coloured else "error:"
    typer.echo(f"{error} {readable(text)}", err=True)
    sys.exit(1)
