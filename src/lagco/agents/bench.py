"""How long a decision takes, and how fast agents train."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lagco.agents.config import TrainConfig, train_config
from lagco.agents.methods import method_of
from lagco.agents.network import policy_arguments, ppo_arguments
from lagco.core.problem import Problem
from lagco.embedding.config import PretrainConfig
from lagco.embedding.pretrain import pretrain
from lagco.latent.space import LatentSpace

_BRIEF = PretrainConfig(max_steps=5, states=30)


def bench_latency(
    problem: type[Problem],
    sizes: Sequence[int],
    method: str = "projection",
    *,
    features: str = "full",
    decisions: int = 300,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Microseconds of whole decisions: from a changed state to the next action in hand.

    Encoder and policy are hardly trained, which does not matter for time. One thread.

    Returns:
        Records with ``problem``, ``size``, ``method``, ``actions`` (mean number of declared ones,
        None where counting means listing), ``decision_us`` and ``decision_p99_us`` (median and 99th
        percentile), ``parts_us`` (medians) and ``policy_us`` (one torch pass of the policy network,
        measured in the same run).
    """
    import torch

    torch.set_num_threads(1)
    space = _brief_space(problem, features)
    config = train_config(method=method, features=features, seed=seed)
    records = []
    for size in sizes:
        instance = problem.generate(size, index=77)
        env = problem(instance, features=features, rewards=False, start="default")
        chosen = method_of(method)
        training = chosen.env(problem, [problem.generate(10)], space, config)
        model = chosen.model(training, config)
        weights, facts = chosen.weights(model), chosen.facts(training)
        env.reset(seed=seed)
        actor: Any = chosen.actor(env, weights, facts, space, None)
        times, counts = _decisions(env, actor, decisions, seed)
        whole = np.array([sum(parts.values()) for parts in times])
        observation = torch.zeros(1, model.observation_space.shape[0])  # type: ignore[index]
        policy: Any = model.policy

        def forward(policy: Any = policy, observation: Any = observation) -> Any:
            return policy.action_net(policy.mlp_extractor.forward_actor(observation))

        with torch.no_grad():
            floor = _best_time(forward)
        records.append(
            {
                "problem": problem.name,
                "size": size,
                "method": method,
                "actions": float(np.mean(counts)) if counts else None,
                "decision_us": round(float(np.median(whole)), 1),
                "decision_p99_us": round(float(np.percentile(whole, 99)), 1),
                "parts_us": {
                    part: round(float(np.median([t[part] for t in times])), 1) for part in times[0]
                },
                "policy_us": round(floor, 1),
            }
        )
    return records


def _decisions(
    env: Problem, actor: Any, count: int, seed: int
) -> tuple[list[dict[str, float]], list[int]]:
    """Timed decisions along episodes of random actions, the parts apart."""
    rng = np.random.default_rng(seed)
    times: list[dict[str, float]] = []
    sizes: list[int] = []
    while len(times) < count + 20:
        timed = actor.timed(rng)
        times.append({part: 1e6 * seconds for part, seconds in timed.items()})
        if env.name != "traffic" and len(times) % 10 == 0:
            sizes.append(actor.view.actions().size)
        *_, terminated, truncated, _ = env.step(env.sample_valid_action(rng))
        if terminated or truncated:
            env.reset(seed=int(rng.integers(2**31)))
    return times[20:], sizes


def bench_throughput(
    problem: type[Problem],
    size: int,
    method: str = "projection",
    *,
    features: str = "full",
    steps: int = 8192,
    seed: int = 0,
) -> dict[str, Any]:
    """Environment steps per second of training, rollout and update, and of SB3's PPO on CartPole.

    CartPole has the same network, batch, epochs and number of environments, in the same run: an
    environment that costs nothing would reach that. One thread.
    """
    import torch

    torch.set_num_threads(1)
    config = train_config(method=method, features=features, seed=seed)
    chosen = method_of(method)
    space = _brief_space(problem, features) if chosen.latent else None
    drawn = [problem.generate(size, index=index) for index in range(8)]
    instances = [d.with_references(problem.sweep(d, 30, 0)) for d in drawn]
    env = chosen.env(problem, instances, space, config)
    model = chosen.model(env, config)
    model.learn(config.rollout)
    rate = _rate(model, steps)
    floor = _rate(_cartpole(config), steps)
    return {
        "problem": problem.name,
        "size": size,
        "method": method,
        "steps_per_s": round(rate),
        "cartpole_steps_per_s": round(floor),
    }


def _cartpole(config: TrainConfig) -> Any:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env("CartPole-v1", config.envs, seed=config.seed)
    keywords = policy_arguments(config)
    keywords["optimizer_kwargs"] = {"eps": 1e-7, "weight_decay": config.weight_decay}
    arguments = ppo_arguments(config) | {"batch_size": 64, "learning_rate": 1e-3}
    model = PPO("MlpPolicy", env, policy_kwargs=keywords, **arguments)
    model.learn(config.rollout)
    return model


def _rate(model: Any, steps: int) -> float:
    before = model.num_timesteps
    began = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    return float((model.num_timesteps - before) / (time.perf_counter() - began))


def _brief_space(problem: type[Problem], features: str) -> LatentSpace:
    data = [problem.generate(size, index=size) for size in (10, 12)]
    encoder = pretrain(problem, data, features=features, training=_BRIEF, progress=False)
    sources = [problem(instance, features=features) for instance in data]
    return LatentSpace.fit(encoder, sources, states=24)


def _best_time(call: Callable[[], Any], repeats: int = 400) -> float:
    """Median microseconds of a call."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return 1e6 * float(np.median(times))
