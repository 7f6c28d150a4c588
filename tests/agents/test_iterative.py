from __future__ import annotations

import copy
import json
from itertools import pairwise

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback

from lagco.agents.config import train_config
from lagco.agents.inference import action_tables
from lagco.agents.inference.action_tables import (
    ActionTables,
    nearest_actions,
    nearest_products,
    read_actions,
)
from lagco.agents.inference.perceptron import Perceptron
from lagco.agents.inference.q_values import ActionValues
from lagco.agents.learning.networks import join_parameters
from lagco.agents.learning.replay import GOES_ON, TERMINATED, TRUNCATED, ActionReplayBuffer
from lagco.agents.methods.iterative import IterativeMethod
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread
from tests.agents.brief import (
    PROBLEMS,
    RandomActor,
    equal_weights,
    instance,
    make_actor,
    play,
    training_env,
    weights_of,
)
from tests.latent.conftest import brief_space


def state_of(name, seed=0, reduce=None):
    env = problem_class(name)(instance(name, 8, 8))
    env.reset(seed=seed)
    view = brief_space(name, reduce=reduce).view(env)
    view.refresh()
    return view


def read_valid(view, rng):
    """Search rows of valid actions, and these."""
    rows, actions = read_actions(view, rng)
    return rows[[actions.place(i) for i in range(len(actions))]], actions


def random_layers(rng, inputs, hidden=(16, 8)):
    widths = [inputs, *hidden, 1]
    return [
        (rng.normal(size=(o, i)).astype(np.float32) / i**0.5, rng.normal(size=o).astype(np.float32))
        for i, o in pairwise(widths)
    ]


# -- the set of actions and the split network


@pytest.mark.parametrize("reduce", [None, 4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_all_valid_actions_are_offered(name, reduce, rng):
    view = state_of(name, reduce=reduce)
    rows, actions = read_valid(view, rng)
    raw = view.raw(rows)
    valid = view.env.valid_actions()
    assert len(actions) == len(rows) == len(valid)
    assert {np.ravel(a).tobytes() for a in raw} == {np.ravel(a).tobytes() for a in valid}
    width = view.space.scale.width
    expected = view.actions().vectors(rows)
    found = actions.vectors(width)
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", PROBLEMS)
def test_split_network_equals_the_plain_one(name, rng):
    views = [state_of(name, seed) for seed in range(3)]
    width = views[0].space.scale.width
    sets = [read_actions(view, rng)[1] for view in views]
    observations = rng.normal(size=(3, 5)).astype(np.float32)
    layers = random_layers(rng, 5 + width)
    plain, network = Perceptron(layers), ActionValues(layers, 5)
    best = []
    for observation, actions in zip(observations, sets, strict=True):
        inputs = [np.tile(observation, (len(actions), 1)), actions.vectors(width)]
        wanted = plain(np.concatenate(inputs, axis=1))[:, 0]
        assert network.values(observation, actions) == pytest.approx(wanted, abs=1e-4)
        best.append(wanted.max())
    assert network.maxima(observations, sets) == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("name", ["placement", "traffic"])
def test_too_many_actions_are_sampled(name, rng, monkeypatch):
    monkeypatch.setattr(action_tables, "MOST_ACTIONS", 20)
    view = state_of(name)
    rows, actions = read_valid(view, rng)
    assert 0 < len(actions) == len(rows) <= 20
    assert view.env.are_valid_actions(view.raw(rows)).all()


@pytest.mark.parametrize("reduce", [None, 4])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_nearest_actions_are_kept_as_components(name, reduce, rng):
    view = state_of(name, reduce=reduce)
    proto = rng.normal(size=view.space.scale.width).astype(np.float32)
    for most in (5, 256):
        rows, actions = nearest_actions(view, proto, most)
        assert len(rows) == len(actions) == min(most, len(view.env.valid_actions()))
        expected = view.actions().vectors(rows)
        assert actions.vectors(len(proto)) == pytest.approx(expected, abs=1e-4)
        assert actions.products(proto) == pytest.approx(expected @ proto, abs=1e-3)
        again, products = nearest_products(view, proto, most)
        assert np.array_equal(again, rows)
        assert products == pytest.approx(expected @ proto, abs=1e-3)
        actions = actions.trimmed()
        assert actions.vectors(len(proto)) == pytest.approx(expected, abs=1e-4)
        tables = [len(table) for table in actions.tables]
        if actions.index is not None:  # nothing is kept that no action has
            assert [len(np.unique(column)) for column in actions.index.T] == tables
        if name == "traffic" and reduce is None:
            assert actions.index is not None
            assert len(actions.tables) == 1 + view.layout.last.reader.positions


# -- returns


def tables(value):
    return ActionTables((np.full((2, 1), value, np.float32),), (0,), None)


def filled_buffer(ends, capacity=32, n_steps=3):
    """One environment; the observation at step t is t, its reward 10^-t, its actions' vector t."""
    box = gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    buffer = ActionReplayBuffer(
        capacity, box, gym.spaces.Discrete(2), action_width=1, n_steps=n_steps, gamma=0.5, seed=0
    )
    for t, end in enumerate(ends):
        last = {0: (np.array([1000.0 + t]), tables(1000 + t))} if end == TRUNCATED else {}
        now = np.array([[t]], np.float32)
        buffer.add(now, [tables(t)], np.array([1]), np.array([2.0**t]), np.array([end]), last)
    return buffer


def test_returns_equal_a_hand_computation_across_ends():
    ends = [GOES_ON] * 10
    ends[3], ends[6] = TERMINATED, TRUNCATED
    buffer = filled_buffer(ends)
    slots = np.arange(7)
    found = buffer.returns(slots, np.zeros(7, np.int64))
    # 2^t + 2^(t+1)/2 + 2^(t+2)/4 = 3 · 2^t over three steps, 2 · 2^t over two, 2^t over one
    assert found.rewards.tolist() == [3, 6, 8, 8, 48, 64, 64]
    assert found.discounts.tolist() == [0.125, 0, 0, 0, 0.125, 0.25, 0.5]
    assert (found.places >= 0).tolist() == [True, False, False, False, True, True, True]
    observations, actions = buffer.states(found.places[[0, 4, 5, 6]])
    assert observations[:, 0].tolist() == [3, 1006, 1006, 1006]
    assert [a.tables[0][0, 0] for a in actions] == [3, 1006, 1006, 1006]
    assert found.inputs.tolist() == [[t, t] for t in range(7)]


def test_ring_overwrites_the_oldest_and_samples_whole_returns_only():
    ends = [TRUNCATED if t % 4 == 3 else GOES_ON for t in range(23)]
    buffer = filled_buffer(ends, capacity=8)
    assert buffer.size() == 8 and len(buffer.state()["last"]) == 2
    assert len([actions for actions in buffer.actions if actions is not None]) == 10
    batch = buffer.sample(200)
    observations, _ = buffer.states(batch.places)
    assert set(batch.inputs[:, 0]) == {15, 16, 17, 18, 19}
    for (t, _), reward, observation in zip(batch.inputs, batch.rewards, observations, strict=True):
        steps = 1 if t % 4 == 3 else min(3, 4 - t % 4)
        assert reward == steps * 2.0**t
        end = t + steps - 1
        assert observation[0] == (1000 + end if end % 4 == 3 else t + 3)


def test_a_state_is_valued_once_by_each_target():
    buffer = filled_buffer([GOES_ON] * 6 + [TRUNCATED] + [GOES_ON] * 3, capacity=16)
    asked = []

    def maxima(observations, sets):
        asked.append(observations[:, 0].tolist())
        return np.array([s.tables[0][0, 0] for s in sets], np.float32) + len(asked)

    def values(slots, target):
        batch = buffer.returns(np.array(slots), np.zeros(len(slots), np.int64))
        return buffer.values(batch, target, maxima).tolist()

    assert values([0, 1], 0) == [4, 5]
    assert values([1, 2, 5], 0) == [5, 7, 1008]
    assert values([2, 5], 0) == [7, 1008]
    assert values([0, 5], 1) == [6, 1009]
    for t in range(10, 20):  # over the ring's end
        buffer.add(np.array([[t]], np.float32), [tables(t)], np.zeros(1, int), np.ones(1),
                   np.array([GOES_ON]), {})  # fmt: skip
    assert values([0], 1) == [23]
    assert asked == [[3, 4], [5, 1006], [3, 1006], [19]]


def test_episode_cut_off_goes_on_with_its_own_last_state():
    env, _ = training_env("iterative", "max-cut", envs=1, sizes=(8,))
    env.reset()
    for _ in range(env.problems[0].episode_length):
        offered = env.offer()
        assert not env.cut_off
        _, _, dones, infos = env.step(np.zeros(1, int))
        if dones[0] and not infos[0]["TimeLimit.truncated"]:
            pytest.skip("the episode reached the best value")
    assert dones[0]
    observation, actions = env.cut_off[0]
    assert np.array_equal(observation, infos[0]["terminal_observation"])
    assert len(actions) == 8
    assert not np.array_equal(actions.tables[0], offered[0].tables[0])
    env.offer()
    env.step(np.zeros(1, int))
    assert not env.cut_off


# -- updates


def after_some_steps(**given):
    env, config = training_env("iterative", "placement", envs=4, steps=400, **given)
    model = IterativeMethod().model(env, config)
    with one_thread():
        model.learn(240)
    return model


def test_targets_are_returns_and_the_best_value_of_the_target_network():
    model = after_some_steps(target_every=40)
    buffer = model.replay_buffer
    with torch.no_grad():
        model.q_net[0].weight += 0.1  # the target network stays as it was
    returns = buffer.sample(40)
    found = model.targets(returns).numpy()
    valued = np.flatnonzero(returns.places >= 0)
    assert len(valued) > 10
    expected = returns.rewards.copy()
    observations, sets = buffer.states(returns.places[valued])
    for at, observation, actions in zip(valued, observations, sets, strict=True):
        repeated = np.tile(observation, (len(actions), 1))
        inputs = np.concatenate([repeated, actions.vectors(buffer.action_width)], axis=1)
        with torch.no_grad():
            best = model.q_net_target(torch.from_numpy(inputs)).max()
        expected[at] += returns.discounts[at] * float(best)
    assert found == pytest.approx(expected, abs=1e-4)


def test_the_loss_is_quadratic_up_to_an_error_of_1_and_linear_beyond():
    model = after_some_steps()
    returns = model.replay_buffer.sample(32)
    inputs = torch.from_numpy(returns.inputs)
    values = model.q_net(inputs).detach().numpy()
    errors = np.linspace(-3.0, 3.0, len(values), dtype=np.float32)
    size = np.abs(errors)
    expected = np.where(size < 1, errors**2 / 2, size - 0.5).mean()
    loss = model.loss(inputs, torch.from_numpy(values - errors))
    assert loss.item() == pytest.approx(expected, abs=1e-4)


def test_an_update_is_a_step_of_adam_by_the_cut_gradient():
    model = after_some_steps(max_grad_norm=0.01)
    twin = copy.deepcopy(model.q_net)
    joined = join_parameters(twin)
    optimizer = torch.optim.Adam([joined], lr=1e-4, eps=1e-7)
    state = copy.deepcopy(model.policy.optimizer.state_dict())
    state["param_groups"][0]["fused"] = False
    optimizer.load_state_dict(state)
    before = model.replay_buffer.rng.bit_generator.state
    returns = model.replay_buffer.sample(32)
    targets = model.targets(returns)
    model.replay_buffer.rng.bit_generator.state = before
    model.train(1, 32)
    values = twin(torch.from_numpy(returns.inputs))
    torch.nn.functional.smooth_l1_loss(values, targets).backward()
    norm = joined.grad.norm()
    assert norm > 0.01
    joined.grad *= 0.01 / norm
    optimizer.step()
    for found, expected in zip(model.q_net.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


# -- training


@pytest.mark.parametrize("name", PROBLEMS)
def test_trains_and_acts_on_every_problem(name):
    env, config = training_env("iterative", name, envs=4, steps=200, batch_size=8)
    model = IterativeMethod().model(env, config).learn(200)
    assert model._n_updates > 0
    weights = weights_of("iterative", model)
    assert all(np.isfinite(array).all() for array in weights.values())
    problem = problem_class(name)(instance(name, 12, 12))  # larger than any of training
    problem.reset(seed=0)
    actor = make_actor("iterative", problem, weights, IterativeMethod().facts(env))
    rng = np.random.default_rng(0)
    for step in range(6):
        action = actor.act(rng, explore=step % 2 == 0)
        assert problem.is_valid_action(action)
        *_, terminated, truncated, _ = problem.step(action)
        if terminated or truncated:
            break


def test_target_network_is_copied_at_the_interval():
    env, config = training_env("iterative", "tsp", envs=8, steps=400, target_every=200)
    model = IterativeMethod().model(env, config)
    observation = np.zeros((1, env.observation_space.shape[0]), np.float32)
    env.reset()
    actions = env.offer()

    def target():
        q = model.q_net_target.over_actions(observation.shape[1])
        return q.maxima(observation, actions[:1])[0]

    first = target()
    model.learn(192)
    assert model._n_updates > 0 and target() == first
    model.learn(16, reset_num_timesteps=False)
    assert target() != first


def test_paper_leaves_action_vectors_as_they_are():
    config = train_config(method="iterative", preset="paper")
    assert (config.tau, config.target_every) == (0.05, 10_000)
    env, _ = training_env("iterative", "tsp", preset="paper")
    assert IterativeMethod().facts(env) == {"standardised": False}
    env.reset()
    z = env.views[0].embeddings["cities"]
    visited = env.problems[0].graph_views()["cities"].nodes["visited"]
    assert env.offer()[0].tables[0] == pytest.approx(z[visited == 0], abs=1e-6)


def test_training_repeats_exactly_and_depends_on_the_seed():
    found = []
    for seed in (3, 3, 4):
        env, config = training_env("iterative", "tsp", seed=seed, steps=400)
        found.append(weights_of("iterative", IterativeMethod().model(env, config).learn(400)))
    assert equal_weights(found[0], found[1])
    assert not equal_weights(found[0], found[2])


class Checkpoint(BaseCallback):
    """Takes everything needed to go on at a rollout boundary."""

    def __init__(self, at):
        super().__init__()
        self.at = at

    def _on_rollout_start(self):
        model = self.model
        if model.num_timesteps == self.at:
            self.policy = {k: v.clone() for k, v in model.policy.state_dict().items()}
            self.optimizer = copy.deepcopy(model.policy.optimizer.state_dict())
            self.env_state = json.loads(json.dumps(model.env.state()))
            self.extra = json.loads(json.dumps(model.extra_state()))
            self.arrays = {k: np.array(v) for k, v in model.extra_arrays().items()}

    def _on_step(self):
        return True


@pytest.mark.parametrize("name", ["tsp", "placement", "traffic"])
def test_resumed_training_ends_with_the_same_weights(name):
    given = dict(envs=8, steps=480, seed=5, buffer=160, batch_size=8, target_every=100)
    env, config = training_env("iterative", name, **given)
    checkpoint = Checkpoint(at=240)
    whole = IterativeMethod().model(env, config).learn(480, callback=checkpoint)

    env, config = training_env("iterative", name, **given)
    model = IterativeMethod().model(env, config)
    model._last_obs = env.restore(checkpoint.env_state)
    model.policy.load_state_dict(checkpoint.policy)
    model.policy.optimizer.load_state_dict(checkpoint.optimizer)
    model.restore_extra(checkpoint.extra, checkpoint.arrays)
    model.num_timesteps = 240
    model.learn(240, reset_num_timesteps=False)
    assert equal_weights(weights_of("iterative", whole), weights_of("iterative", model))
    assert whole.extra_state() == model.extra_state()


def test_iterative_learns():
    env, config = training_env("iterative", "max-cut", steps=3000, seed=1, learning_rate=1e-3)
    model = IterativeMethod().model(env, config).learn(3000)
    problem = problem_class("max-cut")(instance("max-cut", 12, 12))
    problem.reset(seed=0)
    weights = weights_of("iterative", model)
    actor = make_actor("iterative", problem, weights, IterativeMethod().facts(env))
    learned = play(problem, actor, 10)
    assert learned > play(problem, RandomActor(problem), 10) + 0.05


@pytest.fixture
def rng():
    return np.random.default_rng(0)
