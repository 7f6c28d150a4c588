"""The environment `ospf`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagco.errors import UsageError
from lagco.instances import References
from lagco.problems.ospf import OSPF
from tests.problems.ospf import episodes


@pytest.fixture(scope="module")
def instance():
    return episodes.with_sweeps(OSPF, 10)


def test_checker_passes(instance):
    episodes.check_everything(OSPF, instance, OSPF.generate(8, seed=3))


@settings(max_examples=12, deadline=None)
@given(
    size=st.integers(5, 14), seed=st.integers(0, 2**16), features=st.sampled_from(["full", "paper"])
)
def test_kept_objective_equals_recomputed_one(size, seed, features):
    episodes.check_kept_objective(OSPF(OSPF.generate(size, seed=seed), features=features), seed)


def test_references_score_0_and_1(instance):
    episodes.check_reference_scores(OSPF, instance)


def test_preview_is_the_objective_after_the_action(instance):
    episodes.check_previews(OSPF(instance))


def test_mask_says_what_is_valid_one_by_one(instance):
    env = OSPF(instance)
    for _ in episodes.play(env, steps=10):
        mask = env.action_mask()
        actions = env.all_actions()
        np.testing.assert_array_equal(mask, [env.is_valid_action(a) for a in actions])
        np.testing.assert_array_equal(mask, env.are_valid_actions(actions))


def test_sampling_is_uniform_over_valid_actions(instance):
    env = OSPF(instance)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    drawn = np.array([env.sample_valid_action(rng) for _ in range(6000)])
    counts = np.bincount(drawn @ [3, 1], minlength=env.num_actions)
    assert (counts[~env.action_mask()] == 0).all()
    expected = 6000 / env.action_mask().sum()
    assert (np.abs(counts[env.action_mask()] - expected) < 6 * np.sqrt(expected)).all()


def test_episode_has_two_steps_per_link_and_rewards_sum_to_the_score(instance):
    env = OSPF(instance)
    steps = list(episodes.play(env))
    assert len(steps) == 2 * instance.arrays["edges"].shape[1]
    assert sum(reward for _, reward, _ in steps) == pytest.approx(steps[-1][2]["score"])


def test_sweeps_and_solver_repeat_and_the_solver_is_no_worse(instance):
    again = OSPF.sweep(instance, 40, 0).sweeps
    assert again.best == instance.references.sweeps.best
    np.testing.assert_array_equal(again.worst_solution, instance.references.sweeps.worst_solution)
    first, second = (OSPF.solve(instance, 5).solver for _ in range(2))
    assert first.value == second.value == OSPF.evaluate_solution(instance, first.solution)
    assert first.value <= instance.references.sweeps.best * (1 + 1e-12)


def test_generation_is_over_the_papers_ranges_and_repeats():
    for seed in range(6):
        instance = OSPF.generate(seed=seed)
        assert instance.checksum == OSPF.generate(seed=seed).checksum
        params = instance.params
        n = params["nodes"]
        assert 10 <= n <= 30
        assert 0.1 <= params["communication_edge_ratio"] <= 0.3
        pairs = n * (n - 1) // 2
        assert instance.size == n - 1 + round(params["communication_edge_ratio"] * pairs)
        demands = round(params["non_zero_traffic_ratio"] * n * (n - 1))
        assert instance.arrays["volumes"].shape == (demands,)
        capacities = instance.arrays["capacities"]
        assert params["min_capacity"] <= capacities.min() <= capacities.max()
        assert capacities.max() <= params["max_capacity"]


def test_starts(instance):
    env = OSPF(instance, start="default")
    env.reset(seed=0)
    assert (env.solution() == 1).all()
    weights = np.full(instance.size, 3)
    env.reset(seed=0, options={"start": weights})
    np.testing.assert_array_equal(env.solution(), weights)
    with pytest.raises(UsageError, match="are 1 to 5, got 9"):
        env.reset(seed=0, options={"start": np.full(instance.size, 9)})


def test_picture(instance):
    episodes.check_picture(OSPF, instance)


@pytest.mark.parametrize("ecmp", [True, False])
def test_what_is_foreseen_ranks_changes_as_they_turn_out(ecmp):
    chosen, best, middle = [], [], []
    for seed in range(6):
        drawn = OSPF.generate(12, seed=seed)
        env = OSPF(replace(drawn, params={**drawn.params, "ecmp": ecmp}))
        for _ in episodes.play(env, seed, steps=12):
            ahead = env.get_graphs()["comm_G"].edge_attributes["ahead"]
            assert not ahead[:, 1].any()  # nothing comes of leaving a weight alone
            assert not ahead[:, 2, 7:].any()
            assert not ahead[:, 0, :7].any()
            actions = env.valid_actions()
            actions = actions[actions[:, 1] != 1]
            after = -env.preview(actions) / env.objective()
            promised = ahead[actions[:, 0], actions[:, 1]][:, [0, 7]].sum(axis=1)
            chosen.append(after[promised.argmax()])
            best.append(after.min())
            middle.append(np.median(after))
    gained = (np.mean(middle) - np.mean(chosen)) / (np.mean(middle) - np.mean(best))
    assert gained > 0.7  # of what the best single change gains


def test_what_leaves_a_link_is_foreseen_where_nothing_else_moves():
    # 0 reaches 3 over 1 and over 2; making 0-1 longer sends all its traffic over 2
    drawn = OSPF.generate(6, seed=0)
    instance = replace(
        drawn,
        arrays={
            "edges": np.array([[0, 0, 1, 2], [1, 2, 3, 3]]),
            "capacities": np.array([10.0, 20.0, 10.0, 20.0]),
            "demands": np.array([[0], [3]]),
            "volumes": np.array([8.0]),
        },
        params={**drawn.params, "nodes": 4, "ecmp": True},
        references=References(),
    )
    env = OSPF(instance)
    env.reset(seed=0)
    ahead = env.get_graphs()["comm_G"].edge_attributes["ahead"]
    # utilisations 0.4, 0.2, 0.4, 0.2, the largest 0.4
    np.testing.assert_allclose(ahead[0, 2, 1:3], [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(ahead[1, 0, 8:10], [0.5, 1.0], atol=1e-6)
    assert ahead[0, 2, 0] > 0 > ahead[1, 2, 0]


def test_rewards_sum_to_the_score_from_a_start_that_is_the_best(instance):
    """There is no scale then: the best scores 1, changes count relative to it."""
    best = instance.references.sweeps.best_solution
    for nudge in (0.0, 1e-15):  # rounding does not make a scale
        sweeps = instance.references.sweeps
        given = replace(sweeps, best=sweeps.best * (1.0 + nudge))
        env = OSPF(replace(instance, references=References(sweeps=given)), start=best)
        assert env.reset(seed=0)[1]["objective"] == pytest.approx(sweeps.best)
        rng, total, done = np.random.default_rng(0), 0.0, False
        while not done:
            *_, reward, terminated, truncated, info = env.step(env.sample_valid_action(rng))
            total += reward
            done = terminated or truncated
        assert info["score"] == pytest.approx(total)
        assert info["score"] == pytest.approx(2.0 - info["objective"] / sweeps.best)
