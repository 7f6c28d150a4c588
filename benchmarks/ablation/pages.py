"""The page of the ablation, and its short table, filled from the records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.ablation.records import ABLATION, ENCODINGS, MEASURED, Record, recorded
from benchmarks.speed import table
from lagco.problems import problem_class
from lagco.results.statistics import bootstrap_interval, mean
from lagco.store import write_atomically

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "results" / "ablation.md"
DOCUMENTS = (PAGE, ROOT / "README.md")
_BLOCK = re.compile(r"(<!-- ablation: ([a-z-]+) -->\n)(.*?)(<!-- /ablation -->)", re.S)
PROBLEMS = ("tsp", "min-vertex", "max-cut", "ospf", "traffic", "placement", "cyber-path")
LIVE = ("ospf", "traffic")
#: rows by the names of their records
ROWS = {
    "agent": "the agent",
    "shuffled 1": "shuffled weights",
    "shuffled 2": "shuffled weights, again",
    "greedy": "rule: greedy by preview",
    "rule": "rule: plan or suggestion, then preview",
    "column": "rule: one column",
    "teacher": "the teacher's own search",
    "linear": "linear ranker",
    "no plan": "without the columns of the plan",
    "no embeddings": "without embeddings",
}
LIVE_ROWS = {
    "agent": "the agent",
    "shuffled 1": "shuffled weights",
    "shuffled 2": "shuffled weights, again",
    "column": "rule: one column",
    "linear": "linear scorer",
    "teacher": "all moves previewed",
    "greedy": "greedy",
    "hold": "hold",
}
RULES = ("rule", "column", "greedy")
#: what would be simpler than the agent
SIMPLER = (*RULES, "teacher", "linear", "no plan", "no embeddings")
Records = Mapping[str, Record]


class Difference(NamedTuple):
    """Mean difference to the agent over the same instances, and its 95 % interval.

    Attributes:
        mean: of the differences.
        low: lower end.
        high: upper end.
        verdict: ahead, level or behind, as the interval says.
    """

    mean: float
    low: float
    high: float
    verdict: str


def compared(values: Sequence[float], base: Sequence[float], *, larger: bool) -> Difference:
    """Values against those of the agent, instance by instance; `larger` values may be better."""
    apart = np.array(values, dtype=float) - np.array(base, dtype=float)
    low, high = bootstrap_interval(apart, mean)
    better, worse = (low > 0.0, high < 0.0) if larger else (high < 0.0, low > 0.0)
    return Difference(mean(apart), low, high, "ahead" if better else "behind" if worse else "level")


def values_of(record: Record, which: str) -> list[float]:
    """Values of a record by instance; infinite where there was no solution."""
    return [float("inf") if value is None else float(value) for value in record[which]]


def _number(value: float, digits: int = 3) -> str:
    if abs(value) >= 100.0:
        return f"{value:.0f}"
    return f"{value:.{min(digits, 1 if abs(value) >= 10.0 else 2 if abs(value) >= 1.0 else 3)}f}"


def _with_interval(values: Sequence[float]) -> str:
    low, high = bootstrap_interval(values, mean)
    return f"{_number(mean(values))} [{_number(low)}, {_number(high)}]"


def _difference(record: Record, agent: Record, which: str, *, larger: bool) -> str:
    found = compared(values_of(record, which), values_of(agent, which), larger=larger)
    return f"{found.verdict} ({_number(found.low)} to {_number(found.high)})"


def problem_table(records: Records, problem: str) -> str:
    """A row per policy: first and best of 5, both against the agent, and processor seconds."""
    if f"{problem}/agent" not in records:
        return "Not measured."
    agent, rows = records[f"{problem}/agent"], []
    larger = problem in MEASURED
    for name, shown in ROWS.items():
        record = records.get(f"{problem}/{name}")
        if record is None:
            continue
        if name == "column":
            shown += f" (`{record['by']}`)"
        cells = [_with_interval(values_of(record, which)) for which in ("first", "best")]
        against = ["", ""]
        if name != "agent":
            against = [
                _difference(record, agent, which, larger=larger) for which in ("first", "best")
            ]
        rows.append([shown, *cells, *against, f"{record['seconds']:.1f}"])
    titles = ["", "first", "best of 5", "first, to the agent", "best, to the agent", "s"]
    return table(titles, rows)


def live_table(records: Records) -> str:
    """Mean objective in percent above that of the search that previews all moves."""
    if not all(f"live-{p}/{name}" in records for p in LIVE for name in ("agent", "teacher")):
        return "Not measured."
    rows = []
    for name, shown in LIVE_ROWS.items():
        cells = []
        for problem in LIVE:
            record = records.get(f"live-{problem}/{name}")
            if record is None:
                cells += ["–", "", "–"]
                continue
            above, base = (
                100.0 * (np.array(r["values"]) / records[f"live-{problem}/teacher"]["values"] - 1.0)
                for r in (record, records[f"live-{problem}/agent"])
            )
            verdict = "" if name == "agent" else compared(above, base, larger=False).verdict
            cells += [_with_interval(above), verdict, f"{record['milliseconds']:.1f}"]
        rows.append([shown, *cells])
    titles = [title for problem in LIVE for title in (f"`{problem}`", "to the agent", "ms")]
    return table(["", *titles], rows)


def sizes_table(records: Records) -> str:
    """A row per problem and size: how far linear rankers are from the agents, in percent."""
    from benchmarks.ablation.sizes import PROBLEMS, SIZES

    rows = []
    for problem in PROBLEMS:
        larger = problem_class(problem).maximise
        prefix = f"sizes/{problem}/"
        known = {key.split("/")[2] for key in records if key.startswith(prefix)}
        usual = [str(size) for size in SIZES[problem]]
        for size in [*usual, *sorted(known - set(usual))]:
            agent, linear = (records.get(f"{prefix}{size}/{name}") for name in ("agent", "linear"))
            if agent is None or linear is None:
                continue
            cells = []
            for which in ("first", "best"):
                base = np.array(values_of(agent, which))
                apart = 100.0 * (np.array(values_of(linear, which)) / base - 1.0)
                found = compared(apart, np.zeros(len(apart)), larger=larger)
                span = f"[{_number(found.low)}, {_number(found.high)}]"
                cells += [
                    f"{_number(mean(base))}",
                    f"{_number(found.mean)} {span}, {found.verdict}",
                ]
            seconds = f"{agent['seconds']:.1f} / {linear['seconds']:.1f}"
            rows.append([f"`{problem}` {size}", str(len(agent["first"])), *cells, seconds])
    titles = ["", "instances", "agent, first", "linear, %", "agent, best of 3", "linear, %", "s"]
    return table(titles, rows) if rows else "Not measured."


def features_table(records: Records) -> str:
    """A row per group of features, a column per problem: best of 5, means over the seeds."""
    from benchmarks.ablation.features import GROUPS, PROBLEMS, SEEDS

    rows = []
    for group in GROUPS:
        cells = []
        for problem in PROBLEMS:
            found, base = (
                [records.get(f"features/{problem}/{name}/{seed}") for seed in SEEDS]
                for name in (group, "all")
            )
            if None in found or None in base:
                cells.append("–")
                continue
            values = _over_seeds(found, "best")
            verdict = ""
            if group != "all":
                verdict = f", {compared(values, _over_seeds(base, 'best'), larger=False).verdict}"
            first = mean(_over_seeds(found, "first"))
            cells.append(f"{_number(first)} / {_with_interval(values)}{verdict}")
        rows.append([_GROUPS[group], *cells])
    return table(["", *(f"`{problem}`" for problem in PROBLEMS)], rows)


_GROUPS = {
    "all": "all features",
    "no embeddings": "without embeddings",
    "no attributes": "actions without attributes",
    "no look ahead": "actions without what looks ahead or back",
    "no groups": "observations without groups and numbers of the state",
    "paper": "the paper's features",
}
_KINDS = {
    "gae": "graph auto-encoder",
    "vgae": "variational",
    "random": "random weights",
    "raw": "attributes as they are",
}


def _over_seeds(found: Sequence[Record | None], which: str) -> list[float]:
    """Means over seeds, instance by instance."""
    values = np.array([values_of(record, which) for record in found if record is not None])
    return [float(value) for value in values.mean(axis=0)]


def encodings_table(records: Records) -> str:
    """Rows are encoders and decoders, columns problems: best of 5, means over the seeds."""
    from benchmarks.ablation.encodings import DECODERS, KINDS, PROBLEMS, SEEDS

    rows = []
    for kind in KINDS:
        for decoder in DECODERS:
            cells = []
            for problem in PROBLEMS:
                pairs = [
                    tuple(
                        records.get(f"{problem}/full/{k}/{decoder}/{seed}") for k in (kind, "gae")
                    )
                    for seed in SEEDS
                ]
                pairs = [pair for pair in pairs if None not in pair]
                if not pairs:
                    cells.append("–")
                    continue
                found, base = zip(*pairs, strict=True)
                values = _over_seeds(found, "best")
                each = [mean(values_of(r, "best")) for r in found if r is not None]
                spread = f"{_number(min(each))} to {_number(max(each))}"
                if len(pairs) < len(SEEDS):
                    spread = "one seed" if len(pairs) == 1 else f"{len(pairs)} seeds"
                verdict = ""
                if kind != "gae":
                    against = compared(values, _over_seeds(base, "best"), larger=False)
                    verdict = f", {against.verdict}"
                cells.append(f"{_number(mean(values))} ({spread}){verdict}")
            if set(cells) != {"–"}:
                rows.append([_KINDS[kind], f"`{decoder}`", *cells])
    return table(["encoder", "decoder", *(f"`{problem}`" for problem in PROBLEMS)], rows)


def level_list(records: Records) -> str:
    """What is not behind the agent, problem by problem."""
    lines = []
    for problem in PROBLEMS:
        if f"{problem}/agent" not in records:
            continue
        agent, larger = records[f"{problem}/agent"], problem in MEASURED
        found = []
        for name in SIMPLER:
            record = records.get(f"{problem}/{name}")
            if record is None or (name == "column" and record["by"] == "planned"):
                continue  # a rule that is listed already
            each = {
                which: compared(values_of(record, which), values_of(agent, which), larger=larger)
                for which in ("first", "best")
            }
            if "behind" not in {d.verdict for d in each.values()}:
                spans = " / ".join(f"{_number(d.low)} to {_number(d.high)}" for d in each.values())
                found.append(f"{ROWS[name].removeprefix('rule: ')} ({spans})")
        lines.append(f"- `{problem}`: {'; '.join(found) if found else 'nothing that was measured'}")
    return "\n".join(lines)


def short_table(records: Records) -> str:
    """A row per problem: first / best of 5; a sign where that is level with the agent or ahead."""
    rows = []
    for problem in PROBLEMS:
        if f"{problem}/agent" not in records:
            continue
        agent, larger = records[f"{problem}/agent"], problem in MEASURED
        cells = [_pair(agent)]
        known = [n for n in RULES if f"{problem}/{n}" in records]
        reached = {n: mean(values_of(records[f"{problem}/{n}"], "best")) for n in known}
        rule = (max if larger else min)(known, key=lambda n: reached[n])
        for name in ("shuffled 1", rule, "linear", "no embeddings"):
            record = records.get(f"{problem}/{name}")
            if record is None:
                cells.append("–")
                continue
            verdicts = [
                compared(values_of(record, w), values_of(agent, w), larger=larger).verdict
                for w in ("first", "best")
            ]
            cells.append(_pair(record) + ("" if "behind" in verdicts else " ="))
        rows.append([f"`{problem}`", *cells])
    titles = ["", "agent", "weights shuffled", "best rule", "linear ranker", "no embeddings"]
    note = "`=`: not behind the agent by a 95 % interval over 20 fresh instances, in both."
    return f"{table(titles, rows).rstrip()}\n\n{note}\n"


def _pair(record: Record) -> str:
    return " / ".join(_number(mean(values_of(record, which))) for which in ("first", "best"))


TABLES: dict[str, Callable[[], str]] = {
    **{p: (lambda p=p: problem_table(recorded(ABLATION), p)) for p in PROBLEMS},
    "level": lambda: level_list(recorded(ABLATION)),
    "live": lambda: live_table(recorded(ABLATION)),
    "sizes": lambda: sizes_table(recorded(ABLATION)),
    "features": lambda: features_table(recorded(ABLATION)),
    "encodings": lambda: encodings_table(recorded(ENCODINGS)),
    "short": lambda: short_table(recorded(ABLATION)),
}


def filled(text: str) -> str:
    """A document with everything between marks written anew from the records."""
    return _BLOCK.sub(lambda m: f"{m[1]}\n{TABLES[m[2]]().strip()}\n\n{m[4]}", text)


def publish() -> None:
    """Fill the page, and README.md where it has the marks."""
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        if "<!-- ablation: " in text:
            write_atomically(document, filled(text).encode())
