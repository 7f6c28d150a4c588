"""The planner of `cyber-path`, and attacks as a ranker sees them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lagco.instances import References
from lagco.policies import GreedyPolicy
from lagco.problems.cyber_path import CyberPath
from tests.problems.cyber_path.networks import (
    ADMIN_ENTRY,
    ESCALATE,
    OWN,
    SCAN,
    STOP,
    attack,
    attack_action,
    begun,
    network,
)


def played(instance, act, seed):
    env = CyberPath(instance)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    ended = False
    while not ended:
        *_, terminated, truncated, _ = env.step(act(env, rng))
        ended = terminated or truncated
    return env.score(env.objective())


def planned(env, rng):
    return env.advise()[0]


def test_advice_is_valid_and_comes_from_the_base_or_is_local():
    env = CyberPath(CyberPath.generate(12, seed=3))
    env.reset(seed=1)
    for _ in range(20):
        advice = env.advise()
        assert len(advice)
        assert env.are_valid_actions(advice).all()
        base = env.graph_views()["attack_G"].nodes["base"]
        assert base.sum() == 1
        assert ((base[advice[:, 0]] == 1) | (advice[:, 0] == advice[:, 1])).all()
        *_, terminated, truncated, _ = env.step(advice[-1])
        if terminated or truncated:
            break


def test_the_base_is_the_first_source_of_the_highest_privilege():
    env = begun(network([[OWN], [OWN, ESCALATE], [ADMIN_ENTRY]]))
    rows = {int(host): row for row, host in enumerate(env.host_of)}
    assert env.graph_views()["attack_G"].nodes["base"].tolist() == [1, 0, 0]
    attack(env, 0, 1, OWN)
    attack(env, 1, 1, ESCALATE)
    assert np.flatnonzero(env.graph_views()["attack_G"].nodes["base"]) == [rows[1]]


def test_the_planner_escalates_before_it_enters_and_never_stops_a_host():
    env = begun(network([[ESCALATE, STOP], [ADMIN_ENTRY, STOP], [ADMIN_ENTRY, STOP]]))
    assert env.advise().tolist() == [list(attack_action(env, 0, 0, ESCALATE))]
    attack(env, 0, 0, ESCALATE)
    entries = [list(attack_action(env, 0, host, ADMIN_ENTRY)) for host in (1, 2)]
    assert sorted(env.advise().tolist()) == sorted(entries)


def test_the_planner_owns_more_than_greedy():
    instances = [CyberPath.generate(seed=11, index=index) for index in range(6)]
    greedy = GreedyPolicy().act
    own = np.mean([played(instance, planned, 0) for instance in instances])
    assert own > np.mean([played(instance, greedy, 0) for instance in instances])


def test_describing_and_advising_change_nothing_and_repeat():
    env = CyberPath(CyberPath.generate(10, seed=5))
    env.reset(seed=2)
    before = env.np_random.bit_generator.state
    actions = env.valid_actions()
    first, advice = env.candidate_features(actions), env.advise()
    assert first.pairs is None
    assert first.each.dtype == np.float32
    assert np.isfinite(first.each).all()
    np.testing.assert_array_equal(first.each, env.candidate_features(actions).each)
    np.testing.assert_array_equal(advice, env.advise())
    assert env.np_random.bit_generator.state == before
    shuffled = np.random.default_rng(0).permutation(len(actions))
    again = env.candidate_features(actions[shuffled]).each
    np.testing.assert_array_equal(again, first.each[shuffled])


@pytest.mark.parametrize("features", ["full", "paper"])
def test_references_make_no_difference_to_candidates(features):
    instance = CyberPath.generate(10, seed=6)
    solved = instance.with_references(CyberPath.solve(instance, 0))
    rows = []
    for known in (replace(instance, references=References()), solved):
        env = CyberPath(known, features=features)
        env.reset(seed=1)
        rows.append(env.candidate_features(env.valid_actions()).each)
    np.testing.assert_array_equal(*rows)


def test_nothing_new_is_said():
    env = begun(network([[SCAN], [OWN]]))
    actions = np.array([attack_action(env, 0, 0, SCAN)])
    before = env.candidate_features(actions).each[0]
    attack(env, 0, 0, SCAN)
    after = env.candidate_features(actions).each[0]
    assert (before[12], after[12]) == (0.0, 1.0)
