"""The environment as a whole: the checker, masks, determinism, policies, pictures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lagco
from lagco.commands.evaluate import evaluate
from lagco.commands.generate import generate_instance
from lagco.problems.cyber_path import CyberPath
from tests.problems.cyber_path.networks import OWN, SCAN, attack, begun, network


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("references", [(), ("sweeps", "solver")])
def test_it_passes_the_checker(features, references):
    instance = generate_instance(CyberPath, size=10, references=references)
    lagco.check_problem(CyberPath(instance, features=features))


def test_a_tiny_network_passes_the_checker():
    lagco.check_problem(CyberPath(network([[SCAN], [OWN]], p_recon=0.5, p_detection=0.2)))


@given(
    seed=st.integers(0, 10_000),
    size=st.integers(2, 9),
    steps=st.integers(0, 25),
    features=st.sampled_from(["full", "paper"]),
)
@settings(max_examples=60)
def test_masks_lists_and_counts_agree_with_validity(seed, size, steps, features):
    env = CyberPath(CyberPath.generate(size, seed), features=features)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        action = env.sample_valid_action(rng)
        if action is None or any(env.step(action)[2:4]):
            break
    every = env.all_actions()
    one_by_one = np.array([env.is_valid_action(action) for action in every])
    np.testing.assert_array_equal(env.action_mask(), one_by_one)
    np.testing.assert_array_equal(env.are_valid_actions(every), one_by_one)
    np.testing.assert_array_equal(env.valid_actions(), every[one_by_one])
    assert env.has_valid_action() == bool(one_by_one.any())
    assert env.recompute_objective() == env.objective()
    gain = env._knowledge.columns["gain"]
    valid = every[one_by_one]
    values = env.preview(valid) / 20.0
    for row in range(env.details()["visible"]):
        of_row = values[valid[:, 1] == row]
        assert gain[row] == pytest.approx(of_row.max() if len(of_row) else 0.0, abs=1e-6)
    promised = env._knowledge.ahead[valid[:, 1], valid[:, 2], 0]
    np.testing.assert_allclose(promised, values, atol=1e-6)


def test_actions_out_of_range_are_invalid():
    env = CyberPath(size=10)
    env.reset(seed=0)
    odd = np.array([[-1, 0, 0], [0, -1, 0], [0, 0, -1], [10, 0, 0], [0, 10, 0], [0, 0, 5]])
    assert not env.are_valid_actions(odd).any()
    assert not any(env.is_valid_action(action) for action in odd)


def test_samples_are_uniform_over_the_valid_actions():
    env = CyberPath(size=10)
    env.reset(seed=2)
    valid = env.valid_actions()
    rng = np.random.default_rng(0)
    drawn = [tuple(env.sample_valid_action(rng)) for _ in range(200 * len(valid))]
    counts = np.array([drawn.count(tuple(action)) for action in valid])
    assert counts.sum() == len(drawn)
    assert (np.abs(counts - 200) < 80).all()


def play(env, seed):
    rng = np.random.default_rng(seed)
    trace = [env.reset(seed=seed)[0]]
    while True:
        observation, reward, terminated, truncated, info = env.step(env.sample_valid_action(rng))
        trace.append((observation, reward, info))
        if terminated or truncated:
            return trace


def test_an_episode_is_determined_by_instance_seed_and_actions():
    instance = CyberPath.generate(15, seed=8)
    first, second = play(CyberPath(instance), 3), play(CyberPath(instance), 3)
    assert repr(first) == repr(second)
    env = CyberPath(instance)
    play(env, 1)
    assert repr(play(env, 3)) == repr(first)
    assert repr(play(env, 4)) != repr(first)


def test_the_view_notes_every_change():
    """A reader that follows the notes has the same picture as one that reads everything."""
    env = CyberPath(CyberPath.generate(12, seed=1))
    env.reset(seed=0)
    rng = np.random.default_rng(1)
    view = env.graph_views()["attack_G"]
    mirror, clock = view.copy(), view.clock
    for _ in range(36):
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        changes = view.changes_since(clock)
        assert not changes.structure
        if changes.wiring:  # the rows there were stay as they are
            kept, mirror = mirror, view.copy()
            for mine, before in (
                (mirror.nodes, kept.nodes),
                (mirror.edge_attributes, kept.edge_attributes),
            ):
                for name, column in before.items():
                    mine[name][: len(column)] = column
            np.testing.assert_array_equal(view.edges[:, : kept.num_edges], kept.edges)
        for columns, mine, touched in (
            (view.nodes, mirror.nodes, changes.nodes),
            (view.edge_attributes, mirror.edge_attributes, changes.edges),
        ):
            for name, rows in touched.items():
                for row in range(len(columns[name])) if rows is None else rows:
                    mine[name][row] = columns[name][row]
        clock = view.clock
        for name, column in view.nodes.items():
            assert list(map(repr, column)) == list(map(repr, mirror.nodes[name])), name
        np.testing.assert_array_equal(view.edges, mirror.edges)
        np.testing.assert_array_equal(
            view.edge_attributes["vulnerability"], mirror.edge_attributes["vulnerability"]
        )
        if terminated or truncated:
            break


def test_greedy_owns_more_than_random():
    instances = [
        generate_instance(CyberPath, seed=2, index=k, references=("sweeps", "solver"))
        for k in range(6)
    ]
    scores = {
        policy: evaluate(policy, instances, problem=CyberPath, episodes=3).summary()["score/first"]
        for policy in ("random", "greedy")
    }
    assert scores["greedy"].mean > scores["random"].mean + 0.1


def test_preview_is_the_expected_reward():
    instance = network([[SCAN], [OWN], [OWN]], p_detection=0.25)
    env = begun(instance)
    rows = {int(host): row for row, host in enumerate(env.host_of)}
    value = env.preview(np.array([[0, rows[1], 0]]))[0]
    assert value == pytest.approx(0.75 * 20 - 0.25)
    rewards = []
    for seed in range(300):
        env = begun(instance, seed)
        rewards.append(attack_reward(env) * 20 * 3)
    assert np.mean(rewards) == pytest.approx(value, abs=2.0)


def attack_reward(env):
    return sum(attack(env, 0, 1, OWN)["reward_terms"].values())


def test_extents():
    instance = CyberPath.generate(12)
    assert CyberPath.extents(instance) == {"nodes": 12, "edges": 36, "vulns": 5, "actions": 720}


def test_render():
    env = CyberPath(size=10, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(6):
        env.step(env.sample_valid_action())
    picture = env.render()
    assert picture.shape == (512, 512, 3)
    assert picture.std() > 0
