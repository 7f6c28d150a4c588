"""Runs that go on: more steps, callbacks, validation and patience, loggers, devices."""

from __future__ import annotations

import csv
import sys
import types

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import (
    BaseCallback,
    CheckpointCallback,
    EvalCallback,
    StopTrainingOnMaxEpisodes,
)

import lagco
from lagco.agents.registry import METHODS
from lagco.agents.teaching.teachers import make_teacher
from lagco.agents.training.trainer import Trainer
from lagco.errors import LagcoError, MissingExtra, UnknownName, UsageError
from lagco.problems import problem_class
from tests.agents.runs import instances, settings, trained
from tests.latent.conftest import brief_encoder

WEIGHTS = "agent.safetensors"


def run(out, method="projection", **options):
    given = settings(method) | {"encoder": brief_encoder("tsp"), "method": method} | options
    return lagco.train("tsp", instances(), out, **given)


def rows(folder, name="progress.csv"):
    return list(csv.DictReader((folder / name).open()))


class Interrupt(BaseCallback):
    """Breaks a run off, as a kill would, in the middle of a rollout."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def _on_step(self):
        if self.num_timesteps >= self.at:
            raise KeyboardInterrupt
        return True


# -- more steps


@pytest.mark.parametrize("method", ["projection", "iterative"])
def test_more_steps_go_on_from_a_finished_run(method, tmp_path):
    constant = {"exploration": 0.0} if method == "iterative" else {}
    first = run(tmp_path / "twice", method, steps=512, **constant)
    assert first.description["training"]["steps"] == 512
    again = run(tmp_path / "twice", method, steps=1024, **constant)
    assert again.description["training"]["steps"] == 1024
    run(tmp_path / "once", method, steps=1024, **constant)
    once, twice = ((tmp_path / name) for name in ("once", "twice"))
    assert (once / WEIGHTS).read_bytes() == (twice / WEIGHTS).read_bytes()
    assert [row["steps"] for row in rows(once)] == [row["steps"] for row in rows(twice)]


def test_fewer_steps_than_were_done_change_nothing(tmp_path):
    run(tmp_path, steps=512)
    before = (tmp_path / WEIGHTS).stat().st_mtime_ns
    assert run(tmp_path, steps=256).description["training"]["steps"] == 512
    assert (tmp_path / WEIGHTS).stat().st_mtime_ns == before


def test_a_trainer_learns_so_many_more_steps(tmp_path):
    options = settings("projection") | {"encoder": brief_encoder("tsp")}
    trainer = lagco.agents.training.trainer.Trainer("tsp", instances(), tmp_path / "a", **options)
    assert trainer.steps == 0
    trainer.learn(512)
    assert trainer.steps == 512
    agent = trainer.learn(512)
    assert agent.description["training"]["steps"] == trainer.steps == 1024
    run(tmp_path / "b", steps=1024)
    assert (tmp_path / "a" / WEIGHTS).read_bytes() == (tmp_path / "b" / WEIGHTS).read_bytes()


def test_a_falling_rate_falls_over_all_steps_of_the_run(tmp_path):
    seen = []

    def note(found, _):
        seen.append(found["self"].lr_schedule(found["self"]._current_progress_remaining))
        return True

    falling = {"method": "soft-projection", "anneal": True, "learning_rate": 1e-3}
    run(tmp_path, steps=512, **falling)
    run(tmp_path, steps=1024, callbacks=note, **falling)
    assert seen[-1] == pytest.approx(1e-3 * 256 / 1024)
    assert max(seen[2:]) <= 1e-3


def test_a_run_without_a_checkpoint_says_how_to_go_on(tmp_path):
    run(tmp_path, steps=256, keep_checkpoint=False)
    assert not (tmp_path / "checkpoint.safetensors").exists()
    assert run(tmp_path, steps=256).description["training"]["steps"] == 256
    with pytest.raises(UsageError, match="256 steps but no checkpoint to go on from.*init="):
        run(tmp_path, steps=512)


def test_a_saved_agent_decides_the_same(tmp_path):
    agent = lagco.load(trained("projection"))
    agent.save(tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == (trained("projection") / WEIGHTS).read_bytes()
    other = lagco.load(tmp_path)
    assert (
        agent.solve(instances()[0], seed=1).episodes == other.solve(instances()[0], seed=1).episodes
    )
    with pytest.raises(LagcoError, match="an agent but no run"):
        run(tmp_path)


# -- callbacks


def test_callbacks_of_stable_baselines_work(tmp_path):
    space = lagco.load(trained("projection")).space
    env = lagco.wrap(problem_class("tsp")(instances()[0]), space)
    evaluation = EvalCallback(env, eval_freq=64, n_eval_episodes=1, log_path=str(tmp_path / "eval"))
    run(tmp_path / "run", steps=512, callbacks=[evaluation], logger="csv")
    assert len(evaluation.evaluations_timesteps) == 2
    assert rows(tmp_path / "run", "metrics.csv")[-1]["eval/mean_reward"] != ""


@pytest.mark.parametrize("method", ["soft-projection", "iterative"])
def test_models_can_be_saved_by_a_callback(method, tmp_path):
    saving = CheckpointCallback(save_freq=32, save_path=str(tmp_path / "models"))
    run(tmp_path / "run", method, steps=256, callbacks=saving)
    assert len(list((tmp_path / "models").glob("*.zip"))) == 2


@pytest.mark.parametrize("method", ["projection", "iterative"])
def test_a_run_that_a_callback_stopped_can_go_on(method, tmp_path):
    stop = StopTrainingOnMaxEpisodes(max_episodes=2)
    stopped = run(tmp_path, method, steps=512, callbacks=stop)
    assert 0 < stopped.description["training"]["steps"] < 512
    assert run(tmp_path, method, steps=512).description["training"]["steps"] >= 512


@pytest.mark.parametrize("wrong", [3, [EvalCallback], "stop"])
def test_what_is_no_callback_is_refused(wrong, tmp_path):
    with pytest.raises(UsageError, match="callbacks=.*give callbacks of Stable-Baselines3"):
        run(tmp_path, callbacks=wrong)


# -- validation


@pytest.mark.parametrize(
    "method", ["projection", "soft-projection", "taught-projection", "p-discrete-m"]
)
def test_the_bundle_holds_the_best_weights_of_an_interrupted_run_too(method, tmp_path):
    checked = {"validation": instances()[1:], "evaluate_every": 512, "steps": 2048}
    agent = run(tmp_path / "whole", method, **checked)
    for at in (700, 1400):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "broken", method, callbacks=Interrupt(at), **checked)
    run(tmp_path / "broken", method, **checked)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert (whole / WEIGHTS).read_bytes() == (broken / WEIGHTS).read_bytes()
    curves = [[row["validation"] for row in rows(folder)] for folder in (whole, broken)]
    assert curves[0] == curves[1]
    values = {
        int(row["steps"]): float(row["validation"]) for row in rows(whole) if row["validation"]
    }
    assert sorted(values) == [512, 1024, 1536, 2048]
    best = agent.description["training"]["validation"]
    assert best["value"] == pytest.approx(max(values.values()), abs=1e-5)
    assert values[best["steps"]] == max(values.values())
    result = lagco.evaluate(agent, instances()[1:], episodes=1).results
    assert np.mean([r.episodes[0].score_best for r in result]) == pytest.approx(best["value"])


def test_patience_stops_a_run_until_there_is_more_of_it(tmp_path):
    still = {"learning_rate": 1e-30, "weight_decay": 0.0, "validation": instances()[:1]}
    still |= {"evaluate_every": 256, "steps": 4096}
    stopped = run(tmp_path, patience=2, **still)
    assert stopped.description["training"]["steps"] == 768  # the first is the best, two are not
    assert stopped.description["training"]["validation"]["steps"] == 256
    assert run(tmp_path, patience=2, **still).description["training"]["steps"] == 768
    assert run(tmp_path, patience=4, **still).description["training"]["steps"] == 1280


def test_patience_needs_validation_instances(tmp_path):
    with pytest.raises(UsageError, match="patience=2 counts evaluations.*give validation="):
        run(tmp_path, patience=2)


def test_the_command_line_validates_and_goes_on(tmp_path):
    from typer.testing import CliRunner

    from lagco.cli import app

    for name, seed in (("train", 1), ("valid", 2)):
        lagco.generate("tsp", 2, out=tmp_path / name, sizes=8, sweeps=5, seed=seed, progress=False)
    brief_encoder("tsp").save(tmp_path / "encoder")
    command = ["train", "tsp", "--data", str(tmp_path / "train"), "--out", str(tmp_path / "agent")]
    command += ["--encoder", str(tmp_path / "encoder"), "--validation", str(tmp_path / "valid")]
    command += ["--evaluate-every", "256", "--set", "rollout=256", "--logger", "csv", "--json"]
    for steps in ("256", "512"):
        found = CliRunner().invoke(app, [*command, "--steps", steps])
        assert found.exit_code == 0, found.output
    training = lagco.load(tmp_path / "agent").description["training"]
    assert training["steps"] == 512
    assert [row["validation"] != "" for row in rows(tmp_path / "agent")] == [True, True]
    assert len(rows(tmp_path / "agent", "metrics.csv")) == 2
    found = CliRunner().invoke(app, [*command, "--steps", "512", "--seed", "3"])
    assert "holds another run" in f"{found.output}{found.exception}"


# -- loggers


def test_metrics_of_the_update_are_logged(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, steps=1024, logger="tensorboard,csv", callbacks=Interrupt(700))
    run(tmp_path, steps=1024, logger="tensorboard,csv")
    table = rows(tmp_path, "metrics.csv")
    assert [row["steps"] for row in table] == ["256", "512", "768", "1024"]
    wanted = {
        *("train/loss", "train/policy_gradient_loss", "train/value_loss", "train/entropy_loss"),
        *("train/approx_kl", "train/clip_fraction", "train/explained_variance"),
        *("train/learning_rate", "time/fps", "episodes/score"),
    }
    assert wanted <= set(table[0])
    assert all(np.isfinite(float(row[name])) for row in table for name in wanted)
    board = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert wanted <= set(board.Tags()["scalars"])


def test_weights_and_biases_gets_the_same_metrics(tmp_path, monkeypatch):
    logged, begun = [], []
    fake = types.ModuleType("wandb")

    class Run:
        def log(self, values, step):
            logged.append((step, values))

        def finish(self):
            logged.append("finished")

    def init(**options):
        begun.append(options)
        return Run()

    fake.init = init
    monkeypatch.setitem(sys.modules, "wandb", fake)
    run(tmp_path, steps=512, logger="wandb")
    assert begun[0]["project"] == "lagco" and begun[0]["config"]["method"] == "projection"
    assert [entry[0] for entry in logged[:-1]] == [256, 512]
    assert "train/approx_kl" in logged[0][1]
    assert logged[-1] == "finished"


def test_loggers_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match=r"logger='csv,wandb' needs 'wandb'.*lagco\[wandb\]"):
        run(tmp_path, logger="csv,wandb")
    with pytest.raises(UnknownName, match="unknown logger 'cvs': did you mean 'csv'"):
        run(tmp_path, logger="cvs")


# -- devices


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_device_that_is_missing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="device='cuda': torch finds no CUDA device"):
        run(tmp_path, device="cuda")
    with pytest.raises(UsageError, match="device='cuda': torch finds no CUDA device"):
        lagco.pretrain("tsp", instances(), device="cuda", progress=False)
    with pytest.raises(UsageError, match="unknown device 'gpu'"):
        run(tmp_path, device="gpu")
    run(tmp_path / "auto", steps=256, device="auto")
    run(tmp_path / "cpu", steps=256)
    assert (tmp_path / "auto" / WEIGHTS).read_bytes() == (tmp_path / "cpu" / WEIGHTS).read_bytes()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("method", tuple(METHODS))
def test_every_method_learns_on_cuda(method, tmp_path):
    agent = run(tmp_path / "agent", method, steps=512, device="cuda")
    more = run(
        tmp_path / "more", method, steps=512, device="cuda", init=tmp_path / "agent", encoder=None
    )
    run(tmp_path / "agent", method, steps=1024, device="cpu")
    for found in (agent, more):
        assert all(np.isfinite(array).all() for array in found.weights.values())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("variational", [False, True])
def test_pre_training_on_cuda_reaches_what_the_cpu_does(variational):
    config = lagco.embedding.EncoderConfig(variational=variational)
    training = lagco.embedding.PretrainConfig(states=60, max_steps=50)
    losses = []
    for device in ("cpu", "cuda"):
        encoder = lagco.pretrain(
            "tsp", instances(), config=config, training=training, device=device, progress=False
        )
        losses.append(sum(row["loss"] for row in encoder.curves if row["step"] == 25))
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


# -- numbers that are none


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("function", "number .* of the observation is nan"),
        ("attribute", "node attribute 'gain': row 0 is not a finite number"),
        ("reward", "the reward is nan"),
    ],
)
def test_numbers_that_are_none_stop_a_run_at_once(what, message, tmp_path):
    class Broken(problem_class("max-cut")):
        armed = False

        def steps_left(self, view):
            return float("nan") if self.armed and what == "function" else super().steps_left(view)

        def step(self, action):
            observation, reward, *rest = super().step(action)
            if self.armed and what == "reward":
                reward = rest[-1]["shaped_reward"] = float("nan")
            if self.armed and what == "attribute":
                self.graph_views()["graph"].set_node("gain", 0, np.nan)
            return observation, reward, *rest

    seen = []

    def arm(found, _):
        seen.append(found["self"].num_timesteps)
        Broken.armed = len(seen) == 5
        return True

    data, encoder = instances("max-cut"), brief_encoder("max-cut")
    with pytest.raises(LagcoError, match=message) as caught:
        lagco.train(
            Broken, data, tmp_path, encoder=encoder, callbacks=arm, **settings("projection")
        )
    assert len(seen) == 5
    assert any(f"Broken, instance {i.name!r}, seed" in str(caught.value) for i in data)


# -- what is shown


def test_a_run_says_that_it_pre_trains_only_when_it_does(tmp_path):
    """Neither without a latent space, nor with an encoder that is given or made before."""

    def trainer(out, method="projection", **options):
        return Trainer(
            "tsp", instances(), tmp_path / out, **settings(method), method=method, **options
        )

    assert trainer("own").pretrains
    assert not trainer("padded", "p-discrete").pretrains
    given = trainer("given", encoder=brief_encoder("tsp"))
    assert not given.pretrains
    given.learn(256)
    assert not trainer("given", encoder=brief_encoder("tsp")).pretrains


# -- folders


def test_another_run_in_the_folder_is_named_by_what_differs(tmp_path):
    run(tmp_path / "agent", "p-discrete-m", steps=256, encoder=None)
    with pytest.raises(LagcoError, match=r"another run \(gamma is 0\.\d+ there and 0\.5 here\)"):
        run(tmp_path / "agent", "p-discrete-m", steps=256, encoder=None, gamma=0.5)
    other = settings("p-discrete-m") | {"method": "p-discrete-m", "steps": 256}
    with pytest.raises(LagcoError, match=r"another run \(other instances, other pad to\)"):
        lagco.train("tsp", instances()[1:], tmp_path / "agent", pad_to=instances(), **other)


def failing(local, others):
    raise ValueError("a callback of the user's own")


def test_a_run_that_fails_leaves_nothing_that_looks_like_an_agent(tmp_path):
    (tmp_path / "notes.txt").touch()
    for out in (tmp_path / "new", tmp_path):
        with pytest.raises(ValueError, match="own"):
            run(out, "p-discrete-m", steps=256, encoder=None, callbacks=failing)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"notes.txt", "tensorboard"}  # a log is no agent


def test_a_stopped_run_is_no_broken_agent(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, "p-discrete-m", steps=1024, encoder=None, callbacks=Interrupt(700))
    with pytest.raises(LagcoError, match="training has not finished; the same lagco train"):
        lagco.evaluate(tmp_path, instances(), episodes=1, progress=False)


def test_a_teacher_that_there_is_not_is_refused_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("lagco.agents.training.trainer.Trainer._space", None)  # pre-trains
    with pytest.raises(UsageError, match="did you mean 'solver'"):
        lagco.train("tsp", instances(), tmp_path, method="taught-projection", teacher="slover")


def test_a_default_agent_stands_for_itself_everywhere(tmp_path):
    own = lagco.load("default", "tsp")
    assert lagco.info("tsp")["sha256"] == own.description["sha256"]
    teacher = make_teacher("default", problem_class("tsp"))
    assert teacher._policy.description["sha256"] == own.description["sha256"]
    settings = {"method": "taught-projection", "steps": 8192, "epochs": 1}
    trainer = Trainer("tsp", instances(), tmp_path / "agent", init="default", **settings)
    assert trainer._start.description["sha256"] == own.description["sha256"]
    found = lagco.evaluate("default", instances(), episodes=1, progress=False)
    again = lagco.evaluate(own, instances(), episodes=1, progress=False)
    assert found.as_dict() == again.as_dict()
    with pytest.raises(UnknownName, match="give the name of the problem, such as 'tsp'"):
        lagco.load("default")
