"""Figures in the documents are those of the records that benchmarks wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import few_changes, learning_alone, live_traffic, own_problems, speed
from benchmarks.ablation import pages
from benchmarks.outside import measuring, tables
from benchmarks.outside.comparisons import COMPARISONS

ROOT = Path(__file__).resolve().parents[1]
RECORDS = json.loads((ROOT / "benchmarks" / "results" / "default_agents.json").read_text())
#: rows of the short table of default agents, and their records
ROWS = {
    "`tsp`, 100 cities": "tsp/100/20262/20",
    "`tsp`, 1000 cities": "tsp/1000/20262/3",
    "`min-vertex`": "min-vertex/paper/20262/20",
    "`max-cut`": "max-cut/paper/20262/20",
    "`ospf`": "ospf/paper/20262/20",
    "`traffic`": "traffic/paper/20262/20",
    "`placement`": "placement/paper/20262/20",
    "`cyber-path`": "cyber-path/paper/20262/20",
}


def _cells(row):
    page = ROOT / "docs" / "results" / "default-agents.md"
    table = page.read_text().partition("| | greedy | agent |")[2]
    (line,) = re.findall(
        rf"^\| {re.escape(row)}(?: \(.*\))? \|(.*)\|$", table.split("\n\n")[0], re.M
    )
    return [[number.strip() for number in cell.split("/")] for cell in line.split("|")]


@pytest.mark.parametrize("row", ROWS)
def test_the_short_table_of_agents_shows_what_was_measured(row):
    record = RECORDS[ROWS[row]]
    for policy, shown in zip(("greedy", "agent"), _cells(row), strict=True):
        measured = [record[policy]["first"], record[policy]["best"]][: len(shown)]
        for text, value in zip(shown, measured, strict=True):
            digits = len(text.partition(".")[2])
            assert float(text) == pytest.approx(value, abs=0.5000001 * 10**-digits)


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ("berlin52.tsp | tsp", "tsplib/berlin52.tsp/tsp"),
        ("kroA100.tsp | tsp", "tsplib/kroA100.tsp/tsp"),
        ("G1 | max-cut", "gset/G1/max-cut"),
        ("vc-exact_005.gr | min-vertex", "vertex_cover/vc-exact_005.gr/min-vertex"),
        ("abilene.txt | ospf", "sndlib/abilene.txt/ospf"),
    ],
)
def test_the_answers_for_real_instances_are_those_that_were_measured(row, key):
    records = json.loads((ROOT / "benchmarks" / "results" / "real_instances.json").read_text())
    page = (ROOT / "docs" / "results" / "real-instances.md").read_text()
    (line,) = re.findall(rf"^\| {re.escape(row)} \|.*$", page, re.M)
    shown = [float(line.split("|")[place].split()[0]) for place in (7, 5)]
    found = [records[f"{key}/{who}/2"]["objective"] for who in ("portfolio", "agent")]
    assert shown == pytest.approx(found, abs=5e-5)


@pytest.mark.parametrize("document", speed.DOCUMENTS)
def test_documents_show_the_times_that_were_measured(document):
    text = (ROOT / document).read_text()
    assert "<!-- speed: " in text
    assert speed.filled(text, json.loads(speed.RECORDS.read_text())) == text


@pytest.mark.slow
def test_the_page_about_few_weights_shows_the_trade_off(tmp_path):
    import lagco

    page = (ROOT / "docs" / "how-to" / "change-few-weights.md").read_text()
    table = page.partition("changes  objective\n")[2].partition("```")[0]
    shown = {int(row.split()[0]): float(row.split()[1]) for row in table.splitlines()}
    network = lagco.sample("metro", tmp_path)
    matrices = [tmp_path / "metro-morning.csv", tmp_path / "metro-evening.csv"]
    answer = lagco.solve(network, demands=matrices, trade_off=True, turns=60, progress=False)
    found = {trade.changes: round(trade.objective, 4) for trade in answer.trade_off}
    assert found == shown


def test_the_tables_of_own_problems_are_those_that_were_measured():
    text = own_problems.DOCUMENT.read_text()
    assert text.count("<!-- table: ") == len(own_problems.PROBLEMS) + 3
    assert own_problems.filled(text, own_problems.recorded()) == text


def test_solvers_by_others_are_shown_as_they_were_measured():
    records = measuring.recorded()
    assert {key.split("/")[0] for key in records} == set(COMPARISONS)
    for document in tables.DOCUMENTS:
        text = (ROOT / document).read_text()
        assert tables.filled(text, records) == text
    page = (ROOT / tables.DOCUMENTS[1]).read_text()
    for name in (*tables.WHOLE, *COMPARISONS):
        assert page.count(f"<!-- outside: {name} -->") == 1
    behind = [row for row in tables.rows_behind(records) if row[-1] > tables.NAMED]
    first = page.partition("<!-- /outside -->")[0]
    assert all(f"`{problem}`, {group}, {limit:g} s" in first for problem, group, limit, _ in behind)


def test_a_lag_is_that_behind_the_best_who_keeps_the_time():
    values = {"lagco/1": 104.0, "fast-tsp/1": 103.0, "OR-Tools/1": 102.0, "LKH/0": 100.0}
    records = {f"tsp/g/0/{who}": {"objective": v, "took": 1.0} for who, v in values.items()}
    results = tables.Results(records, COMPARISONS["tsp"])
    assert results.lags("g", 1.0) == pytest.approx([4.0])
    assert results.lags("g", 10.0) == []
    records["tsp/g/0/LKH/0"]["took"] = 3.0
    results = tables.Results(records, COMPARISONS["tsp"])
    assert results.lags("g", 1.0) == pytest.approx([2.0])
    assert "0.00 (3.0 s)" in tables.table(records, COMPARISONS["tsp"])
    assert "`tsp`, g, 1 s (2.00 %)" in tables.verdict(records)


def test_the_page_about_few_changes_shows_what_was_measured():
    page, records = few_changes.PAGE.read_text(), json.loads(few_changes.RESULTS.read_text())
    assert few_changes.filled(page, records) == page
    behind = [few_changes.behind(records, key) for key in records if "/portfolio/2/5" in key]
    text, near = " ".join(page.split()), sum(gap <= 1.0 for gap in behind)
    assert f"at most {max(behind):.2f} % above the best known" in text
    assert f"within 1 % on {near} of the {len(behind)} networks" in text


def test_the_page_about_deciding_live_shows_what_was_measured():
    page = live_traffic.PAGE.read_text()
    records, events = (
        json.loads(file.read_text()) for file in (live_traffic.RESULTS, live_traffic.EVENTS)
    )
    assert set(live_traffic.PARTS) <= set(records)
    assert live_traffic.filled(page, records, events) == page
    for record in records.values():  # means are those of the courses, and the search is not last
        for row in record["rows"]:
            values = record["values"][row["by"]]
            assert row["mean"] == pytest.approx(sum(values) / len(values), rel=0.05)


@pytest.mark.parametrize("document", pages.DOCUMENTS)
def test_documents_show_what_the_ablation_measured(document):
    text = document.read_text("utf-8")
    assert pages.filled(text) == text
    if document == pages.PAGE:
        assert text.count("<!-- ablation: ") == len(pages.TABLES)


def test_learning_is_shown_as_it_was_measured():
    records = json.loads((ROOT / "benchmarks" / "results" / "learning.json").read_text())
    page = (ROOT / "docs" / "results" / "training-speed.md").read_text()
    table = page.partition("\n## Learning\n")[2].partition("What follows")[0]
    shown = [line.split(" | ")[:4] for line in table.splitlines() if line.startswith("| `")]
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for record in records:
        runs.setdefault((record["problem"], record["method"]), []).append(record)
    assert shown == [
        [
            f"| `{problem}`",
            f"`{method}`",
            ", ".join(str(run["seed"]) for run in found),
            ", ".join(f"{run['score_best/best']:.3f}" for run in found),
        ]
        for (problem, method), found in runs.items()
    ]


def test_the_page_about_learning_alone_shows_what_was_measured():
    page, records = learning_alone.DOCUMENT.read_text(), learning_alone.recorded()
    assert page.count("<!-- table: ") == len(learning_alone.TARGETS)
    assert learning_alone.filled(page, records) == page
    text = " ".join(page.split())
    for problem, target in learning_alone.TARGETS.items():
        (own,) = learning_alone.values_of(records, problem, "own episodes", "best")
        assert f"{own.mean():.{target.digits}f}" in text
    (soft,) = learning_alone.values_of(records, "ospf", "soft-projection", "best")
    (long,) = learning_alone.values_of(records, "ospf", "soft-projection, 300000 steps", "best")
    assert f"({long.mean():.1f} without the preview, {soft.mean():.1f} after 100000 steps" in text
    for problem, target in learning_alone.TARGETS.items():
        rows = (learning_alone.LONG_ROW, *learning_alone.PREVIEWS)
        found = [np.mean(records[f"{problem}/validation/{row}/42"]["best"]) for row in rows]
        shown = [f"{value:.{target.digits}f}" for value in found]
        assert f"({', '.join(shown[:3])} and {shown[3]}" in text
        chosen = rows[int(np.argmax(target.sign * np.array(found)))]
        (tested,) = learning_alone.values_of(records, problem, chosen, "best")
        assert f"{tested.mean():.{target.digits}f}" in text
    (own,) = learning_alone.values_of(records, "ospf", "own episodes", "best")
    ahead = learning_alone.scored([own - soft])
    shown = f"{ahead.value:.1f} ({ahead.low:.1f} to {ahead.high:.1f}) ahead of learning from own"
    assert shown in text
