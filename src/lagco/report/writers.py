"""Tables as HTML, LaTeX, Markdown and CSV; every name is escaped for where it goes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from markupsafe import Markup

from lagco.report.tables import Cell, Column, Table, Value, shown, shown_cell
from lagco.report.templating import HTML, LATEX, Tex, latex_text

#: a LaTeX table with more columns is divided between groups, as the paper does
_MOST_COLUMNS = 11
#: characters of a text from which on it is broken into lines
_LONG = 60
#: significant digits in a file of numbers
_DIGITS = 10
#: parts of a divided table that fit on a page
_PER_FLOAT = 3


def _is_numeric(table: Table, place: int) -> bool:
    values = [row[place].value for row in table.rows]
    return not any(isinstance(value, str) for value in values)


def _numeric(table: Table) -> list[bool]:
    return [_is_numeric(table, place) for place in range(len(table.columns))]


def _spans(table: Table) -> Iterator[tuple[str, int]]:
    """Headings over columns, and over how many; the empty one over columns without."""
    for name, columns in groupby(table.columns, key=lambda column: column.group):
        yield name, len(list(columns))


# -- CSV


def to_csv(table: Table) -> str:
    """Numbers to ten digits; low and high ends and the paper's figures are columns of their own."""
    extras = [_extras(table, place) for place in range(len(table.columns))]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        name
        for column, more in zip(table.columns, extras, strict=True)
        for name in (_key(column), *(f"{_key(column)} {extra}" for extra in more))
    )
    for row in table.rows:
        writer.writerow(
            _plain(value)
            for cell, more in zip(row, extras, strict=True)
            for value in (cell.value, *(getattr(cell, extra) for extra in more))
        )
    return stream.getvalue()


def _key(column: Column) -> str:
    return f"{column.group} {column.key}" if column.group else column.key


def _extras(table: Table, place: int) -> list[str]:
    cells = [row[place] for row in table.rows]
    names = ("low", "high", "paper", "note")
    return [n for n in names if any(getattr(cell, n) not in (None, "") for cell in cells)]


def _plain(value: object) -> object:
    if isinstance(value, float):  # to more digits than any machine would differ in
        return repr(float(f"{value:.{_DIGITS}g}"))
    return "" if value is None else value


# -- HTML


def to_html(table: Table) -> Markup:
    """A ``<table>`` without caption; small lines below a number hold spread and paper's figure."""
    numeric = _numeric(table)
    columns = [
        {"title": column.title, "hint": column.hint, "is_number": is_number}
        for column, is_number in zip(table.columns, numeric, strict=True)
    ]
    text = HTML.get_template("table.html").render(
        spans=list(_spans(table)) if table.groups() else [],
        columns=columns,
        rows=[_html_row(table, row, numeric) for row in table.rows],
    )
    return Markup(text)


def _html_row(table: Table, row: Sequence[Cell], numeric: Sequence[bool]) -> dict[str, Any]:
    """The cells of a row; what the small lines are stands once, in its first cell."""
    spread = any(cell.low is not None for cell in row)
    paper = any(cell.paper is not None for cell in row)
    cells = [
        _html_cell(cell, column, is_number, spread)
        for cell, column, is_number in zip(row, table.columns, numeric, strict=True)
    ]
    if numeric[0]:
        return {"name": None, "lines": [], "cells": cells}
    lines = [table.spread] * spread + ["paper"] * paper
    named = lines if table.spread or paper else []
    return {"name": str(row[0].value), "lines": named, "cells": cells[1:]}


def _html_cell(cell: Cell, column: Column, is_number: bool, spread: bool) -> dict[str, Any]:
    return {
        "text": _html_text(shown_cell(cell, column), cell.value),
        "best": cell.best,
        "is_number": is_number,
        "sorted_by": repr(cell.value) if isinstance(cell.value, int | float) else None,
        "range": _html_range(cell, column),
        "gap": spread and cell.paper is not None,  # keeps the paper's figures on one line
        "paper": None if cell.paper is None else _html_value(cell.paper, column),
    }


def _html_range(cell: Cell, column: Column) -> str:
    if cell.low is None or cell.high is None:
        return ""
    plain = replace(column, signed=False)
    ends = _html_value(cell.low, plain), _html_value(cell.high, plain)
    return (" to " if cell.low < 0 else "–").join(ends)


def _html_value(value: Value, column: Column) -> str:
    return _html_text(shown(value, column), value)


def _html_text(text: str, value: Value) -> str:
    return text if isinstance(value, str) else text.replace("-", "−")


# -- LaTeX


def to_latex(table: Table) -> str:
    """Floating tables for the package ``booktabs``; wide ones are divided between groups."""
    parts = [_latex_part(part) for part in _divided(table)]
    return LATEX.get_template("table.tex").render(
        caption=table.caption,
        label=re.sub(r"[^A-Za-z0-9.:-]", "-", table.name),
        floats=[parts[i : i + _PER_FLOAT] for i in range(0, len(parts), _PER_FLOAT)],
    )


def _divided(table: Table) -> list[Table]:
    """The table, or several with as many whole groups each as fit."""
    if len(table.columns) <= _MOST_COLUMNS or len(table.groups()) < 2:
        return [table]
    plain = sum(not column.group for column in table.columns)
    sizes = {name: sum(c.group == name for c in table.columns) for name in table.groups()}
    batches: list[list[str]] = [[]]
    for name, size in sizes.items():
        if batches[-1] and plain + sum(sizes[n] for n in batches[-1]) + size > _MOST_COLUMNS:
            batches.append([])
        batches[-1].append(name)
    return [_chosen(table, names) for names in batches]


def _chosen(table: Table, groups: Sequence[str]) -> Table:
    kept = [i for i, column in enumerate(table.columns) if column.group in ("", *groups)]
    columns = tuple(table.columns[i] for i in kept)
    rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
    return replace(table, columns=columns, rows=rows)


def _latex_part(table: Table) -> dict[str, Any]:
    groups, place = [], 1
    for name, span in _spans(table) if table.groups() else ():
        groups.append({"name": name, "span": span, "first": place, "last": place + span - 1})
        place += span
    return {
        "alignment": _alignment(table),
        "groups": groups,
        "titles": [column.title for column in table.columns],
        "rows": [_latex_row(table, row) for row in table.rows],
    }


def _alignment(table: Table) -> Tex:
    """Numbers to the right, texts to the left; long texts share the width of the line."""
    texts = [[r[i].value for r in table.rows] for i in range(len(table.columns))]
    wrapped = {
        i
        for i, column in enumerate(texts)
        if any(isinstance(v, str) and len(v) > _LONG for v in column)
    }
    share = 0.85 / max(len(wrapped), 1) if len(wrapped) > 1 else 0.5
    marks = ("r" if is_number else "l" for is_number in _numeric(table))
    return Tex(
        "".join(
            f"p{{{share:.2f}\\linewidth}}" if i in wrapped else mark for i, mark in enumerate(marks)
        )
    )


def _latex_row(table: Table, row: Sequence[Cell]) -> dict[str, Any]:
    """The row, and below it in small type its spreads and the paper's figures, if it has any."""
    pairs = list(zip(row, table.columns, strict=True))
    spread: list[str] = []
    if any(cell.low is not None for cell in row):
        spread = [table.spread, *(_latex_range(*pair) for pair in pairs[1:])]
    paper: list[str] = []
    if any(cell.paper is not None for cell in row):
        paper = ["paper", *(_latex_number(cell.paper, column) for cell, column in pairs[1:])]
    return {"cells": [_latex_cell(*pair) for pair in pairs], "spread": spread, "paper": paper}


def _latex_cell(cell: Cell, column: Column) -> Tex:
    if isinstance(cell.value, int | float):
        number = _latex_number(cell.value, column, bold=cell.best)
        return Tex(f"{number} ({latex_text(cell.note)})") if cell.note else number
    text = latex_text(shown_cell(cell, column))
    return Tex(f"\\textbf{{{text}}}") if cell.best else text


def _latex_number(value: float | None, column: Column, *, bold: bool = False) -> Tex:
    if value is None:
        return Tex("")
    text = shown(value, column).replace("\u2009", r"\,")
    return Tex(f"$\\mathbf{{{text}}}$" if bold else f"${text}$")


def _latex_range(cell: Cell, column: Column) -> Tex:
    if cell.low is None or cell.high is None:
        return Tex("")
    plain = replace(column, signed=False)
    ends = [_latex_number(end, plain) for end in (cell.low, cell.high)]
    if cell.low < 0:
        return Tex(" to ".join(ends))
    return Tex("--".join(end.strip("$") for end in ends))


# -- Markdown


def to_markdown(table: Table) -> str:
    """A table of Markdown, without caption; the paper's figures stand in brackets, in italics.

    The ends of a cell follow its value where the table says what they are.

    A column's group stands in its title where the table has several of them.
    """
    groups = len(table.groups()) > 1
    titles = [f"{c.title}, {c.group}" if groups and c.group else c.title for c in table.columns]
    marks = ["---:" if is_number else "---" for is_number in _numeric(table)]
    rows = [
        [
            _markdown_cell(cell, column, bool(table.spread))
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    lines = [[_markdown_text(title) for title in titles], marks, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _markdown_cell(cell: Cell, column: Column, spread: bool) -> str:
    text = _markdown_text(shown_cell(cell, column))
    if cell.best:
        text = f"**{text}**"
    if spread and cell.low is not None and cell.high is not None:
        text += _markdown_text(f" [{shown(cell.low, column)}, {shown(cell.high, column)}]")
    return text if cell.paper is None else f"{text} *({shown(cell.paper, column)})*"


def _markdown_text(text: str) -> str:
    cleaned = re.sub(r"\s+", " ", text)
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", cleaned)
