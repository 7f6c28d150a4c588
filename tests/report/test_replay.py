"""The report of a replay: its table, its course, and nothing from outside."""

import csv

import pytest

import lagco
from lagco.errors import LagcoError
from lagco.problems.ospf import OSPF
from lagco.report import build

DAY = OSPF.draw_timeline(OSPF.generate(8, seed=4), seed=1, until=900.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("replay")
    lagco.live(DAY, controllers="hold,greedy", turns=3, max_changes=2, progress=False, out=out)
    return out


def test_the_page_has_the_table_of_the_replay(folder, tmp_path):
    page = build(folder, tmp_path / "report.html")
    text = page.read_text()
    assert "<title>Replay: ospf on ospf-4-0000-1</title>" in text
    assert "4 decisions of 2 controllers, at most 2 changes each, on synthetic events." in text
    with (tmp_path / "report.tables" / "controllers.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    known = lagco.live.LiveResult.read(folder).rows()
    assert [row["by"] for row in rows] == ["hold", "greedy"]
    for row, expected in zip(rows, known, strict=True):
        assert float(row["mean"]) == pytest.approx(expected["mean"], rel=1e-3)


def test_the_page_says_which_matrices_were_missing(tmp_path):
    network = OSPF.generate(8, seed=4)
    table = tmp_path / "series.csv"
    table.write_text("time,source,target,volume\n0,1,2,5\n300,1,2,4\n900,1,2,3\n", encoding="utf-8")
    options = {"controllers": "hold", "turns": 1, "out": tmp_path / "run"}
    result = lagco.live(network, series=table, progress=False, **options)
    note = "1 missing matrix, left out: 600 s"
    assert list(result.notes) == list(lagco.live.LiveResult.read(tmp_path / "run").notes) == [note]
    assert note in build(tmp_path / "run", tmp_path / "report.html").read_text()


def test_the_same_records_give_the_same_bytes(folder, tmp_path):
    pages = [build(folder, tmp_path / name).read_bytes() for name in ("one.html", "two.html")]
    assert pages[0] == pages[1]


def test_damaged_records_are_named(folder, tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    records = copy / "records.jsonl"
    records.write_bytes(b"{broken\n" + records.read_bytes())
    with pytest.raises(LagcoError, match=r"records.jsonl, line 1: damaged"):
        build(copy, tmp_path / "report.html")
