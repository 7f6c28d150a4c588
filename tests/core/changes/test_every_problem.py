"""Incumbents and limits in every problem, checked from scratch for whoever answers."""

import numpy as np
import pytest

import lagco
from lagco.core.changes import changes_of, evaluated, judge
from lagco.problem_table import ENTRIES
from lagco.solving.options import BY
from tests.core.changes.limited import HELD, held, restricted
from tests.latent.conftest import brief_space

TURNS = 4


def value_of(cls, instance, solution):
    """Objective, larger ones better."""
    return evaluated(cls, instance, solution) * (1 if cls.maximise else -1)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("name", HELD)
def test_no_answer_is_worse_than_its_incumbent_and_a_tie_returns_it(name, by):
    cls, instance = held(name, np.random.default_rng(len(name)))
    answer = lagco.solve(instance, by=by, turns=TURNS, progress=False)
    incumbent = instance.array(cls.present)
    before, after = (value_of(cls, instance, s) for s in (incumbent, answer.solution))
    assert answer.valid
    assert after >= before
    if after == before:
        assert np.array_equal(answer.solution, incumbent)
    again = lagco.solve(instance, incumbent=answer.solution, by=by, turns=TURNS, progress=False)
    assert value_of(cls, instance, again.solution) >= after
    if again.objective == answer.objective:
        assert again.by == "incumbent"
        assert np.array_equal(again.solution, answer.solution)
        assert not again.changes


def play(name, seed):
    """An episode of random valid actions within random limits, checked from scratch."""
    rng = np.random.default_rng([seed, *name.encode()])
    cls, instance = restricted(name, rng)
    env = cls(instance, features="paper", rewards=False)
    env.reset(seed=seed)
    few = env.num_actions <= 400
    for _ in range(env.episode_length):
        if env.is_feasible():
            verdict = judge(cls, instance, env.solution())
            assert not verdict.refused, (seed, verdict)
        if few:
            actions = env.all_actions()
            mask = env.action_mask()
            assert np.array_equal(mask, env.are_valid_actions(actions)), seed
        action = None if env.is_complete() else env.sample_valid_action(rng)
        assert env.has_valid_action() or action is None, seed
        if action is None:
            break
        assert env.is_valid_action(action), seed
        env.carry_out(action)
    if env.builds_up:
        assert env.is_feasible(), seed
        assert not judge(cls, instance, env.solution()).refused, seed


@pytest.mark.parametrize("name", HELD)
def test_random_episodes_keep_to_random_limits(name):
    for seed in range(40):
        play(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
def test_thousands_of_random_episodes_keep_to_random_limits(name):
    for seed in range(1000, 1000 + 10_000 // len(HELD) + 1):
        play(name, seed)


@pytest.mark.parametrize("by", ["solver", "greedy", "agent", "portfolio"])
@pytest.mark.parametrize("name", HELD)
def test_answers_keep_to_random_limits(name, by):
    for seed in range(2):
        cls, instance = restricted(name, np.random.default_rng([seed, *name.encode(), len(by)]))
        answer = lagco.solve(instance, by=by, turns=TURNS, progress=False)
        verdict = judge(cls, instance, answer.solution)
        assert answer.valid
        assert not verdict.refused
        assert len(changes_of(cls, instance, answer.solution)) == verdict.changes


@pytest.mark.parametrize("name", ["tsp", "min-vertex", "max-cut", "ospf"])
def test_the_nearest_action_within_limits_is_that_of_brute_force(name):
    space, rng = brief_space(name), np.random.default_rng(1)
    compared = 0
    for seed in range(6):
        cls, instance = restricted(name, np.random.default_rng([seed, 3]))
        env = cls(instance, features="full")
        env.reset(seed=seed)
        view = space.view(env)
        for _ in range(4):
            valid = [env.is_valid_action(action) for action in env.all_actions()]
            if env.is_complete() or not any(valid):
                break
            view.refresh()
            actions = view.actions()
            vectors = actions.vectors(actions.list())
            raw = env.actions_from_parts(actions.parts(actions.list()))
            fine = np.array([env.is_valid_action(action) for action in raw])
            query = rng.normal(size=view.width).astype(np.float32)
            distances = np.where(fine, ((vectors - query) ** 2).sum(axis=1), np.inf)
            found = view.nearest(query, 3, "l2").indices
            got = np.sort(((actions.vectors(found) - query) ** 2).sum(axis=1))
            np.testing.assert_allclose(got, np.sort(distances)[: len(got)], rtol=1e-4, atol=1e-5)
            assert len(got) == min(3, fine.sum())
            compared += 1
            env.step(env.sample_valid_action(rng))
    assert compared > 8


def test_attack_steps_have_no_incumbent():
    assert [name for name in ENTRIES if name not in HELD] == ["cyber-path"]
