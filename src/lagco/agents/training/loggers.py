"""Loggers of the metrics of a run: TensorBoard, a table, Weights & Biases.

The logger is Stable-Baselines3's. Its algorithms record losses, KL divergence, entropy, clip
fraction, explained variance and learning rate under ``train/``; a run adds ``episodes/``,
``validation/`` and ``time/``; callbacks may record what they like.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.logger import KVWriter, Logger

from lagco.agents.training.curve import Table
from lagco.errors import UnknownName, require_extra, suggest

METRICS, BOARD = "metrics.csv", "tensorboard"


class TableWriter(KVWriter):
    """Writes all metrics to ``metrics.csv``, a column each."""

    def __init__(self, folder: Path, steps: int, about: Mapping[str, Any]) -> None:
        self._table = Table(folder / METRICS)
        self._table.cut(steps)

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Add a row."""
        self._table.put({"steps": step, **_numbers(key_values)})

    def close(self) -> None:
        """Nothing is open."""


class BoardWriter(KVWriter):
    """Writes TensorBoard's event files; a continued run purges events after its checkpoint."""

    def __init__(self, folder: Path, steps: int, about: Mapping[str, Any]) -> None:
        require_extra("tensorboard", "report", "logger='tensorboard'")
        from torch.utils.tensorboard import SummaryWriter

        self._board = SummaryWriter(str(folder / BOARD), purge_step=steps + 1)

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Add a scalar per metric."""
        for name, value in _numbers(key_values).items():
            self._board.add_scalar(name, value, step)
        self._board.flush()

    def close(self) -> None:
        """Close the file."""
        self._board.close()


class WandbWriter(KVWriter):
    """Sends metrics to Weights & Biases; a continued run keeps its id there."""

    def __init__(self, folder: Path, steps: int, about: Mapping[str, Any]) -> None:
        wandb: Any = require_extra("wandb", "wandb", "logger='wandb'")
        self._run = wandb.init(
            project="lagco",
            id=str(about["identity"])[:32],
            name=folder.name,
            dir=str(folder),
            config=dict(about),
            resume="allow",
        )

    def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
        """Send the metrics of a step."""
        self._run.log(_numbers(key_values), step=step)

    def close(self) -> None:
        """End the run there."""
        self._run.finish()


WRITERS: dict[str, type[TableWriter] | type[BoardWriter] | type[WandbWriter]] = {
    "csv": TableWriter,
    "tensorboard": BoardWriter,
    "wandb": WandbWriter,
}


def writer_names(spelling: str | None) -> list[str]:
    """Names of the writers in a spelling such as ``"tensorboard,csv"``.

    None is TensorBoard where that is installed.

    Raises:
        UnknownName: no writer has that name.
        MissingExtra: its package is not installed.
    """
    if spelling is None:
        return ["tensorboard"] if importlib.util.find_spec("tensorboard") else []
    names = [name.strip() for name in spelling.split(",") if name.strip()]
    for name in names:
        if name not in WRITERS:
            raise UnknownName(suggest("logger", name, WRITERS))
    for name, extra in (("tensorboard", "report"), ("wandb", "wandb")):
        if name in names:
            require_extra(name, extra, f"logger={spelling!r}")
    return names


def make_logger(names: list[str], folder: Path, steps: int, about: Mapping[str, Any]) -> Logger:
    """The logger of a run.

    Args:
        names: names of its writers.
        folder: folder of the run.
        steps: steps done so far; later entries of an interrupted run are dropped.
        about: identity and configuration of the run.
    """
    return Logger(str(folder), [WRITERS[name](folder, steps, about) for name in names])


def _numbers(key_values: Mapping[str, Any]) -> dict[str, float]:
    """The metrics that are single numbers."""
    return {
        name: float(value)
        for name, value in key_values.items()
        if isinstance(value, int | float | np.number) and not isinstance(value, bool)
    }
