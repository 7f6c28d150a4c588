"""Solving a folder of files into a table, which an interrupted run goes on with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lagco.errors import InstanceError, LagcoError
from lagco.solving.instance import solve
from lagco.store import check_writable, write_atomically

COLUMNS = (
    "file", "problem", "size", "objective", "by", "gap", "bound", "bound_gap", "valid", "seconds",
    "error",
)  # fmt: skip


def solve_folder(folder: str | Path, out: str | Path, **options: Any) -> Iterator[dict[str, str]]:
    """Solve every file of a folder and its subfolders, and write a table (CSV) after each.

    Files that stand in the table already are left out. One that cannot be solved stands there with
    the reason and is tried again next time, as an interrupted one is.

    Args:
        folder: with the files.
        out: the table.
        options: of :func:`lagco.solve`.

    Yields:
        the row of each file that was solved now.
    """
    folder, out = Path(folder), Path(out)
    check_writable(out)
    rows = [row for row in _read(out) if not row["error"]]
    known = {row["file"] for row in rows}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if name in known or path.resolve() == out.resolve():
            continue
        row = dict.fromkeys(COLUMNS, "") | {"file": name}
        try:
            answer = solve(path, **options)
        except (LagcoError, OSError) as error:
            row["error"] = str(error)
        else:
            if answer.interrupted:
                raise KeyboardInterrupt
            found = answer.as_dict()
            row |= {c: "" if found[c] is None else str(found[c]) for c in COLUMNS[1:-1]}
        rows.append(row)
        _write(out, rows)
        yield row


def _read(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    with out.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise InstanceError(f"{out}: not a table of answers; name another file, or remove it")
        return list(reader)


def _write(out: Path, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(out, text.getvalue().encode())
