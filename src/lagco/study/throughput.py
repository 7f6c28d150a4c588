"""The training-time study: how fast every method trains and tests."""

from __future__ import annotations

import time

import torch

from lagco.agents.agent import Agent
from lagco.agents.bench import cartpole_rate, time_training
from lagco.agents.config import train_config
from lagco.agents.registry import method_of
from lagco.embedding.pretrain import problem_environments
from lagco.evaluation import evaluate
from lagco.latent.space import LatentSpace
from lagco.problems import problem_class
from lagco.study.ledger import significant
from lagco.study.making import load_encoder
from lagco.study.work import Context, Outcome


def measure_rate(context: Context) -> Outcome:
    """Do a `throughput` task: rollouts and updates, then test episodes of the agent so far."""
    torch.set_num_threads(1)
    spec = context.spec
    cls = problem_class(spec["problem"])
    data = list(context.ledger.data(context.task))
    features, method = spec["features"], method_of(spec["method"])
    config = train_config(
        method=spec["method"], features=features, seed=spec["seed"], preset=spec["preset"]
    )
    began = time.perf_counter()
    space = None
    encoder = load_encoder(context.ledger, spec["encoder"])
    if encoder is not None:
        sources = problem_environments(cls, data, features)
        space = LatentSpace.fit(encoder, sources, seed=spec["seed"])
    space_s = time.perf_counter() - began
    rate, model, env = time_training(cls, data, space, config, spec["steps"])
    context.report({})
    description = {
        "config": config.as_dict(),
        "facts": method.facts(env),
        "training": {"instances": []},
    }
    agent = Agent(cls, method, method.weights(model), description, space)
    began = time.perf_counter()
    tested = evaluate(agent, data, episodes=2, problem=cls)
    seconds = time.perf_counter() - began
    steps = [episode.steps for result in tested.results for episode in result.episodes]
    floor = cartpole_rate(config, spec["steps"]) if spec["cartpole"] else None
    result = {"sizes": [instance.size for instance in data]}
    measured = {
        "steps_per_s": significant(rate, 4),
        "cartpole_steps_per_s": significant(floor, 4),
        "decisions_per_s": significant(sum(steps) / seconds, 4),
        "episode_steps": significant(sum(steps) / max(len(steps), 1), 4),
        "space_s": significant(space_s, 4),
    }
    return result, measured
