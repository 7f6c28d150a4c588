"""Shaped rewards, which rank solutions as the score does."""

import math

import numpy as np
import pytest

from lagco.commands.generate import generate_instance
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class


def episode(name, seed=0):
    instance = generate_instance(name, size=8, references="sweeps", sweeps=20)
    env = problem_class(name)(instance)
    _, info = env.reset(seed=seed)
    start = info["objective"]
    rng = np.random.default_rng(seed)
    shaped, rewards, ended = [], [], False
    while not ended:
        *_, reward, terminated, truncated, info = env.step(env.sample_valid_action(rng))
        ended = terminated or truncated
        shaped.append(info["shaped_reward"])
        rewards.append(reward)
    return instance.references.sweeps, start, info, np.array(shaped), np.array(rewards)


@pytest.mark.parametrize("name", [n for n in ENTRIES if n not in ("tsp", "ospf", "traffic")])
def test_a_shaped_reward_is_the_reward_unless_the_problem_says_otherwise(name):
    *_, shaped, rewards = episode(name)
    assert shaped[1:] == pytest.approx(rewards[1:])


@pytest.mark.parametrize("seed", range(3))
def test_shaped_of_a_tour_add_up_to_its_length(seed):
    sweeps, _, info, shaped, _ = episode("tsp", seed)
    assert shaped.max() < 0
    assert shaped.sum() == pytest.approx(-info["objective"] / (sweeps.worst - sweeps.best))


def level(env):
    """Geometric mean of the largest utilisation and the 8-norm of all."""
    use = env.loads / env.instance.array("capacities")[:, None]
    return math.sqrt(use.max() * np.linalg.norm(use.ravel(), 8))


@pytest.mark.parametrize("features", ["full", "paper"])
@pytest.mark.parametrize("name", ["ospf", "traffic"])
def test_shaped_of_routing_add_up_to_the_logarithm(name, features):
    instance = generate_instance(name, size=8, references="sweeps", sweeps=20)
    sweeps = instance.references.sweeps
    env = problem_class(name)(instance, features=features)
    _, info = env.reset(seed=0)
    span = math.log(info["objective"] / sweeps.best)
    measure = level if features == "full" else type(env).objective
    before, total, ended = measure(env), 0.0, False
    rng = np.random.default_rng(0)
    while not ended:
        *_, terminated, truncated, info = env.step(env.sample_valid_action(rng))
        ended = terminated or truncated
        total += info["shaped_reward"]
        assert total == pytest.approx(math.log(before / measure(env)) / span, abs=1e-5)
