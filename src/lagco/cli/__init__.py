"""The command line: one thin command per verb, each a function of :mod:`lagco`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import typer
from rich.console import Console

from lagco.cli import bench, report, study
from lagco.cli.check import check
from lagco.cli.demonstrate import demonstrate
from lagco.cli.embed import embed
from lagco.cli.evaluate import evaluate
from lagco.cli.generate import generate
from lagco.cli.info import info
from lagco.cli.pretrain import pretrain
from lagco.cli.problems import problems
from lagco.cli.render import render
from lagco.cli.solve import solve
from lagco.cli.syntax import in_command_syntax
from lagco.cli.train import train
from lagco.cli.warm import warm
from lagco.errors import LagcoError

app = typer.Typer(
    name="lagco",
    help="Reinforcement learning on graph combinatorial optimisation.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for command in (
    problems, generate, info, check, evaluate, pretrain, embed, demonstrate, train, solve, render,
    warm,
):  # fmt: skip
    app.command()(command)
bench.add_commands(app)
report.add_commands(app)
study.add_commands(app)


def main() -> None:
    """Entry point of the command ``lagco``."""
    if os.getcwd() not in sys.path:  # so that module:Class finds the user's own module
        sys.path.insert(0, os.getcwd())
    try:
        app()
    except (LagcoError, OSError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.filename2 or error.filename}: {error.strerror}"
        _fail(text)
    except Exception as error:
        from lagco.problems import user_line

        where = user_line(error)
        if where is None:  # not in the user's own code: the whole traceback says more
            raise
        _fail(f"{where}; mend it there, and try lagco check")


def _fail(text: str) -> NoReturn:
    text = in_command_syntax(text, typer.main.get_command(app), sys.argv[1:])
    Console(stderr=True, soft_wrap=True).print("[red]error:[/red]", end=" ")
    Console(stderr=True, soft_wrap=True, markup=False, highlight=False).print(text)
    sys.exit(1)
