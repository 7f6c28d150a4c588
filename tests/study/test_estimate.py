"""Estimates of the time that a study takes."""

from __future__ import annotations

import re

import pytest

from lagco.study import Ledger
from lagco.study.estimate import _added_up, _work, estimate, to_do
from lagco.study.plan import plan_study
from lagco.study.settings import GeneralizationSettings, ScalabilitySettings, TuneSettings
from lagco.study.task import Task
from tests.study.small import command


def test_rates_add_up(tmp_path):
    ledger = Ledger(tmp_path)
    for problem in ("tsp", "ospf"):
        spec = {"problem": problem, "code": {}}
        ledger.write(Task("data", problem, {**spec, "n": 4}), {}, {"seconds": 8.0})
        ledger.write(Task("encoder", problem, spec), {}, {"seconds": 10.0})
        for method, rate in (("projection", 1000.0), ("iterative", 100.0)):
            measured = {
                "steps_per_s": rate,
                "decisions_per_s": 500.0,
                "episode_steps": 50.0,
                "space_s": 2.0,
            }
            timed = Task("throughput", method, {**spec, "method": method, "features": "full"})
            ledger.write(timed, {}, measured)
    settings = GeneralizationSettings.of(
        problems=("tsp", "ospf"), methods=("projection", "iterative")
    )
    found = _added_up(_work(settings), settings.instances, ledger)
    assert found.runs == 2 * 2 * 20
    assert found.seconds["data"] == pytest.approx(2 * 101 * 2.0)
    assert found.seconds["encoders"] == pytest.approx(2 * 20 * 10.0)
    test_s = 101 * 5 * 50 / 500
    both = 20 * (1 + 2) * test_s  # ospf is tested from two starts
    assert found.seconds["projection"] == pytest.approx(40 * (2 + 100) + both)
    assert found.seconds["iterative"] == pytest.approx(40 * (2 + 1000) + both)
    assert found.seconds["searches in equal time"] == pytest.approx(2 * 3 * test_s)
    assert found.slowest == "iterative"
    alone = found.hours(2) - found.hours(2, without="iterative")
    assert alone == pytest.approx(found.seconds["iterative"] / 7200)


def test_a_search_counts_its_trials(tmp_path):
    """Before the data is made, no trial can be specified; all of them are to do nevertheless."""
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    settings = TuneSettings.of(spaces=("projection", "discrete", "gae"), trials=7, batch=3)
    ledger = Ledger(tmp_path)
    whole = {"data": 1, "trial": 21, "tune": 3}
    assert to_do(settings, ledger) == whole | {"encoder": 1 + 7}
    data = next(iter(plan_study(settings, ledger).tasks))
    instances = [{"size": 5 + i} for i in range(101)]
    ledger.folder(data).mkdir(parents=True)
    ledger.write(data, {"checksum": "c", "instances": instances}, {})
    left = to_do(settings, ledger)
    assert (left["trial"], left["tune"]) == (21, 3) and "data" not in left
    first = [task for task in plan_study(settings, ledger).tasks if task.kind == "trial"]
    ledger.write(first[0], {"value": 0.5}, {})
    assert to_do(settings, ledger)["trial"] == 20


def test_work_of_a_search():
    settings = TuneSettings.of(spaces=("projection", "discrete", "gae"), trials=7)
    work = _work(settings)
    assert work.runs == {"projection": 14, "p-discrete-m": 7}
    assert work.encoders == 1 + 1 + 7 and work.steps == (20_000,)


def test_decision_times_have_a_limit():
    settings = ScalabilitySettings.of("tiny")
    found = estimate(settings, None)
    assert found.at_most and found.hours(1) * 3600 == 3 * len(settings.methods) * 1.0


@pytest.mark.slow
@pytest.mark.parametrize("study", ["tune", "training-time", "throughput", "embeddings"])
def test_dry_run_of_other_studies(tmp_path, study):
    result = command(study, "--out", tmp_path / "x", "--preset", "tiny", "--dry-run")
    assert result.returncode == 0, result.stderr
    if study == "tune":
        assert re.search(r"trial\s+│\s+3", result.stdout)
    assert re.search(r"the whole study on .* workers?: ", result.stdout)
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_dry_run_measures_and_prints(tmp_path):
    options = ("--problems", "tsp", "--methods", "projection,iterative", "--workers", 1)
    result = command(
        "generalization", "--out", tmp_path / "x", "--preset", "tiny", "--dry-run", *options
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"run\s+│\s+4", result.stdout)
    assert re.search(r"whole study on one worker: [\d.]+ (s|min|h)", result.stdout)
    assert re.search(r"without (projection|iterative), the slowest method: ", result.stdout)
    assert not (tmp_path / "x").exists()  # nothing is left behind
