"""The published study: documents agree with its records, and its page is made from them again."""

from __future__ import annotations

import base64
import json
import lzma
import re
import zlib
from math import inf
from pathlib import Path

import pytest

import lagco.report
from benchmarks.publish_study import BLOCKS, DOCUMENTS, FOLDER, PAGE, RECORDS, filled
from benchmarks.study_figures import FIGURES
from lagco.report.reading import Study

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / FOLDER


@pytest.fixture(scope="module")
def study():
    return Study(PUBLISHED / RECORDS)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_in_documents_are_those_of_the_records(study, document):
    text = (ROOT / document).read_text("utf-8")
    assert filled(text, study) == text
    assert "<!-- study: short-table -->" in text or "<!-- study: main-table -->" in text


def test_a_changed_figure_would_be_noticed(study):
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.search(r"<!-- study: short-table -->(.*?)<!-- /study -->", text, re.S)[1]
    number = re.search(r"\| tsp \|.*?(\d+\.\d+)", table)
    changed = text.replace(table, table.replace(number[1], "9.99"))
    assert filled(changed, study) == text != changed


def of_projection(study, problem):
    """Unseen instances of its runs by our settings that were trained on varied instances."""
    wanted = {"method": "projection", "preset": "default", "features": "full"}
    return [
        instance
        for record in study.records("run")
        if record.spec["problem"] == problem and record.spec["strategy"] == "varied"
        if wanted.items() <= record.spec["config"].items()
        for instance in record.result["instances"]
        if not instance["seen"]
    ]


def middle_half(values):
    ordered = sorted(values)
    cut = len(ordered) // 4
    kept = ordered[cut : len(ordered) - cut]
    return sum(kept) / len(kept)


def shown_table(document, name):
    text = (ROOT / document).read_text("utf-8")
    block = re.search(rf"<!-- study: {name} -->\s*(.*?)\s*<!-- /study -->", text, re.S)[1]
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in block.split("\n")
        if line.startswith("|")
    )
    return {row[0]: dict(zip(head, row, strict=True)) for row in rows}


def test_the_readme_shows_gaps_of_the_records(study):
    """One column, computed here from the records alone."""
    rows = shown_table("README.md", "short-table")
    assert len(rows) == 8  # seven problems and the mean over them
    for problem, row in rows.items():
        found = of_projection(study, problem)
        if found:
            gaps = (min((g for g in i["gap"] if g is not None), default=inf) for i in found)
            text = row["projection"].strip("*")
            digits = len(text.partition(".")[2])
            assert float(text) == pytest.approx(middle_half(gaps), abs=0.501 * 10**-digits)
        else:
            assert problem == "mean"


def test_the_main_table_shows_scores_of_the_records(study):
    row = shown_table("docs/results/study.md", "main-table")["projection"]
    assert len(row) == 9  # method, runs and seven problems
    for problem in list(row)[2:]:
        scores = [
            max((s for s in i["score"] if s is not None), default=0.0)
            for i in of_projection(study, problem)
        ]
        text = row[problem].split(" ")[0].strip("*")
        assert float(text) == pytest.approx(middle_half(scores), abs=0.0051)


def test_the_page_says_what_random_play_and_others_reach_on_placement(study):
    """Mean of the normalised terms, best of the test episodes on unseen instances."""

    def level(records):
        return middle_half(
            max(v for v in i["objective"] if v is not None)
            for record in records
            for i in record.result["instances"]
            if not i["seen"]
        )

    placement = [r for r in study.records() if r.spec["problem"] == "placement"]
    random, solver = (
        level(r for r in placement if r.spec.get("policy") == name) for name in ("random", "solver")
    )
    wanted = {"method": "projection", "preset": "paper", "features": "paper"}
    runs = [r for r in placement if r.kind == "run" and wanted.items() <= r.spec["config"].items()]
    text = " ".join((ROOT / "docs/results/study.md").read_text("utf-8").split())
    assert f"{random:.2f} for random play, {level(runs):.2f} for `projection`" in text
    assert f"and {solver:.2f} for the solver" in text


def test_bold_is_what_an_interval_says(study):
    """No method is bold where another one has a single run."""
    for document in DOCUMENTS:
        text = (ROOT / document).read_text("utf-8")
        assert "by the interval of the difference" in text or "by a 95 % interval" in text
    rows = shown_table("docs/results/study.md", "gap-table")
    single = any(row["runs"] in ("1", "1–2") for row in rows.values())
    bold = [cell for row in rows.values() for cell in row.values() if "**" in cell]
    assert not (single and bold)


def test_every_mark_is_used_and_every_file_is_there():
    named = {n for d in DOCUMENTS for n in re.findall(r"study: ([a-z-]+)", (ROOT / d).read_text())}
    assert named == set(BLOCKS)
    for name in FIGURES:
        drawing = (PUBLISHED / f"{name}.svg").read_text("utf-8")
        assert drawing.startswith("<?xml") and len(drawing) < 400_000
    assert (PUBLISHED / PAGE).stat().st_size < 5_000_000
    assert (PUBLISHED / RECORDS).stat().st_size < 12_000_000


def test_nothing_published_tells_of_a_place():
    text = lzma.decompress((PUBLISHED / RECORDS).read_bytes()).decode()
    hosts = set()
    for line in text.splitlines()[1:]:
        measured = json.loads(line)["measured"]
        assert "pid" not in measured and measured["cores"] and measured["memory_gib"]
        hosts.add(measured["host"])
    assert all(re.fullmatch(r"machine \d+", host) for host in hosts)
    page = (PUBLISHED / PAGE).read_text("utf-8")
    for published in (text, *_unpacked(page)):
        assert not re.findall(r"/(?:home|root|tmp|work|lab|wt|usr|opt|var|mnt)/[^\"\s]*", published)


def _unpacked(page):
    """A page with the texts that it carries compressed: how bytes are packed depends on zlib."""
    pattern = r'(<script type="application/octet-stream" id="packed-\w+">)([^<]*)'
    packed = [zlib.decompress(base64.b64decode(p)).decode() for _, p in re.findall(pattern, page)]
    return [re.sub(pattern, r"\1", page), packed[1]]


@pytest.mark.slow
def test_the_records_give_the_published_page_and_tables(tmp_path):
    made = lagco.report.build(PUBLISHED / RECORDS, tmp_path / PAGE)
    ours, theirs = (
        {path.name: path.read_bytes() for path in page.with_suffix(".tables").iterdir()}
        for page in (made, PUBLISHED / PAGE)
    )
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    pages = [path.read_text("utf-8") for path in (made, PUBLISHED / PAGE)]
    assert _unpacked(pages[0]) == _unpacked(pages[1])
