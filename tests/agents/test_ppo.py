"""The loss of PPO, its gradients, what heads draw, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from stable_baselines3.common.callbacks import BaseCallback
from torch import nn

from lagco.agents.config import train_config
from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.learning.candidates import CandidateHead, pad_candidates
from lagco.agents.learning.heads import CategoricalHead, GaussianHead, MaskedHead
from lagco.agents.learning.ppo import (
    PPO,
    Minibatch,
    Weighting,
    clip_norm_,
    ppo_loss,
    use_loss,
    use_network,
)
from lagco.agents.registry import method_of
from lagco.errors import UsageError
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread
from tests.agents.brief import instances
from tests.latent.conftest import brief_space

WEIGHTING = Weighting(clip=0.2, entropy=0.01, value=0.5)


class _Keep(BaseCallback):
    """Collects a rollout and does not learn from it."""

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        self.model.train = lambda: None


def after_rollout(method, problem="tsp", policy=None, **given):
    """A model that has collected a rollout."""
    config = train_config(method=method, envs=4, rollout=128, seed=3, **given)
    chosen = method_of(method)
    space = brief_space(problem, "full") if chosen.latent else None
    env = chosen.env(problem_class(problem), instances(problem), space, config)
    model = chosen.model(env, config)
    if policy is not None:
        use_network(model, policy, method)
    with one_thread():
        model.learn(1, callback=_Keep())
    return model


def random_batch(rng, size=40):
    arrays = rng.normal(size=(6, size)).astype(np.float32) * 0.4
    return Minibatch(*map(torch.from_numpy, arrays), progress=0.0)


def test_the_loss_is_that_of_the_formula(rng):
    batch = random_batch(rng)
    loss, parts = ppo_loss(batch, WEIGHTING)
    now, entropies, values, old, advantages, returns = (t.numpy() for t in batch[:6])
    advantages = (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)
    ratio = np.exp(now - old)
    assert (np.abs(ratio - 1) > WEIGHTING.clip).any()
    gains = [min(a * r, a * min(max(r, 0.8), 1.2)) for a, r in zip(advantages, ratio, strict=True)]
    expected = -np.mean(gains) + 0.5 * np.mean((values - returns) ** 2) - 0.01 * entropies.mean()
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert float(parts["policy_gradient_loss"]) == pytest.approx(-np.mean(gains), rel=1e-5)
    assert float(parts["value_loss"]) == pytest.approx(np.mean((values - returns) ** 2), rel=1e-5)


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        ("projection", "tsp"),
        ("p-discrete", "tsp"),
        ("g-discrete-m", "cyber-path"),
        ("soft-projection", "tsp"),
        ("soft-projection", "traffic"),
    ],
)
def test_gradients_reach_every_parameter_and_the_policy_starts_where_it_drew(method, problem):
    model = after_rollout(method, problem)
    batch = model.minibatch(*model.rollout())
    torch.testing.assert_close(batch.log_probs, batch.old_log_probs, rtol=1e-4, atol=1e-4)
    loss, _ = ppo_loss(batch, WEIGHTING)
    loss.backward()
    for name, parameter in model.policy.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("policy", [None, nn.Linear])
def test_a_step_is_that_of_adam_for_every_parameter(policy):
    model = after_rollout("projection", policy=policy)
    twins = [nn.Parameter(p.detach().clone()) for p in model.policy.parameters()]
    settings = {k: v for k, v in model.policy.optimizer.param_groups[0].items() if k != "params"}
    adam = torch.optim.Adam(twins, **settings)
    (observations, transitions), optimiser = model.rollout(), model.policy.optimizer
    for chosen in transitions.split(32):
        loss, _ = ppo_loss(model.minibatch(observations, chosen), WEIGHTING)
        optimiser.zero_grad(set_to_none=False)
        loss.backward()
        for twin, parameter in zip(twins, model.policy.parameters(), strict=True):
            twin.grad = parameter.grad.clone()
        nn.utils.clip_grad_norm_(twins, 0.5)
        clip_norm_(optimiser.param_groups[0]["params"][0].grad, 0.5)
        adam.step()
        optimiser.step()
    for twin, parameter in zip(twins, model.policy.parameters(), strict=True):
        torch.testing.assert_close(twin, parameter, rtol=1e-5, atol=1e-6)


def test_gaussian_log_probabilities_are_those_of_independent_normals(rng):
    head = GaussianHead(np.full(3, -1.0), np.full(3, 1.0), -0.5)
    outputs = torch.from_numpy(rng.normal(size=(5, 3)).astype(np.float32))
    actions, log_probs = head.draw(outputs, 0)
    normal = torch.distributions.Normal(outputs, head.log_std.exp())
    torch.testing.assert_close(log_probs, normal.log_prob(actions).sum(1))
    found, entropy = head.evaluate(outputs, actions, torch.arange(5))
    torch.testing.assert_close(found, log_probs)
    torch.testing.assert_close(entropy.expand(5), normal.entropy().sum(1))
    assert np.abs(head.executed(10.0 * actions.detach().numpy())).max() <= 1.0


def test_masked_actions_are_never_drawn_and_have_no_part(rng):
    masks = rng.random((2, 3, 10)) < 0.3
    masks[0, 0] = False  # where nothing is valid, everything counts
    asked = iter(masks.copy())
    head = MaskedHead(10, lambda: next(asked))
    head.begin(2, 3)
    outputs = torch.from_numpy(rng.normal(size=(6, 10)).astype(np.float32))
    with torch.no_grad():
        draws = [head.draw(outputs[3 * step : 3 * step + 3], step) for step in range(2)]
    valid = (masks | ~masks.any(2, keepdims=True)).reshape(6, 10)
    actions, log_probs = (torch.cat(parts) for parts in zip(*draws, strict=True))
    assert valid[np.arange(6), actions.numpy()].all()
    chosen = torch.tensor([4, 0, 2])
    found, entropies = head.evaluate(outputs[chosen], actions[chosen], chosen)
    torch.testing.assert_close(found, log_probs[chosen])
    for row, entropy in zip(chosen.tolist(), entropies, strict=True):
        among = torch.distributions.Categorical(logits=outputs[row][torch.from_numpy(valid[row])])
        torch.testing.assert_close(entropy, among.entropy())


def test_a_categorical_head_draws_as_often_as_its_probabilities_say():
    head = CategoricalHead(3)
    torch.manual_seed(0)
    logits = torch.tensor([0.7, 0.2, 0.1]).log().expand(20_000, 3)
    actions, _ = head.draw(logits, 0)
    shares = np.bincount(actions.numpy(), minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.7, 0.2, 0.1], atol=0.02)
    assert head.mode(logits[:1]).tolist() == [0]


def candidates(rng, rows, count):
    tables = [rng.normal(size=(n, 3)).astype(np.float32) for n in rows]
    index = np.stack([rng.integers(n, size=count) for n in rows], axis=1)
    return ActionTables(tuple(tables), tuple(range(0, 3 * len(rows), 3)), index)


@pytest.mark.parametrize("listed", [False, True])
def test_candidates_have_the_probabilities_of_their_listed_vectors(listed, rng):
    if listed:
        tables = [rng.normal(size=(n, 9)).astype(np.float32) for n in (4, 7)]
        offered = [ActionTables((table,), (0,), None) for table in tables]
    else:
        # the second state lacks a component, the first has rows that no candidate has
        offered = [candidates(rng, (40, 3, 8), 25), candidates(rng, (5, 70), 6)]
    head = CandidateHead(9, lambda protos: offered)
    with torch.no_grad():
        head.log_temperature.fill_(0.3)
    head.begin(1, 2)
    protos = torch.from_numpy(rng.normal(size=(2, 9)).astype(np.float32)).requires_grad_()
    actions, log_probs = head.draw(protos.detach(), 0)
    chosen = torch.tensor([1, 0])
    found, entropies = head.evaluate(protos[chosen], actions[chosen], chosen)
    (found.sum() + entropies.sum()).backward()
    gradient, protos.grad = protos.grad.clone(), None
    for place, state in enumerate(chosen.tolist()):
        vectors = torch.from_numpy(offered[state].vectors(9))
        listing = torch.distributions.Categorical(
            logits=vectors @ protos[state] * torch.exp(-head.log_temperature)
        )
        torch.testing.assert_close(found[place], listing.log_prob(actions[state]))
        torch.testing.assert_close(log_probs[state], found[place])
        torch.testing.assert_close(entropies[place], listing.entropy())
        (listing.log_prob(actions[state]) + listing.entropy()).backward()
    torch.testing.assert_close(gradient, protos.grad, rtol=1e-4, atol=1e-5)


def test_padded_candidates_are_copies(rng):
    table = rng.normal(size=(4, 3)).astype(np.float32)
    head = CandidateHead(3, lambda protos: [ActionTables((table,), (0,), None)])
    head.begin(1, 1)
    proto = torch.ones(1, 3)
    action, before = head.draw(proto, 0)
    table[:] = 0.0  # the environment goes on
    after, _ = head.evaluate(proto, action, torch.arange(1))
    torch.testing.assert_close(after, before)


def test_compact_tables_can_be_padded(rng):
    given = [candidates(rng, (5, 6), 7), candidates(rng, (9, 2), 3)]
    protos = torch.from_numpy(rng.normal(size=(2, 6)).astype(np.float32))
    found = pad_candidates([each.compact() for each in given]).products(protos)
    for row, each, proto in zip(found, given, protos, strict=True):
        expected = each.vectors(6) @ proto.numpy()
        np.testing.assert_allclose(row[: len(each)], expected, rtol=0.01, atol=0.01)


class _Guess:
    """An environment of one step: the reward is higher the nearer an action is to 0.5."""

    def __new__(cls):
        import gymnasium as gym
        from stable_baselines3.common.vec_env import DummyVecEnv

        class Guess(gym.Env):
            observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
            action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

            def reset(self, seed=None, options=None):
                return np.ones(2, np.float32), {}

            def step(self, action):
                return np.ones(2, np.float32), -abs(float(action[0]) - 0.5), True, False, {}

        return DummyVecEnv([Guess] * 8)


def test_ppo_learns_what_is_rewarded_and_repeats():
    from lagco.agents.learning.ppo import PPO

    found = []
    for _ in range(2):
        env = _Guess()
        config = train_config(method="projection", rollout=256, hidden=(16,), seed=1, steps=4096)
        space = env.action_space
        model = PPO(env, lambda space=space: GaussianHead(space.low, space.high, -1.0), config)
        before, _ = model.predict(np.ones(2, np.float32), deterministic=True)
        model.learn(4096)
        after, _ = model.predict(np.ones(2, np.float32), deterministic=True)
        found.append(after)
    assert abs(before[0] - 0.5) > 0.4
    assert abs(after[0] - 0.5) < 0.1
    assert np.array_equal(*found)


def test_an_update_ends_early_beyond_a_target_divergence():
    model = after_rollout("projection", learning_rate=0.05)
    del model.train
    model.target_kl, before = 1e-4, model._n_updates
    model.train()
    assert model._n_updates == before + 1


def test_another_loss_is_learnt_from_and_told_how_far_the_run_is():
    model = after_rollout("projection")
    del model.train
    seen = []

    def value_alone(batch, weighting):
        seen.append(batch.progress)
        loss = (batch.values - batch.returns).abs().mean()
        return loss, {"value_loss": loss}

    policy = [p.detach().clone() for p in model.policy.policy_net.parameters()]
    value = [p.detach().clone() for p in model.policy.value_net.parameters()]
    for group in model.policy.optimizer.param_groups:
        group["weight_decay"] = 0.0
    use_loss(model, value_alone, "projection")
    model.train()
    assert seen and all(0.0 <= progress <= 1.0 for progress in seen)
    now = model.policy
    assert all(map(torch.equal, policy, now.policy_net.parameters()))
    assert not any(map(torch.equal, value, now.value_net.parameters()))


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (torch.tensor(1.0), r"returned tensor\(1\.\); return the loss and what is logged"),
        ((torch.tensor(float("nan")), {}), "is not finite; "),
        ((torch.tensor(float("inf")), {}), "is not finite; "),
    ],
)
def test_a_loss_of_ones_own_that_gives_no_loss_is_named(found, message):
    def mine(batch, weighting):
        return found

    model = PPO.__new__(PPO)
    use_loss(model, mine, "projection")
    with pytest.raises(UsageError, match=rf"^loss=.*mine {message}"):
        model.loss(None, None)


def test_methods_without_ppo_refuse_a_loss():
    with pytest.raises(UsageError, match="loss=: iterative does not learn by PPO"):
        use_loss(object(), ppo_loss, "iterative")
