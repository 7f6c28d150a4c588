"""Looking ahead in `placement`: prospects, chains of moves, and moves as a ranker sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lagco.errors import UsageError
from lagco.problems.placement import Placement
from lagco.problems.placement.foresight.lookahead import EACH, SURVEYED
from lagco.problems.placement.generator import draw_cloud
from lagco.problems.placement.latency import MATRIX_LIMIT
from tests.problems.ospf import episodes


@pytest.fixture(scope="module")
def instance():
    return episodes.with_sweeps(Placement, 14)


def begun(instance, **options):
    env = Placement(instance, **options)
    env.reset(seed=0)
    return env


def all_moves(env):
    return np.ascontiguousarray(env.valid_actions(), dtype=np.int64)


def state_of(env):
    return [array.copy() for array in env._state]


def test_advice_is_a_valid_move_and_better_than_greedy(instance):
    reached = {}
    for name in ("search", "greedy"):
        env = begun(instance)
        ended = False
        while not ended:
            if name == "search":
                advice = env.advise()
                assert advice.shape == (len(advice), 2)
                assert env.are_valid_actions(advice).all()
                action = advice[0]
            else:
                moves = all_moves(env)
                action = moves[env.preview(moves).argmax()]
            *_, terminated, truncated, _ = env.step(action)
            ended = terminated or truncated
        reached[name] = env.best_objective
    assert reached["search"] > reached["greedy"]


def test_a_plan_is_followed_to_its_end(instance):
    env = begun(instance)
    nodes = env.get_graphs()["graph"].nodes
    promised = env._survey.promised
    assert promised == pytest.approx(Placement.evaluate_solution(instance, env._survey.plan))
    assert promised > env.objective()
    while nodes["planned"].any():
        vms = np.flatnonzero(nodes["planned"][: instance.size])
        (pm,) = np.flatnonzero(nodes["planned"][instance.size :])
        pairs = np.stack([vms, np.full(len(vms), pm)], axis=1)
        assert env.are_valid_actions(pairs).all()
        assert (env._survey.plan[vms] == pm).all()
        advice = {tuple(move) for move in env.advise()}
        assert {tuple(pair) for pair in pairs} <= advice
        each = env.candidate_features(np.array(sorted(advice))).each
        assert (each[:, EACH.names.index("planned")] == 1.0).all()
        assert (each[:, EACH.names.index("at_plan")] == 0.0).all()
        env.step(pairs[0])
    assert env.best_objective == pytest.approx(promised)
    assert len(env.advise()) == 1  # then by chains


def test_episodes_have_plans_of_their_own_which_their_seeds_repeat(instance):
    first, again, other = Placement(instance), Placement(instance), Placement(instance)
    for env, seed in ((first, 3), (again, 3), (other, 4)):
        env.reset(seed=seed)
    np.testing.assert_array_equal(first._survey.plan, again._survey.plan)
    assert (first._survey.plan != other._survey.plan).any()
    plain = Placement(instance, features="paper")
    plain.reset(seed=3)
    assert (plain._survey.plan == -1).all()


def test_describing_and_advising_change_nothing_and_repeat(instance):
    env = begun(instance)
    for _ in range(4):
        env.step(env.advise()[0])
        before = state_of(env)
        moves = all_moves(env)[:20]
        first, advice = env.candidate_features(moves), env.advise()
        assert first.each.shape == (20, len(EACH))
        assert first.each.dtype == np.float32
        assert np.isfinite(first.each).all()
        np.testing.assert_array_equal(first.each, env.candidate_features(moves).each)
        np.testing.assert_array_equal(advice, env.advise())
        for kept, now in zip(before, env._state, strict=True):
            np.testing.assert_array_equal(kept, now)


def test_features_do_not_depend_on_the_units(instance):
    data = instance.arrays
    scaled = data | {
        "vm_demands": data["vm_demands"] * 4.0,
        "pm_capacities": data["pm_capacities"] * 4.0,
        "latencies": data["latencies"] * 8.0,
        "traffic": data["traffic"] * 2.0,
        "pm_idle": data["pm_idle"] * 2.0,
        "pm_peak": data["pm_peak"] * 2.0,
    }
    sweeps = instance.references.sweeps
    factors = {"energy": 2.0, "network": 16.0}
    bounds = {
        name: (low * factors.get(name, 1.0), high * factors.get(name, 1.0))
        for name, (low, high) in sweeps.bounds.items()
    }
    references = replace(instance.references, sweeps=replace(sweeps, bounds=bounds))
    other = begun(replace(instance, arrays=scaled, references=references))
    env = begun(instance)
    for _ in range(5):
        moves = all_moves(env)[:30]
        found, again = env.candidate_features(moves).each, other.candidate_features(moves).each
        np.testing.assert_allclose(found, again, atol=1e-4)
        action = env.advise()[0]
        env.step(action)
        other.step(action)


def test_solver_references_make_no_difference_to_candidates(instance):
    solver = Placement.solve(instance, 0, 0.01).solver
    solved = replace(instance, references=replace(instance.references, solver=solver))
    first, second = begun(instance), begun(solved)
    moves = all_moves(first)
    np.testing.assert_array_equal(
        first.candidate_features(moves).each, second.candidate_features(moves).each
    )
    np.testing.assert_array_equal(first.advise(), second.advise())


def test_prospects_are_the_best_first_sights(instance):
    env = begun(instance)
    moves = all_moves(env)
    gains = instance.size * (env.preview(moves) - env.objective())
    prospect = env.get_graphs()["graph"].nodes["prospect"]
    for vm in range(instance.size):
        own = gains[moves[:, 0] == vm]
        if len(own):  # a VM of a PM with few of them promises more
            assert np.sinh(prospect[vm]) >= own.max() - 1e-3
    for pm in np.unique(moves[:, 1]):
        there = gains[moves[:, 1] == pm]
        assert np.sinh(prospect[instance.size + pm]) >= max(there.max(), -10.0) - 1e-3


def test_a_vm_that_moved_is_recent_for_a_while(instance):
    env = begun(instance)
    first = env.advise()[0]
    env.step(first)
    recent = env.get_graphs()["graph"].nodes["recent"]
    assert np.flatnonzero(recent).tolist() == [first[0]]
    assert (
        env.candidate_features(np.array([first])[:, :]).each[0, EACH.names.index("never_moved")]
        == 0.0
    )
    for _ in range(3):
        env.step(next(move for move in all_moves(env) if move[0] != first[0]))
    assert not recent[first[0]]


def test_candidates_of_clouds_whose_latencies_are_found_on_demand():
    cloud = draw_cloud(np.random.default_rng(1), 40, MATRIX_LIMIT + 6, peers=4)
    env = begun(cloud)
    moves = np.array([env.sample_valid_action(np.random.default_rng(i)) for i in range(8)])
    each = env.candidate_features(moves).each
    assert np.isfinite(each).all()
    gain = cloud.size * (env.preview(moves) - env.objective())
    np.testing.assert_allclose(np.sinh(each[:, 0]), gain, atol=1e-3)


def test_clouds_with_too_many_pairs_are_not_surveyed():
    cloud = draw_cloud(np.random.default_rng(1), 300, 300, peers=4)
    assert SURVEYED < 300 * 300
    env = begun(cloud)
    assert not env.get_graphs()["graph"].nodes["prospect"].any()
    with pytest.raises(UsageError, match="choose the teacher 'greedy'"):
        env.advise()
