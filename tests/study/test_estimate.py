"""Estimates of the time that a study takes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lagco.study import Ledger
from lagco.study.planning.costs import FinishedTasks, ShortRuns, short_runs
from lagco.study.planning.estimate import _added_up, _work, estimate, to_do
from lagco.study.planning.plan import plan_study
from lagco.study.settings import GeneralizationSettings, ScalabilitySettings, TuneSettings
from lagco.study.task import Task
from tests.study.small import command


def _short_runs(folder, rates):
    """Ledger of short runs: data at 2 s per instance, encoders at 10 s, rates by method."""
    ledger = Ledger(folder)
    for problem in ("tsp", "ospf"):
        spec = {"problem": problem, "features": "full", "code": {}}
        ledger.write(Task("data", problem, {**spec, "n": 4}), {}, {"cpu_s": 8.0})
        ledger.write(Task("encoder", problem, spec), {}, {"cpu_s": 10.0})
        for method, rate in rates.items():
            measured = {
                "steps_per_s": rate,
                "decisions_per_s": 500.0,
                "episode_steps": 50.0,
                "space_s": 2.0,
            }
            ledger.write(Task("throughput", method, {**spec, "method": method}), {}, measured)
    return ShortRuns(ledger)


def test_rates_add_up(tmp_path):
    short = _short_runs(tmp_path / "short", {"projection": 1000.0, "iterative": 100.0})
    settings = GeneralizationSettings.of(
        problems=("tsp", "ospf"), methods=("projection", "iterative")
    )
    nothing = FinishedTasks(Ledger(tmp_path / "study"), settings)
    found = _added_up(settings, _work(settings), nothing, short)
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


def _study_of(ledger, settings, train_cpu_s, test_cpu_s=10.0):
    """Finish all tasks of a study that can be specified, with the times given."""
    for task in plan_study(settings, ledger).tasks:
        if task.kind == "data":
            made = {"checksum": "c", "instances": [{"size": 5 + i} for i in range(10)]}
            ledger.write(task, made, {"cpu_s": 20.0})
    for task in plan_study(settings, ledger).tasks:
        if task.kind == "encoder":
            ledger.write(task, {}, {"cpu_s": 7.0})
        elif task.kind == "run":
            done = {"training": {"steps": task.spec["config"]["steps"]}}
            times = {"cpu_s": train_cpu_s + test_cpu_s, "train_cpu_s": train_cpu_s}
            ledger.write(task, done, times)


@pytest.fixture
def finished(tmp_path):
    """A ledger with two runs of 512 steps, 64 s each and 10 s of tests; and their settings."""
    settings = GeneralizationSettings.of("tiny", problems=("tsp",), methods=("taught-projection",))
    ledger = Ledger(tmp_path)
    _study_of(ledger, settings, 64.0)
    return ledger, settings


def test_finished_runs_need_no_measuring(finished):
    """Engine None: nothing can be run."""
    ledger, settings = finished
    found = estimate(settings, ledger, None)
    (row,) = found.rows
    assert (row["runs"], row["source"]) == (2, "2 runs")
    assert (row["train_s"], row["test_s"]) == pytest.approx((64.0, 10.0))
    assert found.seconds["data"] == pytest.approx(20.0)
    assert found.seconds["encoders"] == pytest.approx(14.0)


def test_finished_runs_of_other_lengths_are_scaled(finished):
    ledger, settings = finished
    longer = replace(settings, steps=(5120,), seeds=(1, 2, 3), episodes=4)
    (row,) = estimate(longer, ledger, None).rows
    assert (row["train_s"], row["test_s"]) == pytest.approx((640.0, 20.0))
    _study_of(ledger, replace(settings, steps=(4096,)), 100.0)
    (row,) = estimate(longer, ledger, None).rows
    assert row["train_s"] == pytest.approx(125.0)  # of those with nearly as many steps


@pytest.mark.parametrize(
    "change",
    [
        {"problems": ("ospf",)},
        {"methods": ("soft-projection",)},
        {"features": ("paper",)},
        {"training": "paper"},
        {"sizes": "5-9"},
        {"config": {"rollout": 256, "envs": 8, "epochs": 2}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_runs_do_not_count(finished, change):
    ledger, settings = finished
    other = replace(settings, **change)
    lacking = FinishedTasks(ledger, other).lacking(other.problems[0], other.methods)
    assert lacking == other.methods


def test_only_what_is_unknown_is_measured(finished):
    ledger, settings = finished
    more = replace(settings, methods=("projection", "taught-projection"))
    assert FinishedTasks(ledger, more).lacking("tsp", more.methods) == ("projection",)
    timed = short_runs(more, ["tsp"], ("projection",))
    assert (timed.sizes, timed.sweeps, timed.training) == ("5-8", 20, "default")
    assert timed.config == {"rollout": 512, "envs": 4, "epochs": 2}


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


def test_decision_times_have_a_limit(tmp_path):
    settings = ScalabilitySettings.of("tiny")
    found = estimate(settings, Ledger(tmp_path), None)
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
    # methods without a latent space: nothing is pre-trained, a sixth of the time of the others
    options = ("--problems", "tsp", "--methods", "p-discrete,p-discrete-m", "--workers", 1)
    result = command(
        "generalization", "--out", tmp_path / "x", "--preset", "tiny", "--dry-run", *options
    )
    assert result.returncode == 0, result.stderr
    assert re.search(r"run\s+│\s+4", result.stdout)
    assert re.search(r"whole study on one worker: [\d.]+ (s|min|h)", result.stdout)
    assert re.search(r"without p-discrete(-m)?, the slowest method: ", result.stdout)
    assert not (tmp_path / "x").exists()  # nothing is left behind
