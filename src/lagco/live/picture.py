"""The picture of the day: objective over time per controller, changes as ticks below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lagco.core.pictures.files import DPI, save_figure
from lagco.problem_table import ENTRIES

if TYPE_CHECKING:
    from lagco.live.result import LiveResult

#: inches of the picture, and of the band of ticks per controller
_WIDTH, _HEIGHT, _BAND = 9.0, 3.2, 0.22
#: seconds of the units of time, and up to which span of them they are used
_UNITS = (("seconds", 1.0, 600.0), ("minutes", 60.0, 4 * 3600.0), ("hours", 3600.0, 5 * 86400.0))
_DAYS = ("days", 86400.0)


def draw_day(result: LiveResult, path: Path) -> None:
    """Write the picture; the suffix sets the format."""
    from matplotlib.figure import Figure

    names = result.controllers
    band = _BAND * len(names) + 0.3
    figure = Figure(figsize=(_WIDTH, _HEIGHT + band), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[_HEIGHT, band])
    draw_course(result, above)
    draw_changes(result, below)
    save_figure(figure, path, DPI)


def draw_course(result: LiveResult, axes: Any) -> None:
    """Objective over time, a step line per controller."""
    _, unit = unit_of_time(result)
    for place, name in enumerate(result.controllers):
        times, values = result.course(name)
        axes.step(times / unit, values, where="post", label=name, color=f"C{place}", linewidth=1.1)
    entry = ENTRIES.get(result.settings["problem"])
    axes.set_ylabel("objective" if entry is None else entry.objective.partition(",")[0])
    shown = "judged on what came next" if result.settings["decide_on"] == "previous" else ""
    synthetic = "synthetic" if "generator" in result.settings["origin"] else ""
    parts = [str(result.settings["timeline"]), synthetic, shown]
    axes.set_title(", ".join(part for part in parts if part), fontsize=9)
    axes.legend(fontsize=8, loc="best", frameon=False, ncols=min(4, len(result.controllers)))


def draw_changes(result: LiveResult, axes: Any) -> None:
    """A row of ticks per controller, as high as it made changes; late answers as crosses."""
    label, unit = unit_of_time(result)
    names = result.controllers
    most = max((record.changes for record in result.records), default=0) or 1
    for place, name in enumerate(names):
        records = result.of(name)
        times = np.array([record.time for record in records]) / unit
        heights = np.array([record.changes for record in records]) / most
        base = len(names) - 1 - place
        axes.vlines(times, base, base + 0.8 * heights, color=f"C{place}", linewidth=0.8)
        late = [t for t, record in zip(times, records, strict=True) if record.late]
        axes.plot(late, [base + 0.1] * len(late), "x", color="black", markersize=3)
    axes.set_yticks([len(names) - 0.6 - place for place in range(len(names))], names, fontsize=8)
    axes.set_ylim(-0.2, len(names))
    axes.set_xlabel(label)
    axes.set_ylabel("changes", fontsize=8)


def unit_of_time(result: LiveResult) -> tuple[str, float]:
    """Name of the unit in which the time of a replay is shown, and its seconds."""
    last = max((record.time for record in result.records), default=0.0)
    for label, seconds, most in _UNITS:
        if last <= most:
            return label, seconds
    return _DAYS
