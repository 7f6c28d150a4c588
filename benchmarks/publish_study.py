"""Publish a study: its records, page, tables and figures, and the tables inside the documents.

    python -m benchmarks.publish_study LEDGER

LEDGER is the folder of a study, or the file of records that was published before. Under
docs/results/study go records.jsonl.xz (everything else is made from it alone), report.html with
report.tables, and the figures; in README.md, docs/index.md and docs/results/study.md what stands
between ``<!-- study: NAME -->`` and ``<!-- /study -->`` is written anew.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

import lagco.report
from benchmarks.study_figures import FIGURES
from benchmarks.study_verdicts import (
    iterative_settings,
    masked,
    masked_runs,
    not_reproduced,
    own_settings,
)
from lagco.agents.config import STRATEGIES
from lagco.problem_table import ENTRIES
from lagco.report.palette import LETTERS
from lagco.report.reading import Study, count_of, grouped, listed
from lagco.report.sections.scores.claims import claims_table
from lagco.report.sections.scores.headline import findings
from lagco.report.sections.scores.main_tables import gap_table, score_table, span
from lagco.report.sections.tuning import best_trials
from lagco.report.tables import Cell, Column, plain_columns, shown, table
from lagco.report.writers import to_markdown
from lagco.store import write_atomically
from lagco.study import Record, export, paper_score, training_times
from lagco.study.results.scores import middle, values_of
from lagco.study.settings import known_methods

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path("docs", "results", "study")
RECORDS, PAGE = "records.jsonl.xz", "report.html"
DOCUMENTS = ("README.md", "docs/index.md", "docs/results/study.md")
#: strategy that the main tables show
STRATEGY = "varied"
#: columns of the short table
SHORT = (
    "greedy",
    "iterative",
    "projection",
    "soft-projection",
    "taught-projection",
    "solver-in-time",
)
_BLOCK = re.compile(r"(<!-- study: ([a-z-]+) -->\n).*?(<!-- /study -->)", re.S)
#: kinds of tasks beside training runs, as the table of costs calls them
_KINDS = {
    "data": "instances and their references",
    "encoder": "encoders",
    "policy": "policies and searches that are not trained",
    "latency": "decision times",
    "training": "training runs timed alone",
    "throughput": "rates",
    "embedding": "action spaces",
    "trial": "trials of searches for hyper-parameters",
}


def main() -> None:
    """Publish the study that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ledger", type=Path, help="folder of a study, or the published records")
    publish(parser.parse_args().ledger)


def publish(ledger: Path, root: Path = ROOT) -> None:
    """Write everything that is published."""
    folder = root / FOLDER
    records, page = folder / RECORDS, folder / PAGE
    if ledger.resolve() != records.resolve():
        export(ledger, records, name="study")
    shutil.rmtree(page.with_suffix(".tables"), ignore_errors=True)
    lagco.report.build(records, page)
    study = Study(records)
    for name, draw in FIGURES.items():
        write_atomically(folder / f"{name}.svg", draw(study))
    for document in DOCUMENTS:
        path = root / document
        write_atomically(path, filled(path.read_text("utf-8"), study).encode())
    for path in (records, page):
        print(f"{path.relative_to(root)}: {path.stat().st_size / 1e6:.2f} MB")


def filled(text: str, study: Study) -> str:
    """A document with everything between marks written anew from the records."""
    return _BLOCK.sub(lambda m: f"{m[1]}\n{BLOCKS[m[2]](study)}\n{m[3]}", text)


# -- tables


def _findings(study: Study) -> str:
    found = findings(study, study.settings[0], STRATEGY) or ["Too few runs to compare methods."]
    return not_reproduced(study) + "".join(f"- {sentence}\n" for sentence in found)


def _main_table(study: Study) -> str:
    return to_markdown(score_table(study, study.settings[0], STRATEGY, known_methods()))


def _gap_table(study: Study) -> str:
    found = gap_table(study, study.settings[0], STRATEGY, known_methods())
    return to_markdown(found) if found else "There are no gaps without a solver.\n"


def _short_table(study: Study) -> str:
    """Gaps of some methods, a row per problem, so that it fits on a phone."""
    whole = gap_table(study, study.settings[0], STRATEGY, known_methods())
    if whole is None:
        return "There are no gaps without a solver.\n"
    of = {str(row[0].value): row for row in whole.rows}
    methods = [name for name in SHORT if name in of]
    columns = [Column("problem", "problem")]
    columns += [Column(name, name, digits=2, fewer=True) for name in methods]
    rows = [
        [Cell(column.title), *(of[name][place] for name in methods)]
        for place, column in enumerate(whole.columns)
        if column.key not in ("method", "runs", "rank")
    ]
    return to_markdown(table("", "", columns, rows)) + _rivals(rows[:-1], columns)


def _rivals(rows: Sequence[Sequence[Cell]], columns: Sequence[Column]) -> str:
    """On how many problems the solver, given as much time, is no worse than any method."""
    if columns[-1].key != "solver-in-time":
        return ""
    gaps = [
        [float(shown(c.value, columns[-1])) for c in row[1:] if c.value is not None] for row in rows
    ]
    level = sum(row[-1] <= min(row[:-1]) for row in gaps)
    share = f"{level} of {len(rows)} problems"
    return f"\nThe solver in the same time is as good as the best of them or better on {share}.\n"


def _strategies(study: Study) -> str:
    """Scores of every method by strategy, the paper's below them."""
    setting = study.settings[0]
    letters = " / ".join(LETTERS[strategy] for strategy in STRATEGIES)
    columns = [Column("method", f"method, {letters}"), *(Column(p, p) for p in ENTRIES)]
    rows: list[list[str]] = []
    for method in known_methods():
        ours, theirs = [method], ["paper"]
        for problem in ENTRIES:
            places = [(problem, method, strategy) for strategy in STRATEGIES]
            runs = [study.runs(setting).get(place, ()) for place in places]
            ours.append(_slashes([middle(values_of(r, "score"))[0] for r in runs]))
            paper = [study.paper(setting, place) for place in places]
            theirs.append(_slashes([p and p["iqm"] for p in paper]))
        rows += [ours, theirs] if any(set(cell) - set("–/ ") for cell in theirs[1:]) else [ours]
    return to_markdown(table("", "", columns, rows))


def _slashes(values: Sequence[float | None]) -> str:
    return " / ".join("–" if value is None else f"{value:.2f}" for value in values)


def _paper_settings(study: Study) -> str:
    """Scores of projection by our settings, by the paper's, by both mixed, and in the paper."""
    owners = {"default": "ours", "full": "ours", "paper": "the paper's"}
    columns = [*plain_columns("hyper-parameters", "features", "runs")]
    columns += [Column(p, p, digits=2) for p in ENTRIES]
    rows: list[list[Cell]] = []
    for setting in study.settings:
        runs = [study.runs(setting).get((p, "projection", STRATEGY), []) for p in ENTRIES]
        if any(runs):
            scores = [Cell(middle(values_of(r, "score"))[0]) for r in runs]
            config = next(run for group in runs for run in group).spec["config"]
            whose = owners[config["preset"]], owners[config["features"]]
            rows.append([*map(Cell, whose), Cell(span([len(r) for r in runs if r])), *scores])
    paper = [paper_score(p, "projection", STRATEGY) for p in ENTRIES]
    rows.append(
        [Cell("in the paper"), Cell(), Cell(5), *(Cell(p["iqm"] if p else None) for p in paper)]
    )
    return to_markdown(table("", "", columns, rows))


def _seeds(study: Study) -> str:
    """How far the scores of runs that differ in seed and training instances lie apart."""
    columns = [
        *plain_columns("method", "entries", "runs"),
        Column("median", "median", digits=3),
        Column("largest", "largest", digits=3),
        Column("where", "where"),
    ]
    rows: list[list[Cell]] = []
    for method in known_methods():
        apart: dict[str, float] = {}
        counts: list[int] = []
        for (problem, name, strategy), runs in study.runs(study.settings[0]).items():
            scores = [middle(values_of([run], "score"))[0] or 0.0 for run in runs]
            if name == method and len(scores) > 1:
                apart[f"{problem}, {strategy}"] = max(scores) - min(scores)
                counts.append(len(scores))
        if apart:
            where = max(apart, key=lambda entry: apart[entry])
            spread = Cell(median(apart.values())), Cell(apart[where])
            rows.append([*map(Cell, (method, len(apart), span(counts))), *spread, Cell(where)])
    return to_markdown(table("", "", columns, rows))


def _training_time(study: Study) -> str:
    """Processor seconds of full runs, and their ratios, beside the paper's."""
    reference = "projection"
    rows = {str(row["method"]): row for row in training_times(study.ledger)}
    columns = [
        *plain_columns("method", "runs"),
        Column("seconds", "processor seconds"),
        Column("encoder", "encoder, s", digits=1),
        Column("ratio", f"over {reference}", digits=2),
        Column("paper", "the paper's seconds", digits=0),
        Column("paper ratio", f"over {reference}", digits=2),
    ]
    ours = {method: fmean(row["cpu_s"]) for method, row in rows.items()}
    theirs = {method: fmean(row["paper"]) for method, row in rows.items() if row["paper"]}
    filled_rows = [
        [
            Cell(method),
            Cell(len(row["cpu_s"])),
            Cell(ours[method], min(row["cpu_s"]), max(row["cpu_s"])),
            Cell(fmean(row["encoder_s"]) if row["encoder_s"] else None),
            Cell(ours[method] / ours[reference] if reference in ours else None),
            Cell(theirs.get(method)),
            Cell(theirs[method] / theirs[reference] if method in theirs else None),
        ]
        for method, row in rows.items()
    ]
    return to_markdown(table("", "", columns, filled_rows, "range"))


def _tuning(study: Study) -> str:
    return to_markdown(best_trials(study.records("tune")))


def _claims(study: Study) -> str:
    return to_markdown(claims_table(study, study.settings[0]))


# -- what was run


def _facts(study: Study) -> str:
    """Extent, time and machine, in a sentence or two."""
    records = study.records()
    clock, cpu = (_hours(records, name) for name in ("seconds", "cpu_s"))
    machines = grouped(records, lambda r: str(r.measured.get("host")))
    kinds = Counter(_machine(group) for group in machines.values())
    about = [f"{count_of(n, 'machine')} ({kind})" for kind, n in kinds.items()]
    days = sorted({str(r.measured["finished"])[:10] for r in records})
    versions = records[-1].environment
    written = " and ".join(sorted({record.environment["lagco"] for record in records}))
    return (
        f"{study.lead[:-1]}, {' to '.join(dict.fromkeys((days[0], days[-1])))}: {clock:.1f} hours "
        f"of tasks by the clock, {cpu:.1f} hours of processor time, on {listed(about)}; lagco "
        f"{written}, Python {versions['python']}, torch {versions['torch']}, numpy "
        f"{versions['numpy']}.\n"
    )


def _machine(records: Sequence[Record]) -> str:
    measured = records[0].measured
    parts = [f"{measured['cpu']}"]
    if "cores" in measured:
        parts.append(f"{measured['cores']} cores, {measured['memory_gib']} GiB of memory")
    return ", ".join(parts)


def _hours(records: Sequence[Record], name: str) -> float:
    return sum(float(record.measured.get(name) or 0.0) for record in records) / 3600


def _costs(study: Study) -> str:
    """Runs, seeds and hours of every method, then of everything else."""
    columns = (
        *plain_columns("what", "tasks", "seeds", "entries"),
        Column("clock", "hours", digits=2),
        Column("cpu", "CPU hours", digits=2),
    )
    places = study.runs(study.settings[0])
    of = len(ENTRIES) * len(STRATEGIES)
    rows: list[list[Cell]] = []
    for method in known_methods():
        groups = [runs for place, runs in places.items() if place[1] == method]
        rows.append(
            [
                *(Cell(value) for value in (f"`{method}`", sum(map(len, groups)))),
                Cell(span([len(group) for group in groups])),
                Cell(f"{len(groups)} of {of}"),
                *_both([run for group in groups for run in group]),
            ]
        )
    others = [r for s in study.settings[1:] for runs in study.runs(s).values() for r in runs]
    if others:
        rows.append(_row("runs by other settings", others))
    for kind, words in _KINDS.items():
        if records := study.records(kind):
            rows.append(_row(words, records))
    rows.append(_row("all", study.records()))
    return to_markdown(table("", "", columns, rows)).replace("\\`", "`")


def _row(words: str, records: Sequence[Record]) -> list[Cell]:
    return [Cell(words), Cell(len(records)), Cell(), Cell(), *_both(records)]


def _both(records: Sequence[Record]) -> list[Cell]:
    return [Cell(_hours(records, name)) for name in ("seconds", "cpu_s")]


def _missing(study: Study) -> str:
    """Entries without a run, by method."""
    places = study.runs(study.settings[0])
    parts = []
    for method in known_methods():
        lacking: dict[tuple[str, ...], list[str]] = {}
        for problem in ENTRIES:
            absent = tuple(s for s in STRATEGIES if (problem, method, s) not in places)
            lacking.setdefault(absent, []).append(problem)
        lacking.pop((), None)
        named = [
            f"{', '.join(problems) if len(problems) < len(ENTRIES) else 'all problems'}"
            f"{'' if absent == STRATEGIES else f' ({listed(absent)})'}"
            for absent, problems in lacking.items()
        ]
        if named:
            parts.append(f"- `{method}`: {'; '.join(named)}\n")
    failed = len(study.failures)
    parts += [f"- {count_of(failed, 'task')} failed\n"] if failed else []
    return "".join(parts) or "Every entry has at least one run.\n"


#: what stands between marks, by their names
BLOCKS: dict[str, Callable[[Study], str]] = {
    "findings": _findings,
    "facts": _facts,
    "main-table": _main_table,
    "gap-table": _gap_table,
    "short-table": _short_table,
    "strategies": _strategies,
    "paper-settings": _paper_settings,
    "own-settings": own_settings,
    "masked": masked,
    "masked-runs": masked_runs,
    "iterative-settings": iterative_settings,
    "seeds": _seeds,
    "training-time": _training_time,
    "tuning": _tuning,
    "claims": _claims,
    "costs": _costs,
    "missing": _missing,
}


if __name__ == "__main__":
    main()
