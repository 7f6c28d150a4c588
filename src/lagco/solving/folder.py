"""Solving a folder of files into a table, which an interrupted run goes on with."""

from __future__ import annotations

import csv
import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lagco.errors import InstanceError, LagcoError, readable
from lagco.instances.dataset import MANIFEST, TIMES
from lagco.runtime.stopping import Interrupted, stopping
from lagco.solving.instance import solve
from lagco.store import check_writable, read_text, write_atomically

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
    for path in _instance_files(folder):
        name = readable(path.relative_to(folder).as_posix())
        if name in known or os.path.realpath(path) == os.path.realpath(out):
            continue
        row = dict.fromkeys(COLUMNS, "") | {"file": name}
        try:
            with stopping() as stop:
                answer = solve(path, **options)
        except (LagcoError, OSError) as error:
            row["error"] = readable(str(error))
        else:
            if answer.interrupted:
                raise Interrupted(stop.signal or signal.SIGINT)
            found = answer.as_dict()
            row |= {c: "" if found[c] is None else str(found[c]) for c in COLUMNS[1:-1]}
        rows.append(row)
        _write(out, rows)
        yield row


def _instance_files(folder: Path) -> list[Path]:
    """Plain files below a folder, but those that describe a data set."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    described = {path.parent for path in paths if path.name == MANIFEST}
    about = {folder / name for folder in described for name in (MANIFEST, TIMES.description)}
    return [path for path in paths if path not in about]


def _read(out: Path) -> list[dict[str, str]]:
    if not out.exists():
        return []
    reader = csv.DictReader(io.StringIO(read_text(out), newline=""))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise InstanceError(f"{out}: not a table of answers; name another file, or remove it")
    return list(reader)


def _write(out: Path, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(out, text.getvalue().encode())
