from __future__ import annotations

import numpy as np
import pytest

from lagco.agents.discrete import G_DISCRETE, P_DISCRETE, P_DISCRETE_M
from lagco.agents.heads import Weighting
from lagco.agents.ppo import BatchedPPO
from lagco.agents.split_inputs import split_observations
from tests.agents.brief import training_env

WEIGHTING = Weighting(0.2, 0.01, 0.5)


def rollout_of_two(rng, width=400, varying=(3, 300)):
    """Two environments, two instances, an episode of three steps each; then the other instance."""
    instances = rng.normal(size=(2, width)).astype(np.float32)
    observations = np.stack([instances[[0, 1]]] * 3 + [instances[[1, 0]]] * 3)
    observations[:, :, list(varying)] = rng.normal(size=(6, 2, len(varying)))
    starts = np.zeros((6, 2))
    starts[[0, 3]] = 1
    return observations, starts


def test_columns_that_vary_within_an_episode_are_told_from_the_others(rng):
    observations, starts = rollout_of_two(rng)
    found = split_observations(observations, starts, batch=8)
    assert found.fixed_runs.among_all == (slice(4, 300), slice(301, 400))
    assert found.varied_runs.among_all == (slice(0, 4), slice(300, 301))
    flat = observations.reshape(12, -1)
    chosen = np.array([5, 0, 7, 7, 2])
    inputs = found.select(chosen)
    assert len(inputs.fixed) == 2
    assert np.array_equal(inputs.varied.numpy(), found.varied_runs.take(flat)[chosen])
    fixed = inputs.fixed[inputs.group].numpy()
    assert np.array_equal(fixed, found.fixed_runs.take(flat)[chosen])


@pytest.mark.parametrize("varying", [range(0, 400, 2), range(400)])
def test_what_varies_everywhere_is_not_split(rng, varying):
    assert split_observations(*rollout_of_two(rng, varying=varying), batch=8) is None


def test_as_many_instances_as_transitions_are_not_split(rng):
    observations = rng.normal(size=(8, 4, 400)).astype(np.float32)
    assert split_observations(observations, np.ones((8, 4)), batch=8) is None


@pytest.mark.parametrize("method", [P_DISCRETE, P_DISCRETE_M])
@pytest.mark.parametrize("name", ["tsp", "placement"])
def test_gradients_equal_those_of_whole_observations(method, name):
    env, config = training_env(method.name, name, sizes=(8, 16), envs=4, rollout=128, steps=128)
    model = method.model(env, config)
    model._setup_learn(128)
    callback = model._init_callback(None)
    model.collect_rollouts(env, callback, model.rollout_buffer, model.n_steps)
    chosen = np.random.default_rng(0).permutation(128)[:64]
    rollout = model.rollout()
    assert model._split is not None
    split = model.differentiate(rollout, chosen, WEIGHTING)
    gradient = model.network.joint.gradient.clone().numpy()
    whole = BatchedPPO.differentiate(model, rollout, chosen, WEIGHTING)
    expected = model.network.joint.gradient.numpy()
    assert split == pytest.approx(whole, abs=1e-5)
    assert np.abs(expected).max() > 1e-3
    assert gradient == pytest.approx(expected, abs=1e-5)


def test_pooled_observations_are_not_split():
    env, config = training_env("g-discrete", "tsp", envs=4, rollout=128, steps=128)
    model = G_DISCRETE.model(env, config).learn(128)
    assert model._split is None
