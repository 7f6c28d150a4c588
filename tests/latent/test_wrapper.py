"""Wrapped environments in vector environments, and what they refuse."""

from __future__ import annotations

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

import lagco
from lagco.commands.generate import generate_instance
from lagco.errors import ResetNeeded, UsageError
from lagco.problems import problem_class
from tests.latent.conftest import brief_space
from tests.mistaken import Unranked


def makers(count=3):
    tsp, space = problem_class("tsp"), brief_space("tsp")
    instances = [generate_instance("tsp", size=size, index=size) for size in range(8, 8 + count)]
    return [lambda instance=instance: lagco.wrap(tsp(instance), space) for instance in instances]


def test_vector_environments_of_gymnasium_step_as_single_ones():
    envs, alone = gym.vector.SyncVectorEnv(makers()), [make() for make in makers()]
    seen, _ = envs.reset(seed=[1, 2, 3])
    first = [env.reset(seed=seed)[0] for env, seed in zip(alone, (1, 2, 3), strict=True)]
    np.testing.assert_array_equal(seen, first)
    envs.action_space.seed(0)
    for _ in range(5):
        points = envs.action_space.sample()
        seen, rewards, terminated, *_ = envs.step(points)
        single = [env.step(point) for env, point in zip(alone, points, strict=True)]
        np.testing.assert_array_equal(seen, [result[0] for result in single])
        np.testing.assert_allclose(rewards, [result[1] for result in single])
        assert not terminated.any()


def test_vector_environments_of_stable_baselines_run_whole_episodes():
    envs = DummyVecEnv(makers())
    envs.seed(0)
    assert envs.reset().shape == (3, *envs.observation_space.shape)
    envs.action_space.seed(0)
    ended = 0
    for _ in range(12):
        points = np.stack([envs.action_space.sample() for _ in range(3)])
        observations, _, dones, infos = envs.step(points)
        assert np.isfinite(observations).all()
        ended += int(dones.sum())
        assert all(
            "terminal_observation" in info for info, done in zip(infos, dones, strict=True) if done
        )
    assert ended == 3


def test_a_step_before_the_reset_is_refused():
    env = makers()[0]()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(env.action_space.sample())
    env.reset(seed=0)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("k", [-1, 0])
def test_a_decoder_that_chooses_among_nothing_is_refused(k):
    tsp = problem_class("tsp")(generate_instance("tsp", size=8))
    with pytest.raises(UsageError, match=f"k={k}: a decoder chooses among at least 1"):
        lagco.wrap(tsp, brief_space("tsp"), k=k)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_in_the_middle_of_an_episode_goes_on_as_the_original_does(way):
    env = makers()[0]()
    env.reset(seed=3)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    twin = way(env)
    for _ in range(5):
        point = env.action_space.sample()
        first, second = env.step(point), twin.step(point)
        np.testing.assert_allclose(first[0], second[0], rtol=1e-5, atol=1e-6)
        assert first[4]["action"] == second[4]["action"]


@pytest.mark.parametrize("decoder", ["preview", "scored", "ranked"])
def test_a_decoder_that_the_environment_cannot_serve_is_refused_at_once(decoder):
    env = Unranked()
    with pytest.raises(UsageError, match=f"the {decoder} decoder"):
        lagco.wrap(env, brief_space("tsp"), decoder=decoder)
