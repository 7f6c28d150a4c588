"""Searches: spaces, proposals that depend on records alone."""

from __future__ import annotations

import pytest

from lagco.agents.config import train_config
from lagco.errors import UsageError
from lagco.study import Ledger
from lagco.study.planning.search_space import paper_space, read_space
from lagco.study.planning.tuning import plan_tune
from lagco.study.settings import TuneSettings

optuna = pytest.importorskip("optuna", reason="needs the extra 'tune'")

_MINE = """
name = "mine"
method = "soft-projection"
[agent]
learning_rate = {low = 1e-5, high = 1e-2, log = true}
epochs = {low = 2, high = 8}
batch_size = [32, 64]
[shape]
layers = [["nnconv", "sage"], ["nnconv"]]
"""


def _settings(path, **changes):
    given = {"spaces": (str(path),), "trials": 12, "batch": 3, "instances": 10, "sizes": "5-8"}
    return TuneSettings.of(**(given | changes))


def _answered(folder, settings, value, batches=99):
    """Carry out a search on paper: every trial is answered by a function of its parameters."""
    ledger = Ledger(folder)
    for _ in range(batches):
        waiting = [task for task in plan_tune(settings, ledger).tasks if not ledger.has(task)]
        if not any(task.kind == "trial" or task.kind == "data" for task in waiting):
            break
        for task in waiting:
            if task.kind == "data":
                instances = [{"size": 5 + i} for i in range(10)]
                ledger.write(task, {"checksum": "c", "instances": instances}, {})
            elif task.kind == "trial":
                ledger.write(task, {"value": value(task.spec["params"])}, {})
    return ledger, plan_tune(settings, ledger).tasks


def _value(params):
    return 1.0 - abs(params["agent.epochs"] - 6) + 0.01 * params["agent.batch_size"]


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(_MINE)
    return path


def test_a_search_that_stops_goes_on_as_if_it_had_not(tmp_path, mine):
    settings = _settings(mine)
    whole, plan = _answered(tmp_path / "whole", settings, _value)
    judgement = plan[-1]
    assert judgement.kind == "tune" and len(judgement.spec["trials"]) == 12
    _answered(tmp_path / "parts", settings, _value, batches=2)
    parts, again = _answered(tmp_path / "parts", settings, _value)
    assert again[-1].key == judgement.key
    assert parts.equals(whole)


def test_it_learns(tmp_path, mine):
    _, plan = _answered(tmp_path, _settings(mine, trials=30), _value)
    epochs = [trial["params"]["agent.epochs"] for trial in plan[-1].spec["trials"]]
    late, early = epochs[20:], epochs[:10]
    assert sum(abs(e - 6) for e in late) / 10 < sum(abs(e - 6) for e in early) / 10


def test_failed_trials_do_not_stop_it(tmp_path, mine):
    def value(params):
        return None if params["agent.batch_size"] == 64 else _value(params)

    _, plan = _answered(tmp_path, _settings(mine), value)
    values = [trial["value"] for trial in plan[-1].spec["trials"]]
    assert len(values) == 12 and None in values


@pytest.mark.parametrize("space", ["discrete", "projection", "iterative", "gae"])
def test_the_paper_preset_trains_with_the_papers_values(tmp_path, space):
    """What is not searched is as in the paper, and so are the features."""
    settings = TuneSettings.of("paper", spaces=(space,), trials=3, batch=3, instances=10)
    _, plan = _answered(tmp_path, settings, lambda params: 0.5)
    trials = [task for task in plan if task.kind == "trial"]
    assert trials
    for task in trials:
        config, searched = task.spec["config"], task.spec["params"]
        usual = train_config(
            method=config["method"], preset="paper", steps=100_000, seed=42, features="paper"
        )
        for name, value in usual.as_dict().items():
            assert config[name] == searched.get(f"agent.{name}", value), name
        assert not config["shaped_rewards"]
    assert {task.spec["features"] for task in plan if task.kind == "encoder"} <= {"paper"}


def test_encoders_are_shared_unless_they_are_searched(tmp_path, mine):
    _, plan = _answered(tmp_path / "a", _settings("projection"), lambda params: 0.5)
    assert len([task for task in plan if task.kind == "encoder"]) == 1
    _, plan = _answered(tmp_path / "b", _settings(mine), _value)
    encoders = [task for task in plan if task.kind == "encoder"]
    assert {len(task.spec["shape"]["layers"]) for task in encoders} == {1, 2}


def test_the_papers_spaces():
    assert paper_space("projection").domains["agent.rollout"] == [512, 1024, 2048]
    assert paper_space("iterative").domains["agent.n_step"] == [1, 3, 5]
    gae = paper_space("gae")
    assert gae.method == "projection"
    assert gae.domains["pretraining.learning_rate"] == [0.00005, 0.0001, 0.001, 0.01, 0.05]
    assert gae.domains["shape.layers"] == [["nnconv", "sage"], ["nnconv", "sage", "sage"]]
    assert gae.domains["shape.activation"] == ["leaky_relu", "relu", "none"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method = 'projektion'\n[agent]\ngamma = [0.9]", "did you mean 'projection'"),
        ("[agent]\ngama = [0.9]", "did you mean 'gamma'"),
        ("[agnt]\ngamma = [0.9]", "did you mean 'agent'"),
        ("[agent]\ngamma = {low = 0.9}", "give a list of choices"),
        ("[agent]\ngamma = {low = 0.99, high = 0.9}", "low < high"),
        ("[agent]\nentropy = {low = 0.0, high = 0.1, log = true}", "positive values"),
        ("name = 'x'", "has no parameters"),
        ("gamma = [0.9]", "unknown key 'gamma'"),
        ("[agent", "not TOML"),
    ],
)
def test_bad_spaces(tmp_path, text, message):
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        read_space(str(path))


def test_unknown_space(tmp_path):
    with pytest.raises(UsageError, match="did you mean 'projection'"):
        read_space("projecton")
    with pytest.raises(UsageError, match="cannot be read"):
        read_space(str(tmp_path / "nowhere.toml"))
