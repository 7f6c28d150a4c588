"""The tables of the documents, from the records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.outside.cases import Comparison
from benchmarks.outside.comparisons import COMPARISONS
from benchmarks.outside.measuring import OURS, SECONDS
from lagco.problems import problem_class
from lagco.results.measures import gap
from lagco.store import write_atomically

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ("README.md", "docs/results/outside.md")
_BLOCK = re.compile(r"(<!-- outside: ([a-z-]+) -->\n).*?(<!-- /outside -->)", re.S)
#: of its limit that a solver may take and count as in time
_IN_TIME, _TICK = 1.2, 0.02
#: percent behind others at equal time that the page has to name
NAMED = 1.0

Records = Mapping[str, Mapping[str, Any]]


class Results:
    """The records of a problem.

    Attributes:
        groups: names of the instances, by group.
    """

    def __init__(self, records: Records, comparison: Comparison) -> None:
        self.comparison = comparison
        self._maximise = problem_class(comparison.problem).maximise
        self._found: dict[tuple[str, str, str, float], Mapping[str, Any]] = {}
        self.groups: dict[str, list[str]] = {}
        for key, record in records.items():
            problem, group, name, who, seconds = key.split("/")
            if problem != comparison.problem:
                continue
            self._found[group, name, who, float(seconds)] = record
            names = self.groups.setdefault(group, [])
            if name not in names:
                names.append(name)

    def records(self, group: str, who: str, seconds: float) -> list[Mapping[str, Any]]:
        """Those of all instances of a group, as far as there are any."""
        keys = [(group, name, who, seconds) for name in self.groups[group]]
        return [self._found[key] for key in keys if key in self._found]

    def best(self, group: str, name: str) -> float:
        """The best value of all runs on an instance."""
        values = [
            record["objective"]
            for (of, case, _, _), record in self._found.items()
            if (of, case) == (group, name) and record["objective"] is not None
        ]
        return float((max if self._maximise else min)(values))

    def gaps(self, group: str, who: str, seconds: float) -> list[float | None]:
        """How far each answer is behind the best, in percent; of a bound how far it is beyond."""
        found: list[float | None] = []
        for name in self.groups[group]:
            record = self._found.get((group, name, who, seconds))
            if record is not None:
                value = record["objective"]
                if value is None and who in self.comparison.whole:
                    value = record.get("bound")
                best = self.best(group, name)
                behind = None if value is None else gap(value, best, maximise=self._maximise)
                found.append(behind)
        return found

    def lags(self, group: str, seconds: float) -> list[float]:
        """Per instance by how much ours is behind the best of the others at equal time.

        Where nobody else gives a solution in so little time, behind what is proven, or a bound.
        """
        found = []
        for k, ours in enumerate(self.gaps(group, OURS, seconds)):
            others = [
                gaps[k]
                for who in (*self.comparison.limited, *self.comparison.whole)
                for limit in (seconds, 0.0)
                if k < len(gaps := self.gaps(group, who, limit))
                and gaps[k] is not None
                and self._counts(group, who, limit, seconds)
            ]
            if others and ours is not None:
                found.append(ours - min(others))
        return found

    def _counts(self, group: str, who: str, limit: float, seconds: float) -> bool:
        """Whether a solver keeps the time; proofs and bounds count whatever they take."""
        if who in self.comparison.whole and not self.comparison.limited:
            return True
        records = self.records(group, who, limit)
        if any(record["objective"] is None for record in records):
            return False
        return in_time(records, seconds)


def in_time(records: Sequence[Mapping[str, Any]], seconds: float) -> bool:
    """Whether answers came within the limit, or nearly."""
    return fmean(record["took"] for record in records) <= _IN_TIME * seconds + _TICK


def table(records: Records, comparison: Comparison) -> str:
    """Groups and seconds down, solvers across: percent behind the best known."""
    results = Results(records, comparison)
    who = (OURS, *comparison.limited, *comparison.whole)
    lines = [f"| instances | seconds | {' | '.join(who)} |"]
    lines.append(f"| --- |{' ---: |' * (len(who) + 1)}")
    for group, names in results.groups.items():
        count = "" if names == [group] or len(names) == 1 else f" ({len(names)})"
        for seconds in (*SECONDS, 0.0):
            cells = [_cell(results, group, solver, seconds) for solver in who]
            if any(cell for cell in cells):
                limit = f"{seconds:g}" if seconds else "own stop"
                cells = [cell or "–" for cell in cells]
                lines.append(f"| {group}{count} | {limit} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _cell(results: Results, group: str, who: str, seconds: float) -> str:
    """Mean gap, and the seconds where they are not those of the row."""
    records, gaps = results.records(group, who, seconds), results.gaps(group, who, seconds)
    if not records:
        return ""
    known = [value for value in gaps if value is not None]
    shown = "none" if len(known) < len(gaps) else f"{fmean(known) + 0.0:.2f}"
    shown = "0.00" if shown == "-0.00" else shown
    if in_time(records, seconds):
        return shown
    took = fmean(record["took"] for record in records)
    return f"{shown} ({took:.1f} s)" if took >= 0.1 else f"{shown} ({1000 * took:.0f} ms)"


def rows_behind(records: Records) -> Iterator[tuple[str, str, float, float]]:
    """Problem, group, seconds and mean lag of every row that has others at equal time."""
    for comparison in COMPARISONS.values():
        if not comparison.limited:
            continue
        results = Results(records, comparison)
        for group in results.groups:
            for seconds in SECONDS:
                lags = results.lags(group, seconds)
                if lags:
                    yield comparison.problem, group, seconds, fmean(lags)


def verdict(records: Records) -> str:
    """Where ours is behind by more than so much, in words."""
    rows = list(rows_behind(records))
    behind = [row for row in rows if row[3] > NAMED]
    if not behind:
        most = max(row[3] for row in rows)
        return (
            f"At equal time, answers of `lagco solve` are at most {most:.2f} % behind those of the "
            f"best solver by others, in each of {len(rows)} rows of the tables.\n"
        )
    named = "; ".join(
        f"`{problem}`, {group}, {seconds:g} s ({lag:.2f} %)"
        for problem, group, seconds, lag in behind
    )
    return (
        f"At equal time, answers of `lagco solve` are more than {NAMED:g} % behind those of the "
        f"best solver by others in {len(behind)} of {len(rows)} rows of the tables: {named}.\n"
    )


def short(records: Records) -> str:
    """One line per problem: mean percent behind the others, and the most on one instance."""
    titles = " | ".join(f"{seconds:g} s" for seconds in SECONDS)
    lines = [f"| problem | instances | compared with | {titles} |"]
    lines.append(f"| --- | ---: | --- |{' ---: |' * len(SECONDS)}")
    for comparison in COMPARISONS.values():
        results = Results(records, comparison)
        if not results.groups:
            continue
        cells, count = [], sum(map(len, results.groups.values()))
        for seconds in SECONDS:
            lags = [lag for group in results.groups for lag in results.lags(group, seconds)]
            shown = f"{_zero(fmean(lags)):.2f} ({_zero(max(lags)):.2f})" if lags else "–"
            fewer = f", {len(lags)} of {count}" if 0 < len(lags) < count else ""
            cells.append(shown + fewer)
        others = ", ".join((*comparison.whole, *comparison.limited))
        lines.append(f"| `{comparison.problem}` | {count} | {others} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _zero(value: float) -> float:
    """Without the sign of a zero that rounding makes."""
    return round(value, 2) + 0.0


#: what stands between marks that are not named after a problem
WHOLE: dict[str, Callable[[Records], str]] = {"short": short, "verdict": verdict}


def filled(text: str, records: Records) -> str:
    """A document with everything between marks written anew from the records."""

    def block(match: re.Match[str]) -> str:
        whole = WHOLE.get(match[2])
        shown = table(records, COMPARISONS[match[2]]) if whole is None else whole(records)
        return f"{match[1]}\n{shown}\n{match[3]}"

    return _BLOCK.sub(block, text)


def publish(records: Records) -> None:
    """Write the documents anew."""
    for document in DOCUMENTS:
        path = ROOT / document
        write_atomically(path, filled(path.read_text("utf-8"), records).encode())
