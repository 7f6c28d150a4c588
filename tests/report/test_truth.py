"""Truth of tables: nothing unsolved as best, no comparison that does not hold, no empty test."""

from __future__ import annotations

import csv
import json
import re

import pytest

import lagco.report
from lagco.report.sections.costs.scalability import _mark_smallest
from lagco.report.tables import Cell, Column
from tests.report.fabricated import MEASURES, Extent, write_ledger
from tests.report.markup import Markup

BASELINES = ("random", "greedy", "solver", "solver-in-time", "annealing")
BRIEF = {
    "problems": ("tsp",),
    "methods": ("projection", "soft-projection"),
    "strategies": ("varied",),
    "missing": 0,
}


def rows_of(page, name):
    with (page.with_suffix(".tables") / f"{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def change_records(folder, kind, change):
    """Rewrite records as the ledger writes them, changed."""
    from lagco.study.records.ledger import RECORD

    for path in (folder / "records" / kind).glob("*.json"):
        whole = json.loads(path.read_text())
        content = {n: whole[n] for n in ("kind", "name", "key", "revision", "spec", "result")}
        content["environment"] = whole["environment"]
        change(content)
        path.unlink()
        RECORD.write_file(path, content, whole["measured"])


@pytest.fixture(scope="module")
def unsolved(tmp_path_factory):
    """The report of a study in which `projection` solved two unseen instances in a hundred."""
    folder = tmp_path_factory.mktemp("unsolved")

    def spoil(content):
        if content["spec"]["config"]["method"] != "projection":
            return
        for instance in [i for i in content["result"]["instances"] if not i["seen"]][2:]:
            count = len(instance["score"])
            instance |= {"score": [0.0] * count, "solver_score": [0.0] * count}
            instance |= {name: [None] * count for name in ("gap", "objective_best", "score_best")}
        for instance in content["result"]["instances"]:
            if instance["gap"] and instance["gap"][0] is not None:
                instance["gap"] = [0.0] * len(instance["gap"])

    study = write_ledger(folder / "study", Extent(**BRIEF))
    change_records(study, "run", spoil)
    return lagco.report.build(study, folder / "report.html")


def test_unsolved_instances_are_counted_and_never_best(unsolved):
    rows = {row["method"]: row for row in rows_of(unsolved, "generalization-gap-best")}
    assert rows["projection"]["tsp varied"] == ""
    assert rows["projection"]["tsp varied note"] == "4/20"  # two of ten, in two runs
    latex = (unsolved.with_suffix(".tables") / "generalization-gap-best.tex").read_text()
    line = next(line for line in latex.splitlines() if line.startswith("projection"))
    assert "4/20" in line and "mathbf" not in line
    soft = next(line for line in latex.splitlines() if line.startswith("soft"))
    assert "mathbf" in soft, "an infinite gap is worse, whichever runs and instances are drawn"


def test_unsolved_instances_count_as_worst_in_ranks(unsolved):
    rows = {row["method"]: row for row in rows_of(unsolved, "overview-gap-varied")}
    assert float(rows["projection"]["rank"]) == len(rows)
    assert rows["projection"]["tsp"] == rows["projection"]["mean"] == ""
    scores = {row["method"]: row for row in rows_of(unsolved, "overview-score-varied")}
    assert float(scores["projection"]["score of the final state tsp"]) == 0.0
    assert "its mean gap over 1 problem" in Markup(unsolved.read_text()).text


def test_another_protocol_is_announced_and_not_compared(report, unsolved):
    for page in (report, unsolved):
        text = Markup(page.read_text()).text
        assert "Not the paper's protocol." in text
        assert "2048 steps instead of 100000" in text and "12 instances instead of 101" in text
    row = rows_of(report, "generalization-score-best")[0]
    assert not any("paper" in name for name in row)
    assert not (report.with_suffix(".tables") / "beside-paper.csv").exists()


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """The report of a study by the paper's protocol."""
    folder = tmp_path_factory.mktemp("papers")
    extent = Extent(**BRIEF | {"instances": 101, "steps": 100_000})
    return lagco.report.build(write_ledger(folder / "study", extent), folder / "report.html")


def test_the_papers_protocol_is_compared_with_the_paper(papers):
    assert "Not the paper's protocol" not in papers.read_text()
    rows = {row["method"]: row for row in rows_of(papers, "generalization-score-best")}
    assert float(rows["projection"]["tsp varied paper"]) == 0.71
    assert float(rows["projection"]["tsp delta paper"]) == -0.13
    assert rows["soft-projection"]["tsp varied paper"] == "", "the paper has no such method"
    (row,) = rows_of(papers, "beside-paper")
    assert float(row["paper"]) == 0.71


def test_the_papers_extended_figures_stand_beside_ours(papers):
    row = rows_of(papers, "statistics-tsp")[0]
    assert row["method"] == "projection"
    assert {name for name in row if name.endswith("paper")} == {
        f"{name} paper" for name in ("iqm", "mean", "p16", "p84", "shapiro_p")
    }
    assert float(row["p16 paper"]) < float(row["mean paper"]) < float(row["p84 paper"])


def test_the_headline_says_who_leads_and_by_how_much(report):
    page = Markup(report.read_text())
    assert page.sections()[0] == "headline"
    text = page.text
    assert "comes closest to the solver: its mean gap over 2 problems is" in text
    assert re.search(
        r"soft-projection: on an unseen instance it is ahead with probability \d+ % \[", text
    )
    assert "Without training, greedy has a mean gap of" in text
    assert "In the same time, solver-in-time has a mean gap of" in text
    assert "training on varied instances gives the largest mean score" in text
    assert "decision time of projection grows clearly more slowly with size" in text
    rows = {row["method"]: row for row in rows_of(report, "overview-gap-varied")}
    assert {"random", "greedy", "solver", "solver-in-time", "annealing"} < rows.keys()
    leader = min(
        (n for n in rows if n not in BASELINES), key=lambda name: float(rows[name]["mean"])
    )
    assert f"{leader} comes closest to the solver" in text


def test_without_a_solver_the_headline_goes_by_scores(tmp_path):
    def unsolvable(content):
        for instance in content["result"]["instances"]:
            instance["measures"] = [m for m in instance["measures"] if m != "gap"]

    study = write_ledger(tmp_path / "study", Extent(**BRIEF))
    for kind in ("run", "policy"):
        change_records(study, kind, unsolvable)
    text = Markup(lagco.report.build(study, tmp_path / "report.html").read_text()).text
    assert "has the largest aggregate score over 1 problem" in text
    assert not (tmp_path / "report.tables" / "overview-gap-varied.csv").exists()


def test_a_caption_is_one_line_and_the_rest_is_folded(report):
    captions = re.findall(r"<figcaption>(.*?)(?:<span|<details|</figcaption>)", report.read_text())
    assert len(captions) > 20
    assert [line for line in captions if len(line) > 110] == []
    assert "<summary>How to read</summary>" in report.read_text()


def test_the_best_is_never_behind_the_next(report):
    for row in rows_of(report, "leaders"):
        assert float(row["difference"]) >= 0


def test_an_exponent_that_may_be_zero_is_not_bold():
    columns = [Column("x", "x")] * 3
    cells = [Cell(0.1, -0.1, 0.3), Cell(0.5, 0.4, 0.6), Cell(0.9, 0.8, 1.0)]
    assert [cell.best for cell in _mark_smallest(cells, columns)] == [False, False, False]
    sure = [Cell(0.2, 0.1, 0.3), *cells[1:]]
    assert [cell.best for cell in _mark_smallest(sure, columns)] == [True, False, False]


def test_problems_and_hyperparameters_are_the_papers(report):
    rows = {row["problem"]: row for row in rows_of(report, "problems")}
    assert rows["tsp"]["growth"] == "O(|V|)" and rows["tsp"]["hard"] == "yes"
    assert rows["ospf"]["components"].startswith("edge (u,v); weight change")
    assert rows["ospf"]["unit"] == "links"
    rows = {(row["space"], row["parameter"]): row for row in rows_of(report, "hyper-parameters")}
    rate = rows["iterative", "learning_rate"]
    assert (rate["range"], rate["paper"]) == ("1e-05; 5e-05; 0.0001", "0.0001")
    assert rows["gae", "layers"]["paper"] == "nnconv, sage"
    assert "(tsp)" in rows["projection", "learning_rate"]["found"]


def test_figures_name_units_and_carry_marks(report):
    page = Markup(report.read_text())
    titles = {f["layout"]["xaxis"].get("title", {}).get("text") for f in page.figures}
    assert {"cities", "links", "routers", "environment steps"} <= titles
    assert "size" not in titles
    curves = [
        t
        for f in page.figures
        if f["layout"]["xaxis"].get("title", {}).get("text") == "environment steps"
        for t in f["data"]
        if "fill" not in t
    ]
    assert curves and all(t["mode"] == "lines+markers" for t in curves)
    assert re.search(r"tsp, 20 cities, cmp@3/5/10 6.1 / 4.9 / –", page.text)
    saved = [a.get("data-save") for tag, a in page.elements if tag == "button"]
    assert saved.count("svg") == saved.count("csv") > 40


def test_problems_without_a_score_show_returns(tmp_path):
    def unscored(content):
        for number, instance in enumerate(content["result"]["instances"]):
            instance["measures"] = ["episode_return"]
            instance["episode_return"] = [float(number)] * len(instance["objective"])
            instance |= {name: [None] * len(instance["objective"]) for name in MEASURES}
        if "curve" in content["result"]:
            content["result"]["curve"]["score"] = [None] * 20

    study = write_ledger(tmp_path / "study", Extent(**BRIEF))
    for kind in ("run", "policy"):
        change_records(study, kind, unscored)
    page = lagco.report.build(study, tmp_path / "report.html")
    rows = {row["method"]: row for row in rows_of(page, "generalization-episode_return-best")}
    assert float(rows["projection"]["tsp varied"]) > 0 and float(rows["random"]["tsp varied"]) > 0
    assert not (page.with_suffix(".tables") / "generalization-score-best.csv").exists()
    titles = {
        f["layout"]["yaxis"].get("title", {}).get("text") for f in Markup(page.read_text()).figures
    }
    assert "return" in titles
