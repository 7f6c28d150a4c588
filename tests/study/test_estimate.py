"""What a study will take, before it is begun."""

from __future__ import annotations

import re

import pytest

from lagco.study import Ledger
from lagco.study.estimate import _added_up, to_do
from lagco.study.plan import plan_study
from lagco.study.settings import GeneralizationSettings, TuneSettings
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
    found = _added_up(settings, ledger)
    assert found.runs == 2 * 2 * 20
    assert found.seconds["data"] == pytest.approx(2 * 101 * 2.0)
    assert found.seconds["encoders"] == pytest.approx(2 * 20 * 10.0)
    test_s = 101 * 5 * 50 / 500
    assert found.seconds["projection"] == pytest.approx(40 * (2 + 100 + test_s))
    assert found.seconds["iterative"] == pytest.approx(40 * (2 + 1000 + test_s))
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
    ledger.write(data, {"checksum": "c", "instances": instances}, {})
    left = to_do(settings, ledger)
    assert (left["trial"], left["tune"]) == (21, 3) and "data" not in left
    first = [task for task in plan_study(settings, ledger).tasks if task.kind == "trial"]
    ledger.write(first[0], {"value": 0.5}, {})
    assert to_do(settings, ledger)["trial"] == 20


def test_dry_run_of_a_search(tmp_path):
    pytest.importorskip("optuna", reason="needs the extra 'tune'")
    options = ("--preset", "tiny", "--trials", 6, "--dry-run")
    result = command("tune", "--out", tmp_path / "x", *options)
    assert result.returncode == 0, result.stderr
    assert re.search(r"trial\s+│\s+6", result.stdout)
    assert re.search(r"encoder\s+│\s+1", result.stdout)


@pytest.mark.slow
def test_dry_run_measures_and_prints(tmp_path):
    options = ("--problems", "tsp", "--methods", "projection,iterative", "--workers", 1)
    result = command(
        "generalization", "--out", tmp_path / "x", "--preset", "tiny", "--dry-run", *options
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"run\s+│\s+4", result.stdout)
    assert re.search(r"whole study on 1 workers: \d+\.\d hours", result.stdout)
    assert re.search(r"without (projection|iterative): \d+\.\d hours", result.stdout)
    assert not (tmp_path / "x").exists()  # nothing is left behind
