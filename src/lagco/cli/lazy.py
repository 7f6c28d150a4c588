"""Groups of commands that are imported when they are called, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lagco.cli.options import CONTEXT
from lagco.errors import UnknownName, suggest
from lagco.runtime.stopping import exit_code, interruption


def lazy_group(noun: str, about: Mapping[str, str], load: Callable[[str], Any]) -> type[TyperGroup]:
    """Class of a group that knows a sentence about each of its commands.

    Args:
        noun: what messages call one of them.
        about: sentences by name, in the order of help.
        load: from a name to the command.
    """

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(about)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in about:
                raise UnknownName(suggest(noun, cmd_name, about))
            if ctx is not None and ctx.params.get("listed"):
                return TyperCommand(cmd_name, help=about[cmd_name])
            return load(cmd_name)

        def make_context(self, *args: Any, **extra: Any) -> Any:
            with _ended_by_signals():
                return super().make_context(*args, **extra)

        def invoke(self, ctx: Any) -> Any:
            with _ended_by_signals():
                return super().invoke(ctx)

        def format_help(self, ctx: Any, formatter: Any) -> None:
            ctx.params["listed"] = True
            simplify_types(self)
            super().format_help(ctx, formatter)

    return LazyGroup


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """End with the exit code that shells give to a signal, instead of Typer's for all of them."""
    try:
        yield
    except (KeyboardInterrupt, SystemError) as error:
        interrupted = interruption(error)
        if interrupted is None:
            raise
        typer.echo("stopped", err=True)
        raise typer.Exit(exit_code(interrupted)) from None


def command_of(made: typer.Typer) -> Any:
    """The command that a Typer makes, with simple types in its help."""
    command = typer.main.get_command(made)
    simplify_types(command)
    return command


def single_command(name: str, function: Callable[..., Any]) -> Any:
    """The command of one function."""
    made = typer.Typer(add_completion=False)
    made.command(name, context_settings=CONTEXT)(function)
    return command_of(made)


def simplify_types(command: Any) -> None:
    """Show no type for flags in help, and the type of one entry for repeatable options."""
    context = typer.Context(command, **CONTEXT)
    for parameter in command.get_params(context):
        if parameter.param_type_name != "option" or parameter.metavar is not None:
            continue
        if parameter.is_flag:
            parameter.metavar = ""
        elif parameter.multiple:
            parameter.metavar = "<str>"
    for below in getattr(command, "commands", {}).values():
        simplify_types(below)
