"""Results of a replay: a table per controller, and a picture of the day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.live.records import NOTES, Record, read_records
from lagco.results.described import SelfDescribing
from lagco.results.numbers import significant

#: participant whose decisions are those of a long search without limits
HINDSIGHT = "hindsight"


@dataclass(frozen=True)
class Row:
    """A controller's row of the table.

    Attributes:
        by: the controller.
        mean: of the objective.
        p95: its 95th percentile; where larger is better its 5th.
        regret: mean distance to hindsight, or to the best of all, in percent of that.
        overloads: links, hosts, … beyond what they have, on average.
        unserved: share of what is demanded that could not be served, in percent on average.
        changes: elements changed per decision.
        late: answers that came late.
        refused: answers that were not put in force.
        milliseconds: per decision, on average.
        slowest: 95th percentile of these.
        decisions: so many.
    """

    by: str
    mean: float
    p95: float
    regret: float
    overloads: float
    unserved: float
    changes: float
    late: int
    refused: int
    milliseconds: float
    slowest: float
    decisions: int


@dataclass(frozen=True, repr=False)
class LiveResult(SelfDescribing):
    """What came of a replay.

    Attributes:
        settings: of the replay.
        records: all decisions, in order.
        seconds: that each took, by round and controller.
        notes: what was left out of the timeline, or filled in.
    """

    settings: Mapping[str, Any]
    records: Sequence[Record]
    seconds: Mapping[tuple[int, str], float]
    notes: Sequence[str] = field(default_factory=list)

    @classmethod
    def read(cls, folder: str | Path) -> LiveResult:
        """The replay in a folder, as far as it got."""
        settings, log = read_records(folder)
        notes = Path(folder) / NOTES
        told = notes.read_text(encoding="utf-8").splitlines() if notes.exists() else []
        return cls(settings, log.records, log.seconds, told)

    def facts(self) -> dict[str, object]:
        """Problem, instance, decisions, and the mean of every controller."""
        found: dict[str, object] = {
            "problem": self.settings["problem"],
            "instance": self.settings["instance"],
            "decisions": len(self.records),
        }
        return found | {row.by: significant(row.mean, 4) for row in self.table()}

    @property
    def controllers(self) -> list[str]:
        """Names of the controllers, in the order in which they were given."""
        return [name for name in self.settings["participants"] if name != HINDSIGHT]

    def of(self, by: str) -> list[Record]:
        """The records of one controller."""
        return [record for record in self.records if record.by == by]

    def course(self, by: str) -> tuple[Array, Array]:
        """Times (k,) and objectives (k,) by which a controller is judged.

        Where decisions are made on the previous events, each is judged on the next: the objective
        before the decision that follows it.
        """
        records = self.of(by)
        if self.settings["decide_on"] == "previous":
            judged = [(record.time, record.before) for record in records[1:]]
        else:
            judged = [(record.time, record.after) for record in records]
        times, values = zip(*judged, strict=True) if judged else ((), ())
        return np.array(times), np.array(values)

    def table(self) -> list[Row]:
        """A row per controller, in the order in which they were given."""
        reference = self._reference()
        return [self._row(by, reference) for by in self.controllers if self.of(by)]

    def rows(self) -> list[dict[str, Any]]:
        """The table as plain values; None for what is unknown, such as the mean of nothing."""
        return [{k: None if v != v else v for k, v in asdict(row).items()} for row in self.table()]

    def _reference(self) -> dict[float, float]:
        """The value that regret counts from, by time."""
        found: dict[float, float] = {}
        best = max if self.settings["maximise"] else min
        judges = [HINDSIGHT] if self.of(HINDSIGHT) else []
        for record in (record for by in judges for record in self.of(by)):
            found[record.time] = record.after
        for by in self.controllers:  # a search may also have been beaten
            for time, value in zip(*self.course(by), strict=True):
                known = found.get(float(time))
                found[float(time)] = float(value if known is None else best(known, value))
        return found

    def _row(self, by: str, reference: Mapping[float, float]) -> Row:
        records = self.of(by)
        times, values = self.course(by)
        sign = -1.0 if self.settings["maximise"] else 1.0
        known = np.array([reference[float(time)] for time in times])
        regret = sign * (values - known) / np.where(known == 0.0, 1.0, np.abs(known))
        took = np.array([self.seconds.get((r.round, by), np.nan) for r in records]) * 1000.0
        took = took[~np.isnan(took)]
        worst = 5.0 if self.settings["maximise"] else 95.0
        return Row(
            by=by,
            mean=_mean(values),
            p95=float(np.percentile(values, worst)) if values.size else float("nan"),
            regret=100.0 * _mean(regret),
            overloads=_mean([record.overloads for record in records]),
            unserved=100.0 * _mean([record.unserved for record in records]),
            changes=_mean([record.changes for record in records]),
            late=sum(record.late for record in records),
            refused=sum(bool(record.refused) for record in records),
            milliseconds=_mean(took),
            slowest=float(np.percentile(took, 95.0)) if took.size else float("nan"),
            decisions=len(records),
        )

    def draw(self, path: str | Path) -> None:
        """Write the picture of the day: objective over time, changes as ticks below."""
        from lagco.live.picture import draw_day

        draw_day(self, Path(path))


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
