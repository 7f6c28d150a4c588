"""CSV: rows with their line numbers, separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from lagco.instances.formats.source import Source
from lagco.results.numbers import of_things

SEPARATORS = (",", ";", "\t")
#: longest first line
MAX_HEADER = 1 << 20


def separator(source: Source) -> str | None:
    """Separator of the cells of the first line; None if there is none."""
    text = next(source.lines(), (0, ""))[1]
    best = max(SEPARATORS, key=text.count)
    return best if best in text else None


def rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Every row that is not blank, its cells stripped, with its line."""
    source.refuse_large("CSV")
    reader = csv.reader(io.StringIO(source.text), delimiter=separator(source) or ",", strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise source.error(f"damaged CSV: {error}", line) from error
        cells = [cell.strip() for cell in cells]
        if any(cells):
            yield line, cells


def header(source: Source) -> list[str]:
    """Cells of the first row in lower case; empty if the file is no CSV."""
    text = next(source.lines(), (0, ""))[1]
    if not text or len(text) > MAX_HEADER:
        return []
    mark = separator(source) or ","
    try:
        cells = next(csv.reader([text], delimiter=mark, strict=True))
    except csv.Error:  # `rows` says what is wrong with it
        cells = text.split(mark)
    return [cell.strip().lower() for cell in cells]


def table_of(source: Source) -> list[dict[str, str]]:
    """The rows below a header, by column.

    Raises:
        InstanceError: there is no header, or a row has another number of cells.
    """
    columns = header(source)
    if not columns:
        raise source.error("expected a table (CSV) with a header", 1)
    table = []
    for line, cells in list(rows(source))[1:]:
        if len(cells) != len(columns):
            quoted = f"; a cell with {separator(source) or ','!r} in it stands in quotes"
            raise source.error(
                f"{of_things(len(cells), 'cells')} below {of_things(len(columns), 'columns')}"
                f"{quoted if len(cells) > len(columns) else ''}",
                line,
            )
        table.append(dict(zip(columns, cells, strict=True)))
    return table


def written(table: Iterable[Iterable[object]]) -> str:
    """The text of rows."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(table)
    return stream.getvalue()
