"""The report of a replay: one page with its table and the course of the day."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lagco.live.picture import unit_of_time
from lagco.live.records import RUN, SETTINGS
from lagco.live.result import LiveResult
from lagco.problem_table import ENTRIES
from lagco.report.blocks import Block, Folded, Plot, Preformatted, Shown, Text
from lagco.report.contents import Section
from lagco.report.plots import axis, figure, label, numbers
from lagco.report.tables import Column, Table, table
from lagco.results.numbers import of_things
from lagco.store import readable_json

#: colours of controllers, safe for colour-blind readers
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6f6f6f", "#b0a000")
_COLUMNS = (
    Column("by", "controller"),
    Column("mean", "mean", hint="of the objective over time"),
    Column("p95", "95 %", hint="95th percentile; the 5th where larger is better"),
    Column(
        "regret", "regret %", digits=1, hint="mean distance to hindsight, or to the best of all"
    ),
    Column("overloads", "overloads", digits=1, hint="filled beyond what they have, on average"),
    Column("unserved", "unserved %", digits=2, hint="share of what is demanded"),
    Column("changes", "changes", digits=1, hint="per decision"),
    Column("late", "late", hint="answers after the deadline, which count as no change"),
    Column("refused", "refused", hint="answers that were not put in force"),
    Column("milliseconds", "ms", digits=1, hint="per decision"),
    Column("slowest", "ms, 95 %", digits=1),
)


def is_replay(folder: str | Path) -> bool:
    """Whether a folder holds a replay."""
    return (Path(folder) / RUN).is_file() and SETTINGS.format in (Path(folder) / RUN).read_text(
        encoding="utf-8", errors="replace"
    )[:200]


class Replay:
    """A replay, as the page asks it.

    Args:
        folder: of the replay.
    """

    banner = ""

    def __init__(self, folder: str | Path) -> None:
        self.result = LiveResult.read(folder)

    @property
    def sections(self) -> Sequence[Section]:
        """What the page holds."""
        result = self.result
        return (
            Section("table", "Controllers", lambda _: [Shown(_table(result)), *_notes(result)]),
            Section("course", "The day", lambda _: _course(result)),
            Section("settings", "Settings", lambda _: _settings(result)),
        )

    @property
    def title(self) -> str:
        """Heading of the page."""
        settings = self.result.settings
        return f"Replay: {settings['problem']} on {settings['timeline']}"

    @property
    def lead(self) -> str:
        """Subject of the page, in a sentence."""
        settings, rows = self.result.settings, self.result.table()
        most = max((row.decisions for row in rows), default=0)
        parts = [f"{of_things(most, 'decisions')} of {of_things(len(rows), 'controllers')}"]
        if settings["max_changes"] is not None:
            parts.append(f"at most {of_things(settings['max_changes'], 'changes')} each")
        if settings["decide_on"] == "previous":
            parts.append("each judged on what came next")
        if "generator" in settings["origin"]:
            parts.append("on synthetic events")
        return ", ".join(parts) + "."

    @property
    def footer(self) -> str:
        """Origin of the figures."""
        count = of_things(len(self.result.records), "decisions")
        return f"Made by lagco report from {count}. The page needs no network."


def _table(result: LiveResult) -> Table:
    rows = [[row[column.key] for column in _COLUMNS] for row in result.rows()]
    caption = (
        "Objective, changes and time of every controller. Each goes on from its own last decision; "
        "an answer that is late, not allowed or no better than to hold changes nothing."
    )
    return table("controllers", caption, _COLUMNS, rows)


def _notes(result: LiveResult) -> list[Block]:
    return [Text(f"Timeline: {note}.", "note") for note in result.notes]


def _course(result: LiveResult) -> list[Block]:
    word, unit = unit_of_time(result)
    entry = ENTRIES.get(result.settings["problem"])
    objective = "objective" if entry is None else entry.objective.partition(",")[0]
    courses, changes, late = [], [], []
    for place, name in enumerate(result.controllers):
        times, values = result.course(name)
        colour = _COLOURS[place % len(_COLOURS)]
        shape = {"line": {"color": colour, "shape": "hv", "width": 1.6}, "mode": "lines"}
        courses.append(_trace(name, times / unit, values, **shape, showlegend=True))
        records = result.of(name)
        made = [record.changes for record in records]
        at = [record.time / unit for record in records]
        changes.append(_trace(name, at, made, type="bar", marker={"color": colour}))
        late += [(name, record.time / unit) for record in records if record.late]
    x = axis(word)
    plots: list[Block] = [
        Plot(objective, figure(courses, x, axis(objective), showlegend=True), height=380),
        Plot(
            "changes per decision",
            figure(changes, x, axis("changes"), showlegend=True, barmode="group"),
            height=260,
        ),
    ]
    if late:
        listed = "\n".join(f"{name}: at {time:g} {word}" for name, time in late)
        plots.append(Folded(f"Late answers ({len(late)})", [Preformatted(listed)]))
    return plots


def _trace(name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "name": label(name), "x": numbers(x), "y": numbers(y)} | more


def _settings(result: LiveResult) -> list[Block]:
    return [Preformatted(readable_json(dict(result.settings)).decode())]
