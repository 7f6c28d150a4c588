"""Printing of results: tables for people, JSON for machines."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer

from lagco.results.numbers import significant

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
#: characters that a column takes in addition to its text
_FRAME = 3
#: columns that are shown again where a table is continued, at most
_MOST_KEYS = 3
#: characters below which no column is made narrower for want of room
_SHORTEST = 12
#: lines of a heading, at most, where the terminal has room for that
_HEADING_LINES = 2


def refused_by_reader(show: Callable[[], None]) -> OSError | SystemExit | None:
    """Print; the error where what it is printed to is a closed pipe or a terminal that is gone.

    Nothing more is printed then, so that it fails no second time when the process ends.
    """
    try:
        show()
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, SystemExit) as error:  # rich makes an exit of a closed pipe
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 until the process ends
        return error
    return None


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=1, allow_nan=False))


def print_result(found: Mapping[str, Any], as_json: bool) -> None:
    """Print names and values, for people or machines."""
    print_json(found) if as_json else print_facts(found)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows under a title; names from files are not taken for markup.

    Columns that do not fit the width of the terminal (or ``COLUMNS``) are printed below, together
    with the first columns, which identify the rows; words are only broken where not even one column
    fits beside these, and headings take two lines at most where there is room.
    """
    from rich.console import Console

    names = list(columns)
    cells = [[text(cell) for cell in row] for row in rows]
    console = Console(emoji=False)  # module:Class is a text
    for number, places in enumerate(_fitting(names, cells, console.width, _keys(cells))):
        _print_part(console, title if not number else "", names, cells, places)


def _keys(rows: Sequence[Sequence[str]]) -> int:
    """Number of leading columns that identify a row, at most :data:`_MOST_KEYS`."""
    most = max(1, min([_MOST_KEYS, *(len(row) - 1 for row in rows)]))
    apart = (k for k in range(1, most) if len({tuple(row[:k]) for row in rows}) == len(rows))
    return next(apart, most)


def _fitting(
    names: Sequence[str], rows: Sequence[Sequence[str]], width: int, keys: int
) -> list[list[int]]:
    """Columns of each of several tables that fit a width, the first ones in all of them."""
    columns = [[name, *(row[i] for row in rows)] for i, name in enumerate(names)]
    widths = [_least_width(column) for column in columns]
    if sum(widths[:keys]) + max(widths[keys:], default=0) + _FRAME * (keys + 1) + 1 > width:
        widths = _broken(columns, width)  # words longer than the terminal has room for
    groups: list[list[int]] = [list(range(keys))]
    for place in range(keys, len(names)):
        used = sum(widths[i] + _FRAME for i in [*groups[-1], place]) + 1
        if used > width and len(groups[-1]) > keys:
            groups.append(list(range(keys)))
        groups[-1].append(place)
    return groups


def _longest_word(texts: Iterable[str]) -> int:
    return max((len(word) for content in texts for word in content.split()), default=0)


def _least_width(texts: Sequence[str]) -> int:
    """Width of a column below which words would be broken, or its heading take many lines."""
    heading, least = texts[0], _longest_word(texts)
    while len(textwrap.wrap(heading, max(1, least))) > _HEADING_LINES:
        least += 1
    return least


def _broken(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of columns that together fit, where the longest words are broken for that."""
    least = [_longest_word(texts) for texts in columns]
    while sum(size + _FRAME for size in least) + 1 > width and max(least) > _SHORTEST:
        least[least.index(max(least))] -= 1
    return least


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths of columns that together fit, none below its longest word where there is room."""
    least = [_least_width(texts) for texts in columns]
    if width <= sum(size + _FRAME for size in least):  # few columns, all of them needed
        least = _broken(columns, width)
    wanted = [max(map(len, texts)) for texts in columns]
    spare = width - 1 - sum(size + _FRAME for size in least)
    for place in sorted(range(len(columns)), key=lambda i: wanted[i] - least[i]):
        more = max(0, min(wanted[place] - least[place], spare))
        least[place], spare = least[place] + more, spare - more
    return least


def _print_part(
    console: Any, title: str, names: Sequence[str], rows: Sequence[Sequence[str]], places: list[int]
) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title) or None, title_justify="left")
    columns = [[names[place], *(row[place] for row in rows)] for place in places]
    for (name, *_), width in zip(columns, _widths(columns, console.width), strict=True):
        table.add_column(escape(name), width=width, overflow="fold")
    for row in rows:
        table.add_row(*(escape(row[place]) for place in places))
    console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values; those of tables are named after both."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _flat(facts):
        table.add_row(escape(name), escape(value))
    Console(emoji=False).print(table)


def _flat(facts: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, str]]:
    for name, value in facts.items():
        spelled = f"{above}{name}" if above else name.replace("_", " ")
        if isinstance(value, Mapping):
            yield from _flat(value, f"{spelled}, ")
        else:
            yield spelled, text(value)


def text(value: object) -> str:
    """A value as tables show it: no brackets, no powers of ten between 0.001 and a million."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e6 else significant(value, 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(text(item) for item in value)
    return str(value)


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever reads best."""
    if seconds < 90:
        return f"{significant(seconds, 2)} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
