"""Tables as HTML, LaTeX and CSV; every name is escaped for where it goes."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from lagco.report.tables import Cell, Column, Table, Value, shown

#: a LaTeX table with more columns is divided between groups, as the paper does
_MOST_COLUMNS = 11
#: parts of a divided table that fit on a page
_PER_FLOAT = 3


# -- CSV


def to_csv(table: Table) -> str:
    """All numbers in full; low and high ends and the paper's figures are columns of their own."""
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
    names = ("low", "high", "paper")
    return [name for name in names if any(getattr(cell, name) is not None for cell in cells)]


def _plain(value: object) -> object:
    return "" if value is None else repr(value) if isinstance(value, float) else value


# -- HTML


def to_html(table: Table) -> str:
    """A ``<table>`` without caption; small lines below a number hold spread and paper's figure."""
    numeric = [_is_numeric(table, place) for place in range(len(table.columns))]
    head = ""
    if table.groups():
        spans = "".join(
            f'<th colspan="{span}" scope="colgroup"{" class=group" if name else ""}>'
            f"{html.escape(name)}</th>"
            for name, span in _spans(table)
        )
        head = f"<tr>{spans}</tr>"
    titles = "".join(map(_heading, table.columns, numeric))
    body = "\n".join(f"<tr>{_html_row(table, row, numeric)}</tr>" for row in table.rows)
    return f"<table><thead>{head}<tr>{titles}</tr></thead>\n<tbody>{body}</tbody></table>"


def _heading(column: Column, is_number: bool) -> str:
    hint = f' title="{html.escape(column.hint)}"' if column.hint else ""
    kind = " class=n" if is_number else ""
    return f"<th scope=col{kind}{hint}><button>{html.escape(column.title)}</button></th>"


def _html_row(table: Table, row: Sequence[Cell], numeric: Sequence[bool]) -> str:
    """The cells of a row; what the small lines are stands once, in its first cell."""
    spread = any(cell.low is not None for cell in row)
    paper = any(cell.paper is not None for cell in row)
    first, *others = map(partial(_html_cell, spread), row, table.columns, numeric)
    if not numeric[0]:
        names = [table.spread] * spread + ["paper"] * paper
        lines = "".join(f"<small>{html.escape(name) or '&nbsp;'}</small>" for name in names)
        named = lines if table.spread or paper else ""
        first = f"<th scope=row>{html.escape(str(row[0].value))}{named}</th>"
    return first + "".join(others)


def _html_cell(spread: bool, cell: Cell, column: Column, is_number: bool) -> str:
    text = _html_value(cell.value, column)
    if cell.best:
        text = f"<b>{text}</b>"
    if cell.low is not None and cell.high is not None:
        text += f"<small>{_html_range(cell.low, cell.high, column)}</small>"
    elif cell.paper is not None and spread:
        text += "<small>&nbsp;</small>"  # keeps the paper's figures on one line
    if cell.paper is not None:
        text += f"<small class=paper>{_html_value(cell.paper, column)}</small>"
    kind = " class=n" if is_number else ""
    number = isinstance(cell.value, int | float)
    return f"<td{kind}{f' data-v={cell.value!r}' if number else ''}>{text}</td>"


def _html_range(low: float, high: float, column: Column) -> str:
    plain = replace(column, signed=False)
    ends = _html_value(low, plain), _html_value(high, plain)
    return (" to " if low < 0 else "–").join(ends)


def _html_value(value: Value, column: Column) -> str:
    text = shown(value, column)
    return html.escape(text if isinstance(value, str) else text.replace("-", "−"))


def _is_numeric(table: Table, place: int) -> bool:
    values = [row[place].value for row in table.rows]
    return not any(isinstance(value, str) for value in values)


def _spans(table: Table) -> Iterator[tuple[str, int]]:
    for name, columns in groupby(table.columns, key=lambda column: column.group):
        yield name, len(list(columns))


# -- LaTeX

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "²": r"$^2$",
    "µ": r"$\mu$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "…": r"\dots{}",
    "\u2009": r"\,",
    "\u00a0": "~",
}


def latex_text(text: str) -> str:
    """Text as LaTeX shows it, whatever it holds."""
    cleaned = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return "".join(_SPECIAL.get(character, character) for character in cleaned)


def to_latex(table: Table) -> str:
    """Floating tables for the package ``booktabs``; wide ones are divided between groups."""
    parts = _divided(table)
    floats = [parts[i : i + _PER_FLOAT] for i in range(0, len(parts), _PER_FLOAT)]
    label = re.sub(r"[^A-Za-z0-9.:-]", "-", table.name)
    written = [
        _float(
            "\n\n\\medskip\n".join(map(_tabular, chosen)),
            latex_text(table.caption) if number == 1 else f"Table~\\ref{{tab:{label}}}, continued.",
            label if number == 1 else f"{label}-{number}",
        )
        for number, chosen in enumerate(floats, 1)
    ]
    return "% \\usepackage{booktabs}\n" + "\n".join(written)


def _float(body: str, caption: str, label: str) -> str:
    return (
        "\\begin{table}\n\\centering\n\\scriptsize\n\\setlength{\\tabcolsep}{3pt}\n"
        f"\\caption{{{caption}}}\n\\label{{tab:{label}}}\n{body}\n\\end{{table}}\n"
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


def _tabular(table: Table) -> str:
    numeric = [_is_numeric(table, place) for place in range(len(table.columns))]
    lines = [f"\\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}", "\\toprule"]
    if table.groups():
        spans = list(_spans(table))
        names = [f"\\multicolumn{{{span}}}{{c}}{{{latex_text(name)}}}" for name, span in spans]
        lines.append(_latex_line(names))
        place, rules = 1, []
        for name, span in spans:
            if name:
                rules.append(f"\\cmidrule(lr){{{place}-{place + span - 1}}}")
            place += span
        lines.append("".join(rules))
    lines.append(_latex_line(latex_text(column.title) for column in table.columns))
    lines.append("\\midrule")
    for row in table.rows:
        lines += _latex_rows(table, row)
        if any(cell.low is not None or cell.paper is not None for cell in row):
            lines.append("\\addlinespace[2pt]")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}"])


def _latex_rows(table: Table, row: Sequence[Cell]) -> Iterator[str]:
    """The row, and below it in small type its spreads and the paper's figures, if it has any."""
    yield _latex_line(map(_latex_cell, row, table.columns))
    if any(cell.low is not None for cell in row):
        ends = [_latex_range(cell, column) for cell, column in zip(row, table.columns, strict=True)]
        yield _latex_line(_small([latex_text(table.spread), *ends[1:]]))
    if any(cell.paper is not None for cell in row):
        figures = [
            "" if cell.paper is None else _latex_number(shown(cell.paper, column))
            for cell, column in zip(row, table.columns, strict=True)
        ]
        yield _latex_line(_small(["paper", *figures[1:]]))


def _latex_line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _small(texts: Iterable[str]) -> Iterator[str]:
    return (f"{{\\tiny {text}}}" if text else "" for text in texts)


def _latex_cell(cell: Cell, column: Column) -> str:
    text = shown(cell.value, column)
    if not isinstance(cell.value, int | float):
        return f"\\textbf{{{latex_text(text)}}}" if cell.best else latex_text(text)
    return f"$\\mathbf{{{text}}}$" if cell.best else _latex_number(text)


def _latex_number(text: str) -> str:
    return "$" + text.replace("\u2009", r"\,") + "$"


def _latex_range(cell: Cell, column: Column) -> str:
    if cell.low is None or cell.high is None:
        return ""
    plain = replace(column, signed=False)
    if cell.low < 0:
        return " to ".join(_latex_number(shown(end, plain)) for end in (cell.low, cell.high))
    return "--".join(shown(end, plain).replace("\u2009", r"\,") for end in (cell.low, cell.high))
