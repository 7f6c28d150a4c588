"""Properties of every problem: objectives, scores, masks, rewards, determinism, pictures."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lagco
from lagco.commands.generate import generate_instance
from lagco.core.problem import INVALID_COST
from lagco.policies import GreedyPolicy
from lagco.problem_table import ENTRIES

CLASSICAL = ("tsp", "min-vertex", "max-cut")
SIZES = st.integers(4, 14)
SEEDS = st.integers(0, 2**16)


def make(name, size=10, seed=0, references="sweeps", **options):
    instance = generate_instance(name, size=size, seed=seed, references=references, sweeps=30)
    return lagco.problems.problem_class(name)(instance, **options)


def play(env, seed=0, invalid=0.0):
    """Random actions, a share of them invalid; yields (action, reward, info) per step."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    ended = False
    while not ended:
        wrong = np.flatnonzero(~env.action_mask())
        if len(wrong) and rng.random() < invalid:
            action = int(rng.choice(wrong))
        else:
            action = env.sample_valid_action(rng)
        _, reward, terminated, truncated, info = env.step(action)
        ended = terminated or truncated
        yield action, reward, info


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", CLASSICAL)
@settings(max_examples=15)
@given(size=SIZES, seed=SEEDS)
def test_kept_objective_equals_recomputed_one(name, features, size, seed):
    env = make(name, size, seed, features=features)
    for _, _, info in play(env, seed):
        assert info["objective"] == pytest.approx(env.recompute_objective(), rel=1e-9, abs=1e-9)
    if info["feasible"]:
        value = env.evaluate_solution(env.instance, env.solution())
        assert value == pytest.approx(info["objective"], rel=1e-9)
    best = env.evaluate_solution(env.instance, env.best_solution)
    assert best == pytest.approx(info["objective_best"], rel=1e-9)


@pytest.mark.parametrize("name", CLASSICAL)
@settings(max_examples=15)
@given(size=SIZES, seed=SEEDS)
def test_best_and_worst_reference_score_one_and_zero(name, size, seed):
    env = make(name, size, seed)
    env.reset(seed=0)
    sweeps = env.instance.references.sweeps
    assert env.score(sweeps.best) == pytest.approx(1.0)
    assert env.score(sweeps.worst) == pytest.approx(0.0) or sweeps.best == sweeps.worst
    assert env.evaluate_solution(env.instance, sweeps.best_solution) == pytest.approx(sweeps.best)
    assert env.evaluate_solution(env.instance, sweeps.worst_solution) == pytest.approx(sweeps.worst)


@pytest.mark.parametrize("name", CLASSICAL)
@settings(max_examples=15)
@given(size=SIZES, seed=SEEDS)
def test_masks_equal_single_answers(name, size, seed):
    env = make(name, size, seed)
    for _ in play(env, seed):
        actions = env.all_actions()
        single = [env.is_valid_action(action) for action in actions]
        assert list(env.action_mask()) == single
        assert list(env.are_valid_actions(actions)) == single
        assert env.has_valid_action() == any(single)
        assert not env.is_valid_action(-1)
        assert not env.is_valid_action(len(actions))


@pytest.mark.parametrize("invalid", [0.0, 0.3])
@pytest.mark.parametrize("name", CLASSICAL)
@settings(max_examples=15)
@given(size=SIZES, seed=SEEDS)
def test_rewards_add_up_to_score_and_terms(name, invalid, size, seed):
    env = make(name, size, seed)
    steps = list(play(env, seed, invalid))
    info = steps[-1][2]
    terms = sum(sum(i["reward_terms"].values()) for *_, i in steps)
    assert sum(reward for _, reward, _ in steps) == pytest.approx(info["score"] + terms, abs=1e-9)
    if not info["feasible"]:
        assert info["score"] == 0.0


@pytest.mark.parametrize("name", ["tsp", "min-vertex"])
def test_an_invalid_action_costs_and_changes_nothing(name):
    env = make(name)
    env.reset(seed=1)
    action = env.sample_valid_action()
    env.step(action)
    before = env.solution().tolist()
    _, reward, _, _, info = env.step(action)
    assert reward == pytest.approx(-INVALID_COST / env.episode_length)
    assert info["reward_terms"] == {"invalid": reward}
    assert env.solution().tolist() == before


@pytest.mark.parametrize("name", CLASSICAL)
def test_an_instance_without_references_has_no_score(name):
    env = make(name, references=())
    *_, (_, _, info) = play(env)
    assert info["score"] is None
    assert info["score_best"] is None
    assert env.gap(info["objective"]) is None


@pytest.mark.parametrize("name", CLASSICAL)
def test_without_rewards_the_end_is_the_same(name):
    with_rewards, without = make(name), make(name, rewards=False)
    expected, steps = list(play(with_rewards, 3)), list(play(without, 3))
    assert all(reward == 0.0 for _, reward, _ in steps[1:-1])
    assert steps[-1][2]["score"] == pytest.approx(expected[-1][2]["score"])
    sums = [sum(reward for _, reward, _ in played) for played in (expected, steps)]
    assert sums[1] == pytest.approx(sums[0])


@pytest.mark.parametrize("name", CLASSICAL)
def test_training_stops_at_the_best_known_value(name):
    env = make(name, stop_at_best=True)
    solution = env.instance.references.sweeps.best_solution
    if name == "tsp":
        env.reset(options={"start": int(solution[0])})
        actions = solution[1:]
    else:
        env.reset()
        actions = solution if name == "min-vertex" else np.flatnonzero(solution)
    for action in actions:
        *_, terminated, _, info = env.step(int(action))
    assert terminated
    assert info["score"] == pytest.approx(1.0)


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", CLASSICAL)
def test_checker_passes(name, features):
    assert lagco.check_problem(make(name, 9, features=features), episodes=1) == []


@pytest.mark.parametrize("name", CLASSICAL)
def test_gymnasium_makes_it_and_draws_it(name):
    env = gymnasium.make(ENTRIES[name].env_id, size=12, render_mode="rgb_array")
    env.reset(seed=3)
    start = env.render()
    for _ in range(5):
        env.step(env.unwrapped.sample_valid_action())
    picture = env.render()
    assert picture.shape == (512, 512, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20
    assert (picture != start).any()


@pytest.mark.parametrize("name", CLASSICAL)
def test_same_seed_same_episode_and_other_instance_on_reset(name):
    env = make(name)
    first = [step[:2] for step in play(env, 5)]
    assert [step[:2] for step in play(env, 5)] == first
    other = generate_instance(name, size=7, seed=9)
    observation, _ = env.reset(options={"instance": other})
    assert env.observation_space.contains(observation)
    assert env.action_space.n == 7


@pytest.mark.parametrize("name", CLASSICAL)
def test_greedy_takes_the_best_preview(name):
    env = make(name)
    env.reset(seed=0)
    action = GreedyPolicy().act(env, np.random.default_rng(0))
    values = env.preview(env.valid_actions())
    assert env.preview(np.array([action]))[0] == values.max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(features="ful"), "unknown feature set 'ful': did you mean 'full'"),
        (dict(size=5, instance="x.npz"), "not both"),
        (dict(render_mode="human"), "unknown render mode 'human'"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(lagco.errors.UsageError, match=message):
        lagco.problems.problem_class("tsp")(**options)


def test_wrong_resets_are_named():
    env = make("tsp")
    with pytest.raises(
        lagco.errors.UsageError, match="unknown reset option 'strat': did you mean 'start'"
    ):
        env.reset(options={"strat": 1})
    with pytest.raises(lagco.errors.UsageError, match="start=99: the cities are 0 to 9"):
        env.reset(options={"start": 99})
    with pytest.raises(lagco.errors.InstanceError, match="for the problem 'max-cut'"):
        env.reset(options={"instance": generate_instance("max-cut", size=5)})
    with pytest.raises(lagco.errors.UsageError, match="values 0 or 1"):
        make("max-cut").reset(options={"start": np.array([0, 2])})


def test_step_before_reset_is_named():
    with pytest.raises(lagco.errors.ResetNeeded, match="call reset"):
        make("tsp").step(0)
