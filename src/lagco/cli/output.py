"""How results are printed: tables for people, JSON for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows under a title; names from files are not taken for markup."""
    table = Table(title=escape(title), title_justify="left")
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    _console().print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, nested ones indented."""
    rows = []
    for name, value in facts.items():
        if isinstance(value, Mapping):
            rows += [(f"{name}.{key}", _plain(item)) for key, item in value.items()]
        else:
            rows.append((name, _plain(value)))
    table = Table(show_header=False, box=None)
    for name, text in rows:
        table.add_row(escape(name), escape(text))
    _console().print(table)


def _console() -> Console:
    """The terminal as it is; wide enough for a table where output goes to a file or a pipe."""
    console = Console()
    return console if console.is_terminal else Console(width=140)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    return f"{value:.6g}" if isinstance(value, float) else str(value)
