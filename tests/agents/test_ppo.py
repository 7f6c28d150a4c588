"""Loss and gradients of the fused updates against Stable-Baselines3's own and autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import nn

from lagco.agents.config import train_config
from lagco.agents.heads import Weighting
from lagco.agents.lean import lean_torch
from lagco.agents.own_network import use_network
from lagco.agents.registry import method_of
from lagco.agents.soft_policy import pad_candidates
from lagco.problems import problem_class
from tests.agents.brief import instances
from tests.latent.conftest import brief_space

WEIGHTING = Weighting(clip=0.2, entropy=0.01, value=0.5)


def after_rollout(method, problem="tsp", policy=None, **given):
    """A model that has collected a rollout and then moved away from the policy that did."""
    config = train_config(method=method, envs=4, rollout=128, seed=3, **given)
    chosen = method_of(method)
    space = brief_space(problem, "full") if chosen.latent else None
    env = chosen.env(problem_class(problem), instances(problem), space, config)
    model = chosen.model(env, config)
    if policy is not None:
        use_network(model, policy, method)
    offers, offered = [], getattr(env, "offer", None)
    if offered is not None:
        env.offer = lambda protos: offers.append(offered(protos)) or offers[-1]
    with lean_torch():
        model.learn(1, callback=_StopBeforeUpdate())
        model.policy.set_training_mode(True)
        generator = torch.Generator().manual_seed(0)
        with torch.no_grad():
            for parameter in model.policy.parameters():
                parameter += 0.06 * torch.randn(parameter.shape, generator=generator)
    return model, [candidates for step in offers for candidates in step]


def _StopBeforeUpdate():
    from stable_baselines3.common.callbacks import BaseCallback

    class Stop(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_end(self):
            self.model.train = lambda: None

    return Stop()


def reference_loss(rollout, chosen, values, log_prob, entropy):
    """The loss as Stable-Baselines3's PPO writes it."""
    advantages = torch.from_numpy(rollout.advantages[chosen])
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(log_prob - torch.from_numpy(rollout.log_probs[chosen]))
    clipped = torch.clamp(ratio, 1 - WEIGHTING.clip, 1 + WEIGHTING.clip)
    policy_loss = -torch.min(advantages * ratio, advantages * clipped).mean()
    value_loss = nn.functional.mse_loss(torch.from_numpy(rollout.returns[chosen]), values.flatten())
    assert (ratio < 1 - WEIGHTING.clip).any() or (ratio > 1 + WEIGHTING.clip).any()
    return policy_loss - WEIGHTING.entropy * entropy.mean() + WEIGHTING.value * value_loss


def assert_equal_gradients(model, policy, evaluate):
    """The update's loss and gradient equal those of autograd through the policy."""
    rollout = model.rollout()
    chosen = np.random.default_rng(0).permutation(len(rollout.returns))[:48]
    model.network.begin(rollout.observations)
    parts = model.differentiate(rollout, chosen, WEIGHTING)
    model.network.finish()
    found = {name: p.grad.clone() for name, p in model.policy.named_parameters()}
    loss = reference_loss(rollout, chosen, *evaluate(rollout, chosen))
    policy.zero_grad()
    loss.backward()
    mine = parts[0] - WEIGHTING.entropy * parts[2] + WEIGHTING.value * parts[1]
    assert mine == pytest.approx(float(loss.detach()), rel=1e-5, abs=1e-5)
    for name, parameter in policy.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad, rtol=1e-5, atol=1e-5, err_msg=name)
    assert max(float(g.abs().max()) for g in found.values()) > 1e-3


@pytest.mark.parametrize("activation", ["leaky_relu", "relu", "tanh", "elu"])
@pytest.mark.parametrize("method", ["projection", "p-discrete"])
def test_gradients_equal_those_of_ppo(method, activation):
    model, _ = after_rollout(method, activation=activation)
    _assert_ppo(model)


@pytest.mark.parametrize("hidden", [(), (8,), (16, 12, 8)])
def test_gradients_equal_those_of_ppo_at_other_depths(hidden):
    model, _ = after_rollout("projection", hidden=hidden)
    _assert_ppo(model)


def test_gradients_of_an_own_network_equal_those_of_ppo():
    model, _ = after_rollout("projection", policy=nn.Linear)
    _assert_ppo(model)


def _assert_ppo(model):
    def evaluate(rollout, chosen):
        actions = torch.from_numpy(rollout.actions[chosen])
        return model.policy.evaluate_actions(rollout.observations[chosen], actions)

    assert_equal_gradients(model, model.policy, evaluate)


@pytest.mark.parametrize("activation", ["leaky_relu", "tanh"])
@pytest.mark.parametrize(
    ("method", "problem"), [("p-discrete-m", "placement"), ("g-discrete-m", "cyber-path")]
)
def test_gradients_equal_those_of_maskable_ppo(method, problem, activation):
    model, _ = after_rollout(method, problem, activation=activation)
    policy = MaskableActorCriticPolicy(
        model.observation_space,
        model.action_space,
        lambda _: 0.1,
        net_arch=model.policy.net_arch,
        activation_fn=model.policy.activation_fn,
    )
    policy.load_state_dict(model.policy.state_dict())

    def evaluate(rollout, chosen):
        actions = torch.from_numpy(rollout.actions[chosen])
        masks = np.zeros((len(chosen), model.action_space.n), dtype=bool)
        listed = model.head.listed(chosen)
        for mask, row in zip(masks, chosen, strict=True):
            mask[listed.numbers[row, : listed.counts[row]]] = True
        assert not masks.all()
        return policy.evaluate_actions(rollout.observations[chosen], actions, masks)

    assert_equal_gradients(model, policy, evaluate)


@pytest.mark.parametrize("problem", ["tsp", "ospf", "traffic", "cyber-path"])
def test_gradients_of_soft_projection_equal_those_of_autograd(problem):
    model, offered = after_rollout("soft-projection", problem)

    def evaluate(rollout, chosen):
        batch = pad_candidates(rollout.observations[chosen], [offered[i] for i in chosen])
        return model.policy.evaluate_actions(batch, torch.from_numpy(rollout.actions[chosen]))

    assert_equal_gradients(model, model.policy, evaluate)


@pytest.mark.parametrize("method", ["projection", "p-discrete", "p-discrete-m"])
def test_log_probabilities_of_a_rollout_are_those_of_the_policy(method):
    config = train_config(method=method, envs=4, rollout=64, seed=3)
    chosen = method_of(method)
    space = brief_space("tsp", "full") if chosen.latent else None
    env = chosen.env(problem_class("tsp"), instances("tsp"), space, config)
    model = chosen.model(env, config)
    with lean_torch():
        model.learn(1, callback=_StopBeforeUpdate())
    rollout = model.rollout()
    everything = np.arange(len(rollout.returns))
    model.network.begin(rollout.observations)
    parts = model.differentiate(rollout, everything, WEIGHTING)
    assert parts[3] == pytest.approx(0.0, abs=1e-6)  # divergence
    assert parts[4] == 0.0  # clipped


def test_gradients_of_iterative_equal_those_of_autograd():
    config = train_config(method="iterative", envs=4, rollout=64, seed=3)
    chosen = method_of("iterative")
    env = chosen.env(problem_class("tsp"), instances("tsp"), brief_space("tsp", "full"), config)
    model = chosen.model(env, config)
    with lean_torch():
        model.learn(256)
    batch = model.replay_buffer.sample(64)
    values = model.replay_buffer.values(batch, 99, model.split_target.maxima)
    inputs = torch.from_numpy(batch.inputs)
    targets = torch.from_numpy(batch.rewards + batch.discounts * values)
    targets[0] += 3.0  # beyond the quadratic part
    loss = model.differentiate(inputs, targets)
    found = {name: p.grad.clone() for name, p in model.q_net.named_parameters()}
    expected = nn.functional.smooth_l1_loss(model.q_net(inputs)[:, 0], targets)
    model.q_net.zero_grad()
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-5)
    for name, parameter in model.q_net.named_parameters():
        np.testing.assert_allclose(found[name], parameter.grad, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("method", "problem"), [("projection", "tsp"), ("p-discrete", "tsp"), ("p-discrete-m", "ospf")]
)
def test_a_step_is_that_of_adam(method, problem):
    model, _ = after_rollout(method, problem)
    torch.manual_seed(1)
    before = [parameter.detach().clone() for parameter in model.policy.parameters()]
    twins = [nn.Parameter(array) for array in before]
    settings = {k: v for k, v in model.policy.optimizer.param_groups[0].items() if k != "params"}
    adam = torch.optim.Adam(twins, **settings)
    rollout = model.rollout()
    for start in (0, 32, 64):
        model.network.begin(rollout.observations)
        model.differentiate(rollout, np.arange(start, start + 32), WEIGHTING)
        model.network.finish()
        for twin, parameter in zip(twins, model.policy.parameters(), strict=True):
            twin.grad = parameter.grad.clone()
        nn.utils.clip_grad_norm_(twins, 0.5)
        adam.step()
        model.network.begin(rollout.observations)
        model.differentiate(rollout, np.arange(start, start + 32), WEIGHTING)
        model.network.descend(0.5)
        model.network.finish()
        if start == 32:
            model.bind()  # goes on where the optimiser was
    for twin, parameter in zip(twins, model.policy.parameters(), strict=True):
        torch.testing.assert_close(twin, parameter, rtol=1e-5, atol=1e-6)
