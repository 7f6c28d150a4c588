"""Verdicts on the paper's claims follow from the records."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.report.reading import Study
from lagco.report.sections.scores import claims as claims_module
from lagco.report.sections.scores.claims import claims
from lagco.report.sections.scores.score_claims import EntryScores
from lagco.report.sections.scores.standing import Results
from lagco.report.sections.scores.verdicts import NO, OPEN, PARTLY, YES
from lagco.results.resampling import Estimated, Scores
from lagco.study.results.aggregates import better, clearly_best, mean_difference, shared_problems
from lagco.study.results.scores import instance_scores
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
    assert ours.ours.startswith(
        "ahead in 4 of 4 entries, level in 0, behind in 0 (small 2/0/0, varied 2/0/0); better than "
        "the best of them with probability"
    )
    assert ours.ours.endswith("without p-discrete, p-discrete-m and g-discrete")
    assert ours.paper.startswith("ahead in 22 of 28 entries, level in 1, behind in 5 (small 6/0/1")


def test_strategies_are_those_of_the_applied_problem(found):
    ours = claim(found, "varied is the best strategy")
    assert ours.ours.startswith("mean scores on 1 problem: small 0.")
    assert "varied minus small: " in ours.ours
    assert ours.paper.startswith("best on 4 of 4; mean scores: small 0.73, medium 0.78")


def test_losses_are_compared_over_the_same_entries(found):
    ours = claim(found, "projection loses least")
    assert ours.ours.startswith("mean loss: g-discrete-m 0.")
    assert "4 entries that all of these have" in ours.ours and "projection 0." in ours.ours


def test_times_are_compared_by_exponents_and_ratios(found):
    ours = claim(found, "decision times")
    assert ours.ours.startswith("smaller exponent on 2 of 2 problems")
    assert ours.verdict == YES and "95 % intervals, smaller on 2 and larger on 0" in ours.ours
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
    one, none = Scores.of([(1.0, 0, 0)]), Scores.of([])
    whole = {"tsp": one, "ospf": one}
    part = {"tsp": one, "ospf": none}
    assert shared_problems({"a": whole, "b": whole, "c": part}) == ["tsp", "ospf"]
    assert shared_problems({"a": whole, "b": part, "c": part}) == ["tsp"]
    assert shared_problems({"a": whole, "b": part}) == ["tsp"]


def test_methods_are_compared_on_the_same_instances():
    """Better by a little everywhere is better, however much instances differ."""
    first = {"tsp": Scores.of((i + 0.01, 0, i) for i in range(20))}
    second = {"tsp": Scores.of((i, 0, i) for i in range(5, 25))}
    assert str(better(first, second, ["tsp"])) == "1.00 [1.00, 1.00]"
    assert better(first, first, ["tsp"]).value == 0.5
    other = {"tsp": Scores.of([(1.0, 0, 99)])}
    assert better(first, other, ["tsp"]) == Estimated(0.5, 0.0, 1.0)


def of_runs(*levels):
    """Scores of runs around these levels on the same 40 instances."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 40)
    return {
        "tsp": Scores.of((v + e, r, i) for r, v in enumerate(levels) for i, e in enumerate(noise))
    }


def test_what_lies_within_the_spread_between_runs_is_no_difference():
    """However many instances agree on it."""
    wide, high, alike = of_runs(0.5, 0.9), of_runs(0.8, 0.82), of_runs(0.8, 0.81)
    found = mean_difference(high, wide, ["tsp"])
    assert found.value > 0.05 and found.low < 0
    assert better(high, wide, ["tsp"]).low < 0.5 < better(high, wide, ["tsp"]).value + 0.01
    assert clearly_best({"a": high, "b": wide}, ["tsp"]) is None
    assert clearly_best({"a": of_runs(0.95, 0.96), "b": wide, "c": alike}, ["tsp"]) == "a"
    gaps = {"a": of_runs(5.0, 5.1), "b": of_runs(9.0, 9.1)}
    assert clearly_best(gaps, ["tsp"], smallest=True) == "a"
    assert clearly_best({"a": of_runs(0.95), "b": wide}, ["tsp"]) is None, "one run says nothing"
    unsolved = {"tsp": Scores.of((np.inf, r, i) for r in (0, 1) for i in range(40))}
    assert clearly_best({"a": gaps["a"], "b": unsolved}, ["tsp"], smallest=True) == "a"
    assert clearly_best({"a": unsolved, "b": unsolved}, ["tsp"], smallest=True) is None


def test_an_entry_is_level_where_its_runs_differ_as_much(tmp_path):
    study = Study(write_ledger(tmp_path / "study", BRIEF))
    scores = EntryScores(study, study.settings[0])
    place, rival = ("tsp", "projection", "varied"), ("tsp", "g-discrete-m", "varied")
    assert scores.standing(place, rival) == "ahead" and scores.standing(rival, place) == "behind"
    scores._spreads[place] = scores.ours[place] - scores.ours[rival] + 0.01
    assert scores.standing(place, rival) == "level"
    assert scores.standing(place, place) == "level"


def test_policies_are_shown_on_the_instances_that_agents_were_tested_on(tmp_path):
    brief = Extent(
        problems=("tsp",), methods=("projection",), strategies=("varied",), seeds=(42,), missing=0
    )
    study = Study(write_ledger(tmp_path / "study", brief))
    setting = study.settings[0]
    results = Results.of(study, setting, "varied")
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
