"""Verdicts on the paper's claims follow from the records."""

from __future__ import annotations

import pytest

from lagco.report.reading import Study
from lagco.report.sections import claims as claims_module
from lagco.report.sections.claims import NO, OPEN, PARTLY, YES, claims
from lagco.report.sections.headline import _Results
from lagco.study.aggregates import Estimated, better, shared_problems
from lagco.study.scores import instance_scores
from tests.report.fabricated import Extent, Writer, write_ledger

BRIEF = Extent(
    problems=("tsp", "ospf"), methods=("g-discrete-m", "iterative", "projection"), missing=0
)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Claims by their first words."""
    study = Study(write_ledger(tmp_path_factory.mktemp("claims") / "study", BRIEF))
    return {claim.words: claim for claim in claims(study, study.settings[0])}


def claim(found, start):
    return next(c for words, c in found.items() if words.startswith(start))


def test_a_method_that_is_ahead_everywhere_agrees(found):
    ours = claim(found, "projection generalises better than discrete")
    assert ours.verdict == f"{YES}, so far", "there are four entries only"
    assert ours.ours.startswith("ahead in 4 of 4 entries; better than the best of them on")
    assert ours.ours.endswith("without p-discrete, p-discrete-m and g-discrete")
    assert ours.paper == "ahead in 22 of 28 entries, level in 1"


def test_strategies_are_those_of_the_applied_problem(found):
    ours = claim(found, "varied is the best strategy")
    assert ours.verdict == YES and ours.ours.startswith(
        "best on 1 of 1 problem; mean scores: small"
    )
    assert ours.paper.startswith("best on 4 of 4; mean scores: small 0.73, medium 0.78")


def test_losses_are_compared_over_the_same_entries(found):
    ours = claim(found, "projection loses least")
    assert ours.ours.startswith("mean loss: g-discrete-m 0.")
    assert "4 entries that all of these have" in ours.ours and "projection 0." in ours.ours


def test_times_are_compared_by_exponents_and_ratios(found):
    ours = claim(found, "decision times")
    assert ours.verdict == YES and ours.ours.startswith("smaller exponent on 2 of 2 problems")
    assert ours.paper == "smaller exponent on 7 of 7 problems, medians 0.22 and 1.44"
    cost = claim(found, "projection costs most")
    assert cost.verdict.startswith("agrees in part") and "g-discrete-m 0." in cost.ours


@pytest.mark.parametrize(
    ("costs", "verdict"),
    [
        ({"g-discrete-m": 1.0, "iterative": 2.0, "projection": 3.0}, YES),
        ({"g-discrete-m": 2.0, "iterative": 1.0, "projection": 3.0}, PARTLY),
        ({"g-discrete-m": 3.0, "iterative": 4.0, "projection": 2.0}, NO),
    ],
)
def test_costs_are_compared_in_the_paper_s_order(tmp_path, monkeypatch, costs, verdict):
    monkeypatch.setattr(
        claims_module, "training_cpu", lambda ledger, run: costs[run.spec["config"]["method"]]
    )
    study = Study(write_ledger(tmp_path / "study", BRIEF))
    found = claims_module._training_cost(study, study.settings[0])
    assert found.verdict == f"{verdict}, so far"


def test_what_was_not_measured_is_said(tmp_path):
    brief = Extent(problems=("tsp",), methods=("projection",), strategies=("varied",), missing=0)
    study = Study(write_ledger(tmp_path / "study", brief))
    verdicts = [claim.verdict for claim in claims(study, study.settings[0])]
    assert verdicts.count(OPEN) >= 5 and NO not in verdicts


def test_a_method_that_lacks_runs_does_not_take_problems_out():
    whole = {"tsp": [1.0], "ospf": [1.0]}
    part = {"tsp": [1.0], "ospf": []}
    assert shared_problems({"a": whole, "b": whole, "c": part}) == ["tsp", "ospf"]
    assert shared_problems({"a": whole, "b": part, "c": part}) == ["tsp"]
    assert shared_problems({"a": whole, "b": part}) == ["tsp"]


def test_methods_are_compared_on_the_same_instances():
    """Better by a little everywhere is better, however much instances differ."""
    first = {"tsp": {i: float(i) + 0.01 for i in range(20)}}
    second = {"tsp": {i: float(i) for i in range(5, 25)}}
    assert str(better(first, second, ["tsp"])) == "1.00 [1.00, 1.00]"
    assert better(first, first, ["tsp"]).value == 0.5
    assert better(first, {"tsp": {99: 1.0}}, ["tsp"]) == Estimated(0.5, 0.0, 1.0)


def test_policies_are_shown_on_the_instances_that_agents_were_tested_on(tmp_path):
    brief = Extent(
        problems=("tsp",), methods=("projection",), strategies=("varied",), seeds=(42,), missing=0
    )
    study = Study(write_ledger(tmp_path / "study", brief))
    setting = study.settings[0]
    results = _Results.of(study, setting, "varied")
    tested = instance_scores(results.records["projection"]["tsp"])
    (greedy,) = results.records["greedy"]["tsp"]
    whole = study.policies(setting, "tsp")["greedy"].result["instances"]
    assert [i["index"] for i in greedy.result["instances"]] == list(tested)
    assert len(whole) > len(tested)


def test_policies_count_on_data_that_newer_code_made_again(tmp_path):
    """Newer code makes the same instances under another key."""
    brief = Extent(
        problems=("tsp",), methods=("projection",), strategies=("varied",), seeds=(42,), missing=0
    )
    folder = write_ledger(tmp_path / "study", brief)
    before = Study(folder).policies(Study(folder).settings[0], "tsp")
    greedy = before["greedy"]
    (file,) = folder.glob(f"records/policy/*-{greedy.key[:16]}.json")
    file.unlink()
    Writer(folder).write(
        "policy", greedy.name, {**greedy.spec, "data": "f" * 64}, dict(greedy.result)
    )
    study = Study(folder)
    after = study.policies(study.settings[0], "tsp")
    assert list(after) == list(before)
    assert after["greedy"].spec["data"] == "f" * 64
