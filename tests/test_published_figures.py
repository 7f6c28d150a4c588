"""Figures in the documents are those of the records that benchmarks wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import speed

ROOT = Path(__file__).resolve().parents[1]
RECORDS = json.loads((ROOT / "benchmarks" / "results" / "default_agents.json").read_text())
#: rows of README's table of agents, and their records
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
    table = (ROOT / "README.md").read_text().partition("| | greedy | agent |")[2]
    (line,) = re.findall(
        rf"^\| {re.escape(row)}(?: \(.*\))? \|(.*)\|$", table.split("\n\n")[0], re.M
    )
    return [[number.strip() for number in cell.split("/")] for cell in line.split("|")]


@pytest.mark.parametrize("row", ROWS)
def test_readme_shows_what_was_measured(row):
    record = RECORDS[ROWS[row]]
    for policy, shown in zip(("greedy", "agent"), _cells(row), strict=True):
        measured = [record[policy]["first"], record[policy]["best"]][: len(shown)]
        for text, value in zip(shown, measured, strict=True):
            digits = len(text.partition(".")[2])
            assert float(text) == pytest.approx(value, abs=0.5000001 * 10**-digits)


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ("berlin52", "tsplib/berlin52.tsp/tsp"),
        ("kroA100", "tsplib/kroA100.tsp/tsp"),
        ("G1", "gset/G1/max-cut"),
        ("vc-exact_005", "vertex_cover/vc-exact_005.gr/min-vertex"),
        ("abilene", "sndlib/abilene.txt/ospf"),
    ],
)
def test_readme_shows_the_answers_that_were_measured(row, key):
    records = json.loads((ROOT / "benchmarks" / "results" / "real_instances.json").read_text())
    (line,) = re.findall(rf"^\| {row} \(.*$", (ROOT / "README.md").read_text(), re.M)
    shown = [float(cell.split()[0]) for cell in line.split("|")[3:5]]
    found = [records[f"{key}/{who}/2"]["objective"] for who in ("portfolio", "agent")]
    assert shown == pytest.approx(found, abs=5e-5)


@pytest.mark.parametrize("document", speed.DOCUMENTS)
def test_documents_show_the_times_that_were_measured(document):
    text = (ROOT / document).read_text()
    assert "<!-- speed: " in text
    assert speed.filled(text, json.loads(speed.RECORDS.read_text())) == text
