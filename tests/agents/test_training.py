"""Training: repeatable, resumable after a kill, refused where it does not fit."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import lagco
from lagco.agents.config import train_config
from lagco.agents.learning.ppo import _falling
from lagco.agents.registry import METHODS
from lagco.agents.training.reward_range import RewardRange
from lagco.agents.training.rotation import InstanceDeck
from lagco.agents.training.trainer import RUN_KIND, chosen_instances, train
from lagco.bench.decisions import bench_latency
from lagco.commands.generate import generate_instance
from lagco.embedding.encoder import Encoder
from lagco.errors import LagcoError, UnknownName, UsageError
from lagco.instances import References
from lagco.problems import problem_class
from tests.agents.brief import training_env
from tests.agents.runs import SETTINGS, instances, settings, trained
from tests.killed import killed_at
from tests.latent.conftest import brief_encoder, brief_space

LATENT = ("projection", "soft-projection")
OTHERS = tuple(method for method in METHODS if method not in LATENT)
LONG = {
    "method": "soft-projection",
    "steps": 2048,
    "rollout": 256,
    "envs": 4,
    "epochs": 2,
    "seed": 5,
}
SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from tests.agents.test_training import LONG, Encoder, instances, train
train("tsp", instances(), {out!r}, encoder=Encoder.load({encoder!r}), **LONG)
"""


@pytest.mark.parametrize("method", [*LATENT, "iterative", "g-discrete-m"])
def test_the_same_seed_gives_the_same_weights(method, tmp_path):
    first = trained(method)
    train(
        "tsp",
        instances(),
        tmp_path,
        encoder=brief_encoder("tsp"),
        method=method,
        **settings(method),
    )
    assert (tmp_path / "agent.safetensors").read_bytes() == (
        first / "agent.safetensors"
    ).read_bytes()
    other = tmp_path / "other"
    train(
        "tsp",
        instances(),
        other,
        encoder=brief_encoder("tsp"),
        method=method,
        **settings(method, seed=6),
    )
    assert (other / "agent.safetensors").read_bytes() != (first / "agent.safetensors").read_bytes()


def test_a_killed_run_ends_with_the_same_weights(tmp_path):
    """One method; `tests/attack/kills.py` has all of them, and all long commands."""
    encoder = tmp_path / "encoder"
    brief_encoder("tsp").save(encoder)
    root = str(Path(__file__).resolve().parents[2])
    script = SCRIPT.format(root=root, out=str(tmp_path / "killed"), encoder=str(encoder))
    dying = killed_at("*/checkpoint.safetensors", tmp_path / "marker", count=3)
    assert subprocess.run([sys.executable, "-c", script], env=dying).returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "agent.json").exists()
    for out in ("whole", "killed"):
        train("tsp", instances(), tmp_path / out, encoder=Encoder.load(encoder), **LONG)
    whole, killed = (tmp_path / name for name in ("whole", "killed"))
    spent = [float(row["seconds"]) for row in csv.DictReader((killed / "progress.csv").open())]
    assert spent == sorted(spent)  # goes on counting
    assert (whole / "agent.safetensors").read_bytes() == (killed / "agent.safetensors").read_bytes()
    rows = [
        [line.split(",")[:-1] for line in (f / "progress.csv").read_text().splitlines()]
        for f in (whole, killed)
    ]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("method", LATENT)
@pytest.mark.parametrize(
    "name", ["tsp", "min-vertex", "max-cut", "ospf", "traffic", "placement", "cyber-path"]
)
def test_every_problem_can_be_trained_on(name, method):
    agent = lagco.load(trained(method, name, steps=512))
    result = lagco.evaluate(agent, instances(name), episodes=2)
    assert all(np.isfinite(e.objective) for r in result.results for e in r.episodes)
    assert all(r.seen for r in result.results)


@pytest.mark.parametrize("method", OTHERS)
def test_every_method_trains_loads_and_decides(method):
    agent = lagco.load(trained(method, "min-vertex"))
    assert agent.name == method
    result = lagco.evaluate(agent, instances("min-vertex"), episodes=2)
    assert all(np.isfinite(e.objective) for r in result.results for e in r.episodes)
    large = [generate_instance("min-vertex", size=30, references="sweeps", sweeps=10)]
    (refused,) = lagco.evaluate(agent, large, episodes=1).results
    if method in ("iterative", "taught-projection"):  # the others are padded
        assert refused.refused is None
    else:
        assert "30" in refused.refused
        assert refused.best("score") is None


def test_a_finished_run_is_not_repeated_and_another_is_refused(tmp_path):
    folder = trained("projection")
    stamp = (folder / "agent.safetensors").stat().st_mtime_ns
    train("tsp", instances(), folder, encoder=brief_encoder("tsp"), method="projection", **SETTINGS)
    assert (folder / "agent.safetensors").stat().st_mtime_ns == stamp
    with pytest.raises(LagcoError, match="holds another run"):
        train(
            "tsp",
            instances(),
            folder,
            encoder=brief_encoder("tsp"),
            method="projection",
            **(SETTINGS | {"seed": 9}),
        )


def test_learning_goes_on_from_another_agent(tmp_path):
    first = lagco.load(trained("projection"))
    second = train(
        "tsp",
        instances(),
        tmp_path,
        init=trained("projection"),
        method="projection",
        **(SETTINGS | {"learning_rate": 1e-9, "weight_decay": 0.0}),
    )
    np.testing.assert_allclose(
        first.weights["policy.0.weight"], second.weights["policy.0.weight"], atol=1e-4
    )


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        *[
            (method, {})
            for method in ("projection", "soft-projection", "iterative", "g-discrete-m")
        ],
        *[(method, {"decoder": "scored"}) for method in LATENT],
    ],
)
def test_everything_that_decides_is_taken_over(method, changes, tmp_path):
    given = trained(method, **changes)
    still = {"learning_rate": 1e-12, "weight_decay": 0.0, "steps": 256}
    agent = train(
        "tsp",
        instances(),
        tmp_path,
        init=given,
        method=method,
        **settings(method, **still, **changes),
    )
    for name, array in lagco.load(given).weights.items():
        np.testing.assert_allclose(agent.weights[name], array, atol=1e-6, err_msg=name)


def test_an_agent_with_a_scorer_may_go_on_without(tmp_path):
    given = trained("projection", decoder="scored")
    agent = train("tsp", instances(), tmp_path, init=given, method="projection", **SETTINGS)
    assert not any(name.startswith("scorer") for name in agent.weights)


def test_another_encoder_of_the_same_features_is_another_run(tmp_path):
    short = SETTINGS | {"steps": 256}
    train("tsp", instances(), tmp_path, encoder=brief_encoder("tsp"), **short)
    brief_encoder("tsp").save(tmp_path / "encoder")
    changed = Encoder.load(tmp_path / "encoder")
    assert changed.content_hash == brief_encoder("tsp").content_hash
    next(iter(changed.views["cities"].weights.values()))[...] += 1.0
    assert changed.layout_hash == brief_encoder("tsp").layout_hash
    with pytest.raises(LagcoError, match="holds another run"):
        train("tsp", instances(), tmp_path, encoder=changed, **short)


def test_episodes_without_a_decision_are_passed_over(tmp_path):
    """A demand on a tree has one path only: nothing to decide."""
    tree = no_choice()
    with pytest.raises(LagcoError, match="'tree': no action is valid at its start"):
        train("traffic", [tree], tmp_path, encoder=brief_encoder("traffic"), **SETTINGS)
    both = [tree, instances("traffic")[0]]
    short = SETTINGS | {"steps": 256}
    agent = train("traffic", both, tmp_path / "both", encoder=brief_encoder("traffic"), **short)
    for policy in (agent, "random", "greedy"):
        (result,) = lagco.evaluate(policy, [tree], episodes=2).results
        assert [e.reason for e in result.episodes] == ["no valid action"] * 2


def no_choice():
    network = generate_instance("traffic", size=6, index=1)
    arrays = {
        "edges": np.array([[0, 1, 2], [1, 2, 3]]),
        "capacities": np.full(3, 10.0),
        "demands": np.array([[0, 3], [3, 1]]),
        "volumes": np.array([1.0, 2.0]),
    }
    params = network.params | {"nodes": 4, "max_path_len": 3}
    known = {name: arrays.get(name, array) for name, array in network.arrays.items()}
    assert set(arrays) <= set(known), known.keys()
    return replace(
        network, name="tree", size=4, arrays=known, params=params, references=References()
    )


def test_strategies_choose_by_size():
    assert [i.size for i in chosen_instances(instances(), "varied")] == [8, 10, 12]
    assert [chosen_instances(instances(), s)[0].size for s in ("small", "medium", "large")] == [
        8,
        10,
        12,
    ]


def test_the_deck_is_shuffled_without_replacement():
    deck = InstanceDeck(5, 0, np.random.default_rng(0))
    rounds = [[deck.draw() for _ in range(5)] for _ in range(4)]
    assert all(sorted(r) == [0, 1, 2, 3, 4] for r in rounds)
    assert len({tuple(r) for r in rounds}) > 1


@pytest.mark.parametrize("every", [50, 100])
def test_the_deck_draws_another_instance_every_so_many_episodes(every):
    deck = InstanceDeck(5, every, np.random.default_rng(0))
    drawn = np.array([deck.draw() for _ in range(300)]).reshape(-1, every)
    assert (drawn == drawn[:, :1]).all() and len(set(drawn[:, 0])) > 1


def test_rewards_are_mapped_to_the_range_so_far():
    found = RewardRange()
    assert [found(r) for r in (2.0, 2.0, 4.0, 3.0, 0.0, 1.0)] == [0.0, 0.0, 1.0, 0.5, 0.0, 0.25]
    other = RewardRange()
    other.restore(found.state())
    assert other(2.0) == 0.5
    other.restore(RewardRange().state())
    assert other(7.0) == 0.0


def test_agents_learn_from_rewards_between_the_least_and_the_largest():
    env, _ = training_env("g-discrete-m", "tsp", normalised_rewards=True)
    plain, _ = training_env("g-discrete-m", "tsp")
    lowest, highest = np.inf, -np.inf
    for e in (env, plain):
        e.reset()
    for _ in range(20):
        actions = env.action_masks().argmax(axis=1)
        for mapped, reward in zip(env.step(actions)[1], plain.step(actions)[1], strict=True):
            lowest, highest = min(lowest, reward), max(highest, reward)
            span = highest - lowest
            assert mapped == pytest.approx((reward - lowest) / span if span else 0.0, abs=1e-5)


def test_the_papers_presets():
    paper, released = (train_config(preset=preset) for preset in ("paper", "released"))
    assert (paper.normalised_rewards, paper.rotate_every, paper.features) == (True, 100, "paper")
    changed = {n for n, v in released.as_dict().items() if v != paper.as_dict()[n]}
    rates = {"epochs", "learning_rate", "batch_size", "gamma", "max_grad_norm"}
    assert changed == {"preset", *rates}
    assert (released.learning_rate, released.batch_size, released.epochs) == (1e-4, 128, 20)
    paper, released = (
        train_config(preset=preset, method="iterative") for preset in ("paper", "released")
    )
    assert (paper.buffer, paper.standardised, paper.warm_up) == (1_000_000, False, 100)
    assert (released.learning_rate, released.warm_up, released.max_grad_norm) == (1e-5, 1000, 5.0)
    assert train_config(preset="paper", rotate_every=50).rotate_every == 50


def test_configuration_comes_from_defaults_file_and_flags(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("steps = 5000\ngamma = 0.8\nhidden = [32, 16]\n")
    assert train_config(features="paper").anneal
    assert not train_config(preset="paper").anneal
    config = train_config(file, steps=7000, method="soft-projection")
    assert (config.steps, config.gamma, config.hidden) == (7000, 0.8, (32, 16))
    assert config.entropy == 0.001
    assert train_config(preset="paper", method="iterative").tau == 0.05
    paper = train_config(preset="paper", method="soft-projection")
    assert (paper.entropy, paper.gae_lambda, paper.scale_rewards) == (0.01, 0.95, False)
    file.write_text("step = 3\n")
    with pytest.raises(
        UsageError, match="unknown setting of projection 'step': did you mean 'steps'"
    ):
        train_config(file)
    file.write_text("steps = = 3")
    with pytest.raises(UsageError, match=r"run\.toml: not TOML"):
        train_config(file)
    with pytest.raises(UnknownName, match="unknown method 'projektion': did you mean 'projection'"):
        train_config(method="projektion")
    with pytest.raises(UsageError, match="not a multiple of envs=3"):
        train_config(envs=3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": "many"}, "steps='many': give a whole number"),
        ({"envs": 8.0}, "envs=8.0: give a whole number"),
        ({"hidden": 5}, "hidden=5: give whole numbers in brackets"),
        ({"hidden": [0]}, r"hidden=\[0\]: at least 1"),
        ({"learning_rate": "x"}, "learning_rate='x': give a number"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0: more than 0"),
        ({"anneal": 1}, "anneal=1: give true or false"),
        ({"gae_lambda": 5.0}, "gae_lambda=5.0: between 0 and 1"),
        ({"seed": -1}, "seed=-1: at least 0"),
        ({"method": "iterative", "train_every": 0}, "train_every=0: at least 1"),
        ({"decoder": "nearset"}, "decoder='nearset'.*did you mean 'nearest'"),
        (
            {"method": "p-discrete", "decoder": "preview"},
            "of p-discrete.*soft-projection.* have 'decoder'",
        ),
    ],
)
def test_wrong_values_are_named(wrong, message):
    with pytest.raises(UsageError, match=message):
        train_config(**wrong)


def test_gradients_of_iterative_are_cut_where_the_setting_says():
    config = train_config(method="iterative", max_grad_norm=0.25)
    method = METHODS["iterative"]
    space = brief_space("tsp", "full")
    env = method.env(problem_class("tsp"), instances(), space, config)
    assert method.model(env, config).max_grad_norm == 0.25


def test_action_vectors_are_reduced_where_the_setting_says(tmp_path):
    short = settings("projection", steps=256, reduce=3)
    agent = train("tsp", instances(), tmp_path, encoder=brief_encoder("tsp"), **short)
    assert agent.space.scale.width == 3
    assert agent.weights["log_std"].shape == (3,)


def test_a_soft_agent_decides_with_the_decoder_of_its_settings(tmp_path):
    short = settings("soft-projection", steps=256, decoder="preview", k=4)
    train(
        "tsp",
        instances(),
        tmp_path,
        encoder=brief_encoder("tsp"),
        method="soft-projection",
        **short,
    )
    env = problem_class("tsp")(instances()[0])
    env.reset(seed=0)
    decoder = lagco.load(tmp_path).actor(env)._decoder
    assert (decoder.spelling, decoder.k) == ("preview", 4)


def test_a_padded_agent_has_room_for_the_whole_data_set(tmp_path):
    short = settings("p-discrete-m", steps=256, strategy="small")
    agent = train("tsp", instances(), tmp_path, method="p-discrete-m", **short)
    assert agent.description["facts"]["actions"] == 12
    assert len(agent.description["training"]["instances"]) == 1


def test_a_run_that_never_began_leaves_its_folder_free(tmp_path):
    RUN_KIND.write(tmp_path, {"identity": "0" * 64, "config": {}})
    train("tsp", instances(), tmp_path, encoder=brief_encoder("tsp"), **SETTINGS | {"steps": 256})
    assert (tmp_path / "agent.json").exists()


def test_the_last_update_of_a_falling_rate_learns(tmp_path):
    agents = [
        train(
            "tsp",
            instances(),
            tmp_path / str(steps),
            encoder=brief_encoder("tsp"),
            method="soft-projection",
            **(SETTINGS | {"steps": steps}),
        )
        for steps in (1, 512)
    ]
    assert not np.array_equal(
        agents[0].weights["policy.0.weight"], agents[1].weights["policy.0.weight"]
    )
    rate = _falling(train_config(method="soft-projection", steps=512, rollout=256))
    assert [rate(left) for left in (0.5, 0.0)] == [5e-4, 5e-4]
    assert _falling(train_config(steps=1, rollout=256))(-255.0) == 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_every_method_can_be_timed(method):
    (record,) = bench_latency(problem_class("max-cut"), [12], method, decisions=20)
    assert record["decision_us"] > 0
    assert record["actions"] == 12


def test_an_agent_acts_in_a_wrapped_environment():
    agent = lagco.load(trained("projection"))
    env = gym.make("lagco/TSP-v0", instance=instances()[0])
    env.reset(seed=0)
    assert env.unwrapped.is_valid_action(agent.act(env))
