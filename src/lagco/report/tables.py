"""Tables as plain data: columns, rows, and cells with notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lagco.results.numbers import significant

Value: TypeAlias = str | int | float | None


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        key: its name in a CSV file.
        title: its heading.
        group: a heading over several columns.
        digits: decimals of its numbers; three significant digits where None.
        fewer: one decimal less for numbers from 10, two less from 100, and so on.
        signed: whether numbers carry a plus sign.
        floor: the least that is shown; what is smaller is shown as less than it.
        hint: what the heading means, where it is short.
    """

    key: str
    title: str
    group: str = ""
    digits: int | None = None
    fewer: bool = False
    signed: bool = False
    floor: float | None = None
    hint: str = ""


def plain_columns(*keys: str, **titles: str) -> tuple[Column, ...]:
    """Columns without further attributes: those whose heading is their key, then others."""
    return tuple(Column(key, title) for key, title in ({key: key for key in keys} | titles).items())


@dataclass(frozen=True)
class Cell:
    """An entry.

    Attributes:
        value: text, a number, or None for nothing.
        low: lower end of the spread or interval.
        high: upper end.
        paper: the figure of the paper.
        best: whether it is the best of those it is compared with.
        note: what qualifies the value, such as the share of instances that were solved; what has
            one is never the best.
    """

    value: Value = None
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    best: bool = False
    note: str = ""


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: file name without suffix, and label in LaTeX.
        caption: what it shows in its first sentence, then how to read it.
        columns: from left to right.
        rows: as many cells each as there are columns.
        spread: what the low and high ends of its cells are, in a word.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    spread: str = ""

    def groups(self) -> list[str]:
        """The headings over columns, in order, without the empty one."""
        return list(dict.fromkeys(column.group for column in self.columns if column.group))

    def part(self, group: str) -> Table:
        """The columns of a group and those of none."""
        kept = [i for i, column in enumerate(self.columns) if column.group in ("", group)]
        columns = tuple(replace(self.columns[i], group="") for i in kept)
        rows = tuple(tuple(row[i] for i in kept) for row in self.rows)
        return replace(self, columns=columns, rows=rows)


def table(
    name: str,
    caption: str,
    columns: Iterable[Column],
    rows: Iterable[Sequence[Cell | Value]],
    spread: str = "",
) -> Table:
    """A table from cells or plain values."""
    filled = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    return Table(name, caption, tuple(columns), filled, spread)


def shown_cell(cell: Cell, column: Column) -> str:
    """Value and note of an entry as tables show them."""
    if not cell.note:
        return shown(cell.value, column)
    return cell.note if cell.value is None else f"{shown(cell.value, column)} ({cell.note})"


def shown(value: Value, column: Column) -> str:
    """A value as tables show it; an en dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}".replace(",", "\u2009") if abs(value) >= 10_000 else str(value)
    if column.floor is not None and value < column.floor:
        return f"<{column.floor:g}"
    if column.digits is not None:
        spared = math.floor(math.log10(max(abs(value), 1.0))) if column.fewer else 0
        text = f"{value:{'+' if column.signed else ''}.{max(column.digits - spared, 0)}f}"
        return text.lstrip("+-") if float(text) == 0 else text
    return significant(value)


def mark_best(
    cells: Sequence[Cell], columns: Sequence[Column], *, smallest: bool = False
) -> list[Cell]:
    """The cells of a row with the best number marked, and numbers that look equal to it.

    Cells with a note are never marked.
    """
    numbers = [cell.value for cell in cells if isinstance(cell.value, int | float)]
    sound = [c.value for c in cells if isinstance(c.value, int | float) and not c.note]
    if len(numbers) < 2 or not sound:
        return list(cells)
    best = min(sound) if smallest else max(sound)
    return [
        replace(cell, best=not cell.note and shown(cell.value, column) == shown(best, column))
        if isinstance(cell.value, int | float)
        else cell
        for cell, column in zip(cells, columns, strict=True)
    ]
