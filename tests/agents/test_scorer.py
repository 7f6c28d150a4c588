"""The scored decoder: returns by hand, learning, and a bundle that keeps its scorer."""

from __future__ import annotations

import numpy as np
import pytest

import lagco
from lagco.agents.config import train_config
from lagco.agents.learning.scorer import Scorer, n_step_returns
from lagco.errors import UsageError
from tests.agents.runs import instances, trained


def by_hand(rewards, starts, values, last, gamma, n):
    steps, envs = rewards.shape
    found = np.zeros((steps, envs))
    for e in range(envs):
        for t in range(steps):
            total, discount, i = 0.0, 1.0, t
            while True:
                total += discount * rewards[i, e]
                discount *= gamma
                i += 1
                if i == steps:
                    total += discount * last[e]
                    break
                if starts[i, e]:
                    break
                if i == t + n:
                    total += discount * values[i, e]
                    break
            found[t, e] = total
    return found


def test_returns_stop_at_the_ends_of_episodes(rng):
    for n in (1, 3, 5):
        rewards, values = rng.normal(size=(2, 17, 4))
        starts = (rng.random((17, 4)) < 0.25).astype(float)
        last = rng.normal(size=4)
        got = n_step_returns(rewards, starts, values, last, 0.9, n)
        np.testing.assert_allclose(got, by_hand(rewards, starts, values, last, 0.9, n))


def test_the_scorer_learns_a_function(rng):
    scorer = Scorer(3, 2, train_config(learning_rate=3e-3))
    observations = rng.normal(size=(2000, 3)).astype(np.float32)
    vectors = rng.normal(size=(2000, 2)).astype(np.float32)
    targets = observations[:, 0] * vectors[:, 1]
    losses = [scorer.learn(observations, vectors, targets) for _ in range(12)]
    assert losses[-1] < 0.3 * losses[0]
    values = scorer.values(
        np.array([2.0, 0, 0], np.float32), np.array([[0, -1], [0, 1]], np.float32)
    )
    assert values[1] > values[0]


@pytest.mark.parametrize("method", ["projection", "soft-projection"])
def test_a_scored_agent_keeps_its_scorer(method):
    agent = lagco.load(trained(method, decoder="scored", k=4))
    assert "scorer.0.weight" in agent.weights
    result = lagco.evaluate(agent, instances(), episodes=2)
    assert all(e.feasible for r in result.results for e in r.episodes)


def test_without_a_scorer_it_is_refused():
    with pytest.raises(UsageError, match="trained without a scorer"):
        lagco.load(trained("projection")).with_decoder("scored")
