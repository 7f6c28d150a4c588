"""The page as text: what is on it, that it is safe, and that it is the same every time."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import shutil

import pytest

import lagco.report
from lagco.errors import LagcoError
from lagco.report.blocks import Page, Shown
from lagco.report.contents import SECTIONS
from lagco.report.tables import Column, table
from tests.report.conftest import EVIL, WORD
from tests.report.fabricated import Extent, Writer, write_ledger
from tests.report.markup import Markup


def test_every_section_has_something(report):
    page = Markup(report.read_text())
    assert page.sections() == [section.name for section in SECTIONS]
    empty = [attrs for tag, attrs in page.elements if attrs.get("class") == "empty"]
    assert not empty
    assert len(page.figures) > 40
    links = {attrs["href"] for tag, attrs in page.elements if tag == "a"}
    assert links == {f"#{section.name}" for section in SECTIONS}


def test_the_same_ledger_gives_the_same_bytes(report, ledger, tmp_path):
    copy = shutil.copytree(ledger, tmp_path / ledger.name)
    again = lagco.report.build(copy, tmp_path / "other.html")
    assert again.read_bytes() == report.read_bytes()
    ours, theirs = (
        {path.name: path.read_bytes() for path in page.with_suffix(".tables").iterdir()}
        for page in (report, again)
    )
    assert ours == theirs
    assert {
        "generalization-score-best.tex",
        "generalization-gap-first.csv",
        "runs.csv",
    } <= ours.keys()


def test_the_page_asks_for_nothing(report):
    """Neither links nor the policy let anything in from outside."""
    page = Markup(report.read_text())
    for _, attrs in page.elements:
        for name in ("src", "href", "action", "srcset", "poster"):
            assert (attrs.get(name) or "#").startswith(("#", "data:"))
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy


def test_names_cannot_leave_their_place(hostile):
    page = Markup(hostile.read_text())
    kinds = [kind for kind, _ in page.scripts]
    assert kinds == ["application/octet-stream"] * 2 + [None], "only the page's own script runs"
    policy = next(a["content"] for _, a in page.elements if "http-equiv" in a)
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    scripts = [page.packed[0], page.scripts[-1][1]]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert allowed == hashes, "and plotly, once it is unpacked"
    assert not [a for _, a in page.elements if any(name.startswith("on") for name in a)]
    assert not [a for tag, a in page.elements if tag == "img" and a.get("src") == "x"]
    for name in (
        EVIL,
        f"Imaginary CPU 3000{WORD}",
        f"MemoryError: out of memory{WORD}",
        f"G{WORD}",
    ):
        assert name in page.text, "names are shown as they are"
    for figure in page.figures:
        for trace in figure["data"]:
            assert "<" not in trace.get("name", "")


def test_what_is_missing_is_said(tmp_path):
    """A ledger with one kind of record: a sentence in every other section, no empty figure."""
    writer = Writer(tmp_path / "study")
    spec = {
        "problem": "tsp",
        "policy": "random",
        "data": "0" * 64,
        "code": {"version": "1", "hash": "0"},
    }
    writer.write("policy", "tsp-random", spec, {"instances": [], "summary": None})
    page = Markup(lagco.report.build(tmp_path / "study", tmp_path / "r.html").read_text())
    assert not page.figures
    sentences = [a for _, a in page.elements if a.get("class") == "nothing"]
    assert len(sentences) == len(SECTIONS) - 2  # the overview and the versions are always there
    studies = ("generalization", "scalability", "embeddings", "tune", "training-time", "throughput")
    for command in studies:
        assert f"lagco study {command}" in page.text


def test_errors_name_the_folder(tmp_path):
    with pytest.raises(LagcoError, match="nowhere: no such folder or file"):
        lagco.report.build(tmp_path / "nowhere", tmp_path / "r.html")
    with pytest.raises(LagcoError, match="holds no record.*lagco study"):
        lagco.report.build(tmp_path, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_settings_are_kept_apart(tmp_path):
    folder = tmp_path / "study"
    brief = Extent(problems=("tsp",), methods=("projection", "iterative"), strategies=("small",))
    write_ledger(folder, brief)
    shutil.rmtree(folder / "failures")
    shutil.rmtree(folder / "studies")
    write_ledger(folder, Extent(**(vars(brief) | {"steps": 4096, "missing": 0})))
    page = lagco.report.build(folder, tmp_path / "r.html")
    names = [
        path.name for path in page.with_suffix(".tables").glob("generalization-score-best*.csv")
    ]
    assert len(names) == 2
    assert "4096 steps" in page.read_text()
    assert {"4096" in name for name in names} == {True, False}


def test_tables_of_one_name_are_both_kept():
    page = Page()
    for value in (1, 2):
        shown = Shown(table("same", "", [Column("x", "x")], [[value]]))
        assert f">{value}<" in shown.html(page)
    assert {name: t.rows[0][0].value for name, t in page.tables.items()} == {"same": 1, "same-2": 2}


def test_figures_are_those_of_the_records(report, ledger):
    """One entry of the main table, computed here from the records."""
    import json

    import numpy as np

    found = []
    for path in (ledger / "records" / "run").glob("tsp-projection-varied-*.json"):
        record = json.loads(path.read_text())
        for row in record["result"]["instances"]:
            if not row["seen"]:
                found.append(row["score"])
    ordered = np.sort([max(scores) for scores in found])
    cut = len(ordered) // 4
    with (report.with_suffix(".tables") / "generalization-score-best.csv").open() as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    ours = rows["projection"]
    assert float(ours["tsp varied"]) == pytest.approx(ordered[cut : len(ordered) - cut].mean())
    assert float(ours["tsp varied low"]) == pytest.approx(np.percentile(ordered, 16))
    firsts = np.sort([scores[0] for scores in found])
    with (report.with_suffix(".tables") / "generalization-score-first.csv").open() as stream:
        rows = {row["method"]: row for row in csv.DictReader(stream)}
    assert float(rows["projection"]["tsp varied"]) == pytest.approx(firsts[cut:-cut].mean())


def test_training_times_are_laid_out_as_the_papers(report, tmp_path):
    """A column per run, mean and deviation; the paper's figures only where its protocol is kept."""
    with (report.with_suffix(".tables") / "training-time.csv").open() as stream:
        rows = {(row["problem"], row["method"]): row for row in csv.DictReader(stream)}
    row = rows["tsp", "iterative"]
    assert [float(row[f"seconds of run run {i}"]) for i in (1, 2)] == [300.0, 301.0]
    assert float(row["all runs mean"]) == 300.5 and float(row["all runs std"]) == pytest.approx(
        0.5**0.5
    )
    assert not any("paper" in name for name in row)
    extent = Extent(
        problems=("traffic",), methods=("iterative",), seeds=(42, 100), instances=101, steps=100_000
    )
    page = lagco.report.build(write_ledger(tmp_path / "study", extent), tmp_path / "r.html")
    with (page.with_suffix(".tables") / "training-time.csv").open() as stream:
        (row,) = csv.DictReader(stream)
    assert float(row["seconds of run run 1 paper"]) == 3776.0
    assert float(row["all runs mean paper"]) == pytest.approx(4175.2)


def test_the_configuration_has_the_fields_of_every_method(report):
    with (report.with_suffix(".tables") / "training-configuration.csv").open() as stream:
        rows = {row["field"]: row for row in csv.DictReader(stream)}
    assert "method" not in rows and rows["steps"]["only"] == ""
    assert rows["tau"]["only"] == "iterative" and rows["tau"]["value"] == "1"
    assert "iterative: 0.0001" in rows["learning_rate"]["except"]


def test_missing_and_failed_runs_are_counted(report):
    with (report.with_suffix(".tables") / "tasks.csv").open() as stream:
        rows = {row["what"]: row for row in csv.DictReader(stream)}
    assert rows["training runs"] | {"time": ""} == {
        "what": "training runs",
        "done": "63",
        "failed": "1",
        "missing": "1",
        "time": "",
    }
    assert "63 of 64" in report.read_text()
    assert re.search(r"MemoryError: out of memory", report.read_text())


def test_files_to_download_are_those_beside_the_page(report):
    page = Markup(report.read_text())
    beside = {path.name: path.read_text() for path in report.with_suffix(".tables").iterdir()}
    assert page.files.items() <= beside.items()
    offered = {a["data-file"] for _, a in page.elements if "data-file" in a}
    assert offered == page.files.keys() and len(offered) > 40


def test_the_page_is_small_enough(report):
    assert report.stat().st_size < 3_000_000
