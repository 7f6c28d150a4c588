"""The learning curve of a run, and the CSV tables of metrics."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.errors import LagcoError
from lagco.store import read_text, write_atomically

#: called after every rollout with the row of the curve
Report: TypeAlias = Callable[[dict[str, Any]], None]

COLUMNS = (
    "steps",
    "episodes",
    "score",
    "score_best",
    "return",
    "length",
    "validation",
    "seconds",
)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a table, each with its number of steps."""
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True))
        whole = all(str(row.get("steps")).isdecimal() and None not in row for row in rows)
    except csv.Error:
        whole = False
    if not whole:
        raise LagcoError(f"{path}: not the table of a training run; remove it")
    return rows


class Table:
    """A CSV file with one row per number of steps, written whole whenever it changes.

    Args:
        path: of the file.
        columns: in this order; others follow as they appear.
    """

    def __init__(self, path: Path, columns: Sequence[str] = ("steps",)) -> None:
        self._path = path
        self._columns = list(columns)
        self.rows: list[dict[str, Any]] = []

    def cut(self, steps: int) -> None:
        """Read the rows of the file up to `steps`, and drop later ones."""
        if steps and self._path.exists():
            rows = read_rows(self._path)
            self.rows = [row for row in rows if int(row["steps"]) <= steps]
            self._columns += [name for row in self.rows[:1] for name in row if name not in self]
        self._write()

    def put(self, row: Mapping[str, Any]) -> None:
        """Append a row, or merge it into the last one if that has the same number of steps."""
        self._columns += [name for name in row if name not in self]
        if self.rows and int(self.rows[-1]["steps"]) == row["steps"]:
            self.rows[-1] |= row
        else:
            self.rows.append(dict(row))
        self._write()

    def __contains__(self, column: str) -> bool:
        return column in self._columns

    def _write(self) -> None:
        stream = io.StringIO()
        writer = csv.DictWriter(stream, self._columns, restval="")
        writer.writeheader()
        writer.writerows(self.rows)
        write_atomically(self._path, stream.getvalue().encode())


class Curve:
    """The learning curve: means over the last 100 episodes of the training environment.

    Args:
        path: of its file.
        env: the training environment.
        report: called with every row.

    Attributes:
        earlier: seconds that the run took before it was interrupted.
    """

    def __init__(self, path: Path, env: ProblemVecEnv, report: Report | None) -> None:
        self._table = Table(path, COLUMNS)
        self._env = env
        self._report = report
        self._began = time.perf_counter()
        self.earlier = 0.0

    @property
    def empty(self) -> bool:
        """Whether it has no row."""
        return not self._table.rows

    def cut(self, steps: int) -> None:
        """Read the rows of the run up to `steps`, and drop later ones."""
        self._table.cut(steps)
        rows = self._table.rows
        self.earlier = float(rows[-1]["seconds"]) if rows else 0.0

    def add(self, steps: int, validation: float | None) -> dict[str, Any]:
        """Add a row and return it."""
        row: dict[str, Any] = {"steps": steps, "episodes": self._env.episodes_done}
        for name in ("score", "score_best", "return", "length"):
            values = [e[name] for e in self._env.recent if e[name] is not None]
            row[name] = round(float(np.mean(values)), 6) if values else ""
        row["validation"] = "" if validation is None else round(validation, 6)
        row["seconds"] = round(self.earlier + time.perf_counter() - self._began, 2)
        self._table.put(row)
        if self._report is not None:
            self._report(row)
        return row
