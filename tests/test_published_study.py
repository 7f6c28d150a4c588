"""The published study: documents agree with its records, and its page is made from them again."""

from __future__ import annotations

import base64
import json
import lzma
import re
import zlib
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
    assert "<!-- study: main-table -->" in text and "<!-- study: facts -->" in text


def test_a_changed_figure_would_be_noticed(study):
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.search(r"<!-- study: main-table -->(.*?)<!-- /study -->", text, re.S)[1]
    number = re.search(r"\| projection \|.*?(\d\.\d\d)", table)
    changed = text.replace(table, table.replace(number[1], "9.99"))
    assert filled(changed, study) == text != changed


def test_the_readme_shows_scores_of_the_records(study):
    """One row, computed here from the records alone."""
    import numpy as np

    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"<!-- study: main-table -->\s*(.*?)\s*<!-- /study -->", text, re.S)[1]
    head, _, *rows = ([c.strip() for c in line.strip("|").split("|")] for line in block.split("\n"))
    shown = dict(zip(head, next(row for row in rows if row[0] == "projection"), strict=True))
    compared = 0
    for problem in head[2:]:
        scores = [
            max((s for s in instance["score"] if s is not None), default=0.0)
            for record in study.records("run")
            if record.spec["problem"] == problem
            and record.spec["strategy"] == "varied"
            and record.spec["config"]["method"] == "projection"
            and record.spec["config"]["preset"] == "default"
            and record.spec["config"]["features"] == "full"
            for instance in record.result["instances"]
            if not instance["seen"]
        ]
        if scores:
            ordered = np.sort(scores)
            cut = len(ordered) // 4
            mean = ordered[cut : len(ordered) - cut].mean()
            assert float(shown[problem].split(" ")[0].strip("*")) == pytest.approx(mean, abs=0.0051)
            compared += 1
        else:
            assert shown[problem].startswith("–")
    assert compared


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
