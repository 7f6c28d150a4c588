"""Contents of a ledger, read once and arranged for the sections of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from lagco.errors import LagcoError
from lagco.report.palette import methods_in_order, problems_in_order, strategies_in_order
from lagco.results.measures import MEASURES, RETURN, START_SCORE
from lagco.study import Record, Snapshot, generalization_table, paper_tables
from lagco.study.results.paper import departures, paper_score
from lagco.study.results.scores import transfer
from lagco.study.results.tables import setting_of

#: problem, method and strategy of runs
Place: TypeAlias = tuple[str, str, str]


class _ByClass(Snapshot):
    """A ledger in which ``module:Class`` is called by the name of the class, where that is clear.

    Attributes:
        spelled: by that name, what stands in the files.
    """

    def __init__(self, place: str | Path) -> None:
        super().__init__(place)
        self._renamed: dict[tuple[str, str], Record] = {}
        self._titles: dict[str, str] = {}
        names = {str(record.spec["problem"]) for record in super().records()}
        short = {name: name.rpartition(":")[2] for name in names}
        shared = Counter(short.values())
        self._titles = {n: s for n, s in short.items() if n != s and s and shared[s] == 1}
        self.spelled = {s: n for n, s in self._titles.items()}

    def records(self, kind: str | None = None, *, superseded: bool = False) -> list[Record]:
        """See :class:`Snapshot`."""
        return [self._titled(record) for record in super().records(kind, superseded=superseded)]

    def find(self, kind: str, key: str | None) -> Record:
        """See :class:`Snapshot`."""
        return self._titled(super().find(kind, key))

    def settings(self) -> dict[str, dict[str, Any]]:
        """See :class:`Snapshot`."""
        found = super().settings()
        for study, settings in found.items():
            if isinstance(settings.get("problems"), list):
                problems = [self._titles.get(name, name) for name in settings["problems"]]
                found[study] = {**settings, "problems": problems}
        return found

    def _titled(self, record: Record) -> Record:
        name = record.spec["problem"]
        if name not in self._titles:
            return record
        place = record.kind, record.key
        if place not in self._renamed:
            spec = {**record.spec, "problem": self._titles[name]}
            self._renamed[place] = replace(record, spec=spec)
        return self._renamed[place]


class Study:
    """A ledger as the sections see it.

    Attributes:
        ledger: where everything comes from.
        problems: classes of problems that are not lagco's.
        episodes: whether episodes are to be drawn.
    """

    def __init__(
        self, folder: str | Path, *, problems: Sequence[Any] = (), episodes: bool = True
    ) -> None:
        self.ledger = _ByClass(folder)
        self.problems = tuple(problems)
        self.episodes = episodes and not self.ledger.is_file
        if not self.records():
            raise LagcoError(
                f"{folder}: holds no record of a study; run one first, for instance "
                f"lagco study generalization --out {folder}"
            )

    def records(self, kind: str | None = None) -> list[Record]:
        """All records, or those of a kind."""
        return self.ledger.records(kind)

    def spelled(self, problem: str) -> str:
        """A problem as commands and files name it."""
        return self.ledger.spelled.get(problem, problem)

    # -- runs

    @cached_property
    def _runs(self) -> dict[str, dict[Place, list[Record]]]:
        found: dict[str, dict[Place, list[Record]]] = {}
        for record in self.records("run"):
            found.setdefault(setting_of(record), {}).setdefault(_place(record), []).append(record)
        return found

    @cached_property
    def settings(self) -> list[str]:
        """Settings that runs were made with, the one with most runs first."""
        sizes = {name: sum(map(len, places.values())) for name, places in self._runs.items()}
        return sorted(sizes, key=lambda name: (-sizes[name], name))

    def runs(self, setting: str) -> dict[Place, list[Record]]:
        """Runs by problem, method and strategy."""
        return self._runs[setting]

    def problems_of(self, setting: str) -> list[str]:
        """Problems with runs of a setting."""
        return problems_in_order(problem for problem, _, _ in self._runs[setting])

    def methods_of(self, setting: str) -> list[str]:
        """Methods with runs of a setting."""
        return methods_in_order(method for _, method, _ in self._runs[setting])

    def strategies_of(self, setting: str) -> list[str]:
        """Strategies with runs of a setting."""
        return strategies_in_order(strategy for _, _, strategy in self._runs[setting])

    @cached_property
    def rows(self) -> dict[str, dict[Place, dict[str, Any]]]:
        """Rows of the generalisation table by setting and place, of the best episodes.

        ``main`` is the summary of the measure that the problem has (:meth:`measure_of`).
        """
        found: dict[str, dict[Place, dict[str, Any]]] = {}
        for row in generalization_table(self.ledger, ("score", RETURN), ("best",)):
            if row["strategy"] is not None:
                place = (row["problem"], row["method"], row["strategy"])
                main = row[f"{self.measure_of(row['problem'])}/best"]
                found.setdefault(row["setting"], {})[place] = row | {"main": main}
        return found

    @cached_property
    def _measures(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for record in [*self.records("run"), *self.records("policy")]:
            known = found.setdefault(str(record.spec["problem"]), set())
            for instance in record.result["instances"]:
                known.update(instance["measures"])
        return found

    def measure_of(self, problem: str) -> str:
        """The measure that figures show: the score, or the return where there is none."""
        return "score" if "score" in self._measures.get(problem, ("score",)) else RETURN

    def measures_of(self, setting: str, problem: str | None = None) -> list[str]:
        """Measures that a problem (or any one with runs of a setting) has, in order."""
        problems = self.problems_of(setting) if problem is None else [problem]
        known = set().union(*(self._measures.get(name, set()) for name in problems))
        return [measure for measure in (*MEASURES, START_SCORE, RETURN) if measure in known]

    def departures(self, setting: str) -> list[str]:
        """Points in which the runs of a setting are not by the paper's protocol."""
        return self._departures[setting]

    @cached_property
    def _departures(self) -> dict[str, list[str]]:
        return {
            setting: list(
                dict.fromkeys(
                    point
                    for runs in places.values()
                    for run in runs
                    for point in departures(self.ledger, run)
                )
            )
            for setting, places in self._runs.items()
        }

    @cached_property
    def of_the_paper(self) -> bool:
        """Whether any of the problems is one that the paper is about."""
        known = paper_tables()["generalization"]
        measured = (record for record in self.records() if record.kind != "encoder")
        return any(str(record.spec["problem"]) in known for record in measured)

    @property
    def banner(self) -> str:
        """Protocol of the runs where it is not the paper's; empty where it is, or cannot be."""
        if not self.of_the_paper:
            return ""
        parts = [
            f"Runs with {setting}: {'; '.join(points)}."
            for setting in self.settings
            if (points := self.departures(setting))
        ]
        if not parts:
            return ""
        return " ".join([*parts, "So these runs are not compared with the paper's figures."])

    def paper(self, setting: str, place: Place) -> dict[str, Any] | None:
        """The paper's figures, where the runs there (or all, without any) are by its protocol."""
        runs = self._runs[setting].get(place, ())
        departed = [departures(self.ledger, run) for run in runs] or [self.departures(setting)]
        return None if any(departed) else paper_score(*place)

    def transfer(self, setting: str, place: Place, measure: str) -> float | None:
        """Unseen minus seen of the runs at a place; None where either is missing."""
        return transfer(self._runs[setting].get(place, ()), measure)

    def policies(self, setting: str, problem: str) -> dict[str, Record]:
        """Plain policies on the data that the runs of a setting were tested on."""
        used = {
            record.spec["data_checksum"]
            for (name, _, _), records in self._runs[setting].items()
            for record in records
            if name == problem
        }
        found = {
            str(record.spec["policy"]): record
            for record in self.records("policy")
            if record.spec["data_checksum"] in used and self._values(record)
        }
        return {name: found[name] for name in methods_in_order(found)}

    def _values(self, record: Record) -> bool:
        """Whether a policy has results: searches have none where a problem has no solver."""
        instances = record.result["instances"]
        if self.measure_of(str(record.spec["problem"])) != RETURN:
            return bool(instances)
        return any(value is not None for entry in instances for value in entry[RETURN])

    # -- everything else

    @cached_property
    def failures(self) -> list[dict[str, Any]]:
        """Failures of tasks that were not done since, by kind and name."""
        return self.ledger.failures()

    @cached_property
    def planned(self) -> dict[str, dict[str, Any]]:
        """Settings with which studies were last started, by study."""
        return self.ledger.settings()

    @property
    def title(self) -> str:
        """Heading of the page."""
        return f"Study report: {self.ledger.name}"

    @property
    def lead(self) -> str:
        """Subject of the page, in a sentence."""
        counts = Counter(record.kind for record in self.records())
        problems = {str(record.spec["problem"]) for record in self.records()}
        parts = [count_of(len(problems), "problem")]
        for kind, noun in _NOUNS.items():
            if counts[kind]:
                parts.append(count_of(counts[kind], noun))
        return ", ".join(parts) + "."

    @property
    def footer(self) -> str:
        """Origin of the figures."""
        days = sorted({str(r.measured.get("finished", ""))[:10] for r in self.records()} - {""})
        when = f" of {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else ""
        return (
            f"Made by lagco report from {count_of(len(self.records()), 'record')}{when}. "
            "The page needs no network."
        )


_NOUNS = {
    "run": "training run",
    "latency": "series of timed decisions",
    "training": "timed training run",
    "throughput": "measured rate",
    "embedding": "measured action space",
    "trial": "tuning trial",
}
_PLURALS = {
    "series of timed decisions": "series of timed decisions",
    "entry": "entries",
}


def count_of(count: int, noun: str) -> str:
    """A number and a noun, in the plural where it has to be."""
    return f"{count} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}"


def listed(words: Iterable[str]) -> str:
    """Words as a list in a sentence."""
    *first, last = list(words) or [""]
    return f"{', '.join(first)} and {last}" if first else last


def grouped(records: Iterable[Record], key: Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Records grouped by `key`."""
    found: dict[Any, list[Record]] = {}
    for record in records:
        found.setdefault(key(record), []).append(record)
    return found


def _place(record: Record) -> Place:
    config: Mapping[str, Any] = record.spec["config"]
    return str(record.spec["problem"]), str(config["method"]), str(config["strategy"])
