"""Episodes and the checks that all applied problems share."""

from __future__ import annotations

import numpy as np
import pytest

import lagco


def with_sweeps(cls, size, seed=0, sweeps=40):
    instance = cls.generate(size, seed=seed)
    return instance.with_references(cls.sweep(instance, sweeps, seed))


def play(env, seed=0, steps=None):
    """Random valid actions; yields (action, reward, info) per step."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    while steps is None or steps > 0:
        action = env.sample_valid_action(rng)
        _, reward, terminated, truncated, info = env.step(action)
        yield action, reward, info
        if terminated or truncated:
            return
        steps = None if steps is None else steps - 1


def check_kept_objective(env, seed, steps=40):
    """What is kept up to date equals what is computed anew, in every state and at the best one."""
    info = {}
    for _, _, info in play(env, seed, steps):
        assert info["objective"] == pytest.approx(env.recompute_objective(), rel=1e-9, abs=1e-12)
    best = env.evaluate_solution(env.instance, env.best_solution)
    assert best == pytest.approx(env._best_objective, rel=1e-9, abs=1e-12)


def check_reference_scores(cls, instance):
    """The worst scores 0 and the best 1; both configurations are worth what is said."""
    sweeps = instance.references.sweeps
    for value, solution in (
        (sweeps.best, sweeps.best_solution),
        (sweeps.worst, sweeps.worst_solution),
    ):
        assert cls.evaluate_solution(instance, solution) == pytest.approx(value, rel=1e-12)
    env = cls(instance)
    _, info = env.reset(seed=0)
    assert info["objective"] == pytest.approx(sweeps.worst, rel=1e-12)
    assert env.score(info["objective"]) == pytest.approx(0.0, abs=1e-9)
    assert env.score(sweeps.best) == pytest.approx(1.0)
    _, info = env.reset(seed=0, options={"start": sweeps.best_solution})
    assert info["objective"] == pytest.approx(sweeps.best, rel=1e-12)


def check_previews(env, seed=0, count=25):
    """The preview of an action is the objective after it (negative where less is better)."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    history = [env.sample_valid_action(rng) for _ in range(1)]
    env.step(history[0])
    actions = np.array([env.sample_valid_action(rng) for _ in range(count)])
    values = env.preview(actions)
    for action, value in zip(actions, values, strict=True):
        env.reset(seed=seed)
        env.step(history[0])
        *_, info = env.step(action)
        expected = info["objective"] if env.maximise else -info["objective"]
        assert value == pytest.approx(expected, rel=1e-9)


def check_everything(cls, instance, bare):
    """lagco's own checker, for both feature sets, with and without references."""
    for data in (instance, bare):
        for features in ("full", "paper"):
            lagco.check_problem(cls(data, features=features), episodes=1, max_steps=40)


def check_picture(cls, instance):
    env = cls(instance, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (512, 512, 3)
    assert picture.std() > 5.0
