"""`lagco study` as a user types it."""

from __future__ import annotations

import json

import pytest

import lagco.study
from lagco.errors import LagcoError, UsageError
from lagco.study.planning.plan import plan_study
from lagco.study.planning.splits import numbered
from lagco.study.running.execute import last_settings
from lagco.study.settings import (
    BASELINES,
    SETTINGS,
    GeneralizationSettings,
    ScalabilitySettings,
    TrainingTimeSettings,
    known_methods,
)
from tests.study.small import command


def test_status_of_what_was_started_last(smallest):
    result = command("generalization", "--out", smallest.root, "--status")
    assert "5 of 5" in result.stdout, result.stderr
    result = command("generalization", "--out", smallest.root, "--status", "--seeds", "42,100")
    assert "0 of" in result.stdout  # another study


def test_a_users_problem(tmp_path):
    """A class of the user's, by module:Class: the study runs, and no file makes anyone import it."""
    (tmp_path / "mine.py").write_text(
        "from lagco.problems.min_vertex import MinVertex\n"
        "class Mine(MinVertex):\n    name = 'mine'\n"
        "    @classmethod\n    def draw(cls, rng, size=None):\n"
        "        from dataclasses import replace\n"
        "        return replace(super().draw(rng, size), problem='mine')\n"
    )
    common = ("generalization", "--out", "out", "--preset", "tiny", "--problems", "mine:Mine")
    options = ("--methods", "p-discrete-m", "--strategies", "small", "--workers", 1, "--json")
    result = command(*common, *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    assert {row["problem"] for row in rows} == {"mine:Mine"}
    assert {row["method"] for row in rows} == {"p-discrete-m", *BASELINES}
    with pytest.raises(LagcoError, match="not one of lagco's"):
        last_settings("generalization", tmp_path / "out")


def test_settings_of_presets():
    full = GeneralizationSettings.of()
    assert numbered(full.seeds) == [(0, 42), (1, 100), (2, 123), (3, 200), (4, 300)]
    assert (full.instances, full.episodes, full.steps) == (101, 5, (100_000,))
    paper = GeneralizationSettings.of("paper", seeds=[123, 42])
    assert (paper.training, paper.features) == ("paper", ("paper",))
    assert numbered(paper.seeds) == [(2, 123), (0, 42)]  # a subset keeps its place in the whole
    assert numbered((7, 42)) == [(0, 7), (1, 42)]
    sizes = ScalabilitySettings.of()
    assert max(sizes.sizes_of("tsp")) == 1000 and max(sizes.sizes_of("traffic")) == 250


def test_the_full_protocol_has_1120_runs(tmp_path):
    tasks = plan_study(GeneralizationSettings.of(), lagco.study.Ledger(tmp_path)).tasks
    kinds = [task.kind for task in tasks]
    assert kinds.count("run") == 1120 and kinds.count("encoder") == 140
    assert len({task.key for task in tasks}) == len(tasks)


def test_training_time_is_the_papers(tmp_path):
    """Five full `varied` runs of every method on `traffic`, each on 20 of 101 instances."""
    settings = TrainingTimeSettings.of()
    assert settings.workers == 1
    tasks = plan_study(settings, lagco.study.Ledger(tmp_path)).tasks
    timed = [task for task in tasks if task.kind == "training"]
    assert len(timed) == 5 * len(known_methods())
    for task in timed:
        spec, config = task.spec, task.spec["config"]
        assert (spec["problem"], spec["strategy"], spec["instances"]) == ("traffic", "varied", 101)
        assert (len(spec["train"]), config["steps"], config["preset"]) == (20, 100_000, "default")
    assert {task.spec["seed"] for task in timed} == {42, 100, 123, 200, 300}
    first = [set(t.spec["train"]) for t in timed if t.spec["config"]["method"] == "projection"]
    assert len(set().union(*first)) == 100


@pytest.mark.parametrize("preset", ["default", "paper", "released", "smoke", "tiny"])
@pytest.mark.parametrize("study", SETTINGS)
def test_every_study_has_every_preset(study, preset):
    settings = SETTINGS[study].of(preset)
    assert SETTINGS[study].of(**settings.as_dict()) == settings
    if preset in ("paper", "released"):
        assert settings.features == ("paper",)
        assert getattr(settings, "training", preset) == preset


def test_released_settings_reach_instances_encoders_and_agents(tmp_path):
    settings = GeneralizationSettings.of(
        "released", problems=["cyber-path", "tsp"], strategies=["varied"], seeds=[42]
    )
    tasks = plan_study(settings, lagco.study.Ledger(tmp_path)).tasks
    options = {t.spec["problem"]: t.spec.get("options") for t in tasks if t.kind == "data"}
    assert options == {"cyber-path": {"profile": "released"}, "tsp": None}
    assert {t.spec["pretraining"]["max_steps"] for t in tasks if t.kind == "encoder"} == {5000}
    configs = {t.spec["config"]["method"]: t.spec["config"] for t in tasks if t.kind == "run"}
    assert {config["preset"] for config in configs.values()} == {"released"}
    assert configs["g-discrete-m"]["epochs"] == 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problems": ("tps",)}, "did you mean 'tsp'"),
        ({"methods": ("projektion",)}, "did you mean 'projection'"),
        ({"strategies": ("smal",)}, "did you mean 'small'"),
        ({"features": ("ful",)}, "did you mean 'full'"),
        ({"policies": ("greed",)}, "did you mean 'greedy'"),
        ({"preset": "smok"}, "did you mean 'smoke'"),
        ({"seeds": ()}, "is empty; give at least one"),
        ({"episodes": 0}, "at least 1"),
        ({"instances": 3, "preset": "tiny"}, "divided into 5 shares"),
        ({"stepps": (1,)}, "did you mean 'steps'"),
        ({"engine": "lokal"}, "did you mean 'local'"),
        ({"config": {"gama": 1}, "preset": "tiny"}, "did you mean 'gamma'"),
    ],
)
def test_bad_settings(tmp_path, arguments, message):
    with pytest.raises((UsageError, LagcoError), match=message):
        lagco.study.generalization(tmp_path / "x", **arguments)
    assert not list(tmp_path.rglob("*.npz"))


def test_errors_are_one_line(tmp_path):
    for arguments, message in (
        (("generalization", "--out", tmp_path, "--seeds", "a,b"), "give whole numbers from 0"),
        (("tune", "--out", tmp_path, "--status"), "no tune study was started here"),
    ):
        result = command(*arguments)
        assert result.returncode == 1 and message in result.stderr
        assert "Traceback" not in result.stderr
