"""Reports on problems of one's own speak of them alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import lagco
from lagco.report.reading import Study
from lagco.report.sections.scores.generalization import _lines_said
from tests.report.fabricated import SMALL, write_ledger

OWN = "mine.problems:DepotLocation"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own") / "study"
    write_ledger(folder, replace(SMALL, problems=(OWN,)))
    return folder


@pytest.fixture(scope="module")
def page(study):
    found = lagco.report.build(study, study.parent / "report.html").read_text()
    return re.sub(r"<(script|style).*?</\1>", "", found, flags=re.DOTALL)


def test_problems_have_the_names_of_their_classes(page, study):
    assert "DepotLocation" in page
    assert f">{OWN}<" not in page
    assert f"lagco report --problem {OWN}" in page, "where a command is shown, it can be given"
    found = Study(study)
    assert {record.spec["problem"] for record in found.records("run")} == {"DepotLocation"}
    assert found.spelled("DepotLocation") == OWN
    assert found.planned["generalization"]["problems"] == ["DepotLocation"]
    assert found.runs(found.settings[0])


def test_classes_of_one_name_keep_their_modules(tmp_path):
    names = ("a:Depots", "b:Depots", "c:Sites")
    write_ledger(tmp_path / "s", replace(SMALL, problems=names, methods=("projection",)))
    found = {record.spec["problem"] for record in Study(tmp_path / "s").records("run")}
    assert found == {"a:Depots", "b:Depots", "Sites"}


def test_the_paper_has_nothing_to_say_about_them(page, study):
    assert 'id="claims"' not in page and "The paper's claims" not in page
    assert "Not the paper's protocol" not in page
    assert "the paper has 5" not in page
    assert not Study(study).of_the_paper


def test_beside_one_of_the_papers_all_stays(tmp_path):
    extent = replace(SMALL, problems=("tsp", OWN), methods=("projection",))
    write_ledger(tmp_path / "s", extent)
    assert Study(tmp_path / "s").of_the_paper
    found = lagco.report.build(tmp_path / "s", tmp_path / "report.html").read_text()
    assert 'id="claims"' in found


def test_only_the_baselines_that_there_are_are_explained(study, monkeypatch):
    found = Study(study)
    setting = found.settings[0]
    assert "solver" in _lines_said(found, setting)
    monkeypatch.setattr(Study, "policies", lambda *_: {"random": None, "greedy": None})
    assert _lines_said(found, setting) == (
        " Horizontal lines: baselines without training (dotted: random; dashed: greedy)."
    )
    monkeypatch.setattr(Study, "policies", lambda *_: {})
    assert _lines_said(found, setting) == ""
