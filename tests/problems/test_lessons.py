"""What agents learn from ranks solutions as the score does."""

import math

import numpy as np
import pytest

from lagco.generation import generate_instance
from lagco.problems import problem_class
from lagco.registration import ENTRIES


def episode(name, seed=0, **options):
    instance = generate_instance(name, size=8, references="sweeps", sweeps=20)
    env = problem_class(name)(instance)
    _, info = env.reset(seed=seed)
    start = info["objective"]
    rng = np.random.default_rng(seed)
    lessons, rewards, ended = [], [], False
    while not ended:
        *_, reward, terminated, truncated, info = env.step(env.sample_valid_action(rng))
        ended = terminated or truncated
        lessons.append(info["lesson"])
        rewards.append(reward)
    return instance.references.sweeps, start, info, np.array(lessons), np.array(rewards)


@pytest.mark.parametrize("name", [n for n in ENTRIES if n not in ("tsp", "ospf", "traffic")])
def test_a_lesson_is_the_reward_unless_the_problem_says_otherwise(name):
    *_, lessons, rewards = episode(name)
    assert lessons[1:] == pytest.approx(rewards[1:])


@pytest.mark.parametrize("seed", range(3))
def test_lessons_of_a_tour_add_up_to_its_length(seed):
    sweeps, _, info, lessons, _ = episode("tsp", seed)
    assert lessons.max() < 0
    assert lessons.sum() == pytest.approx(-info["objective"] / (sweeps.worst - sweeps.best))


@pytest.mark.parametrize("name", ["ospf", "traffic"])
def test_lessons_of_routing_add_up_to_the_logarithm(name):
    sweeps, start, info, lessons, _ = episode(name)
    expected = math.log(start / info["objective"]) / math.log(start / sweeps.best)
    assert lessons.sum() == pytest.approx(expected)
