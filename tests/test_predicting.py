"""Models that predict actions are evaluated as they are, those of Stable-Baselines3 included."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import A2C, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import lagco
from examples.colouring import Colouring
from examples.depots import Depots
from examples.facility import Facility
from lagco.errors import UsageError
from lagco.latent.predicting import PredictingPolicy

BRIEF = lagco.embedding.PretrainConfig(max_steps=3, states=16)
SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def encoder():
    return lagco.pretrain(Facility, seeds=range(2), training=BRIEF, progress=False)


@pytest.fixture(scope="module")
def depots():
    return [Depots.generate(12, index=i) for i in range(2)]


def evaluate(model, data=None, **options):
    return lagco.evaluate(model, data, progress=False, **options)


def test_a_model_on_the_wrapped_environment_is_decoded_as_there(encoder, tmp_path):
    wrapped = lagco.wrap(Facility(), encoder)
    model = PPO("MlpPolicy", wrapped, **SMALL).learn(16)
    given = {"problem": Facility, "data": {"clients": 7}, "seeds": [3, 4], "episodes": 2}
    found = evaluate(model, **given)
    assert found.policy == "PPO"
    assert found == evaluate(model, **given)  # sampled episodes, too
    observation, _ = wrapped.reset(seed=3, options={"clients": 7})
    total, ended = 0.0, False
    while not ended:
        proto, _ = model.predict(observation, deterministic=True)
        observation, reward, ended, _, _ = wrapped.step(proto)
        total += reward
    assert found.results[0].episodes[0].episode_return == pytest.approx(total)
    model.save(tmp_path / "model")
    again = PPO.load(tmp_path / "model", env=lagco.wrap(Facility(), wrapped._space))
    assert evaluate(again, **given) == found
    with pytest.raises(
        UsageError, match=r"PPO predicts points of 35 numbers, but .*latent space: .*env="
    ):
        evaluate(PPO.load(tmp_path / "model"), **given)


def test_a_model_on_the_plain_environment_acts_by_itself(depots):
    model = A2C("MultiInputPolicy", Depots(depots[0]), n_steps=8, device="cpu").learn(8)
    found = evaluate(model, depots, episodes=2)  # the model says which problem it is about
    assert found.problem == "depots"
    env = Depots(depots[1])
    observation, _ = env.reset(seed=42)
    ended = truncated = False
    while not (ended or truncated):
        action, _ = model.predict(observation, deterministic=True)
        observation, _, ended, truncated, info = env.step(int(action))
    assert found.results[1].episodes[0].objective == info["objective"]
    with pytest.raises(UsageError, match=r"A2C observes .*gain \(12,\).*'depots-42-0000' is.*15"):
        evaluate(model, [Depots.generate(15)])


def test_wrappers_of_observations_are_applied(depots):
    flat = DummyVecEnv([lambda: gym.wrappers.FlattenObservation(Depots(depots[0]))])
    normalised = VecNormalize(flat)
    model = PPO("MlpPolicy", normalised, **SMALL).learn(16)
    env = Depots(depots[1])
    env.reset(seed=1)
    seen = PredictingPolicy(model)._observed(env)
    plain = gym.wrappers.FlattenObservation(env).observation(env.observation())
    np.testing.assert_array_equal(seen, normalised.normalize_obs(plain))
    assert len(evaluate(model, depots, episodes=1).results) == 2


class Nearest:
    """A rule that needs the observation alone."""

    def predict(self, observation):
        return int(np.flatnonzero(observation["open"] == 0)[observation["gain"].argmax() * 0])


class Remembering:
    """Takes part of what a model may be told, and keeps a state."""

    name = "remembering"

    def __init__(self):
        self.states = []

    def predict(self, observation, state=None, action_masks=None):
        self.states.append(state)
        return np.flatnonzero(action_masks)[0], (state or 0) + 1


def test_a_predicting_object_of_ones_own(depots):
    assert evaluate(Nearest(), depots, problem=Depots, episodes=1).policy == "Nearest"
    model = Remembering()
    found = evaluate(model, depots[:1], problem=Depots, episodes=2)
    assert found.policy == "remembering"
    steps = [episode.steps for episode in found.results[0].episodes]
    assert model.states == [s or None for n in steps for s in range(n)]


def test_what_cannot_act_is_refused_by_name():
    colours = [Colouring.generate(8)]

    class Odd:
        def act(self, env):
            return 0

    with pytest.raises(UsageError, match=r"act\(\) cannot be called as act\(env, rng, explore\)"):
        evaluate(Odd(), colours, problem=Colouring)
    with pytest.raises(UsageError, match=r"act\(env, rng, explore\) or predict\(observation\)"):
        evaluate(PPO, colours, problem=Colouring)
