"""Rates: environment steps per second in training and testing, measured over a short while.

Seconds are those of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from lagco.agents.config import TrainConfig, train_config
from lagco.commands.evaluate import evaluate
from lagco.problems import problem_class
from lagco.study.records.ledger import significant
from lagco.study.running.code import TRAINING, code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.encoder import load_encoder

_TIMED = ("lagco.bench.training", *TRAINING)


def throughput_task(
    problem: str,
    data: Mapping[str, Any],
    config: TrainConfig,
    encoder: Task | None,
    *,
    steps: int,
    instances: int,
    sizes: str | None,
    cartpole: bool,
) -> Task:
    """Task of measuring the rates of a method on all instances of a data set."""
    spec = {
        "problem": problem,
        **data,
        "method": config.method,
        "features": config.features,
        "config": config.as_dict(),
        "steps": steps,
        "cartpole": cartpole,
        "instances": instances,
        "sizes": sizes,
        "encoder": None if encoder is None else encoder.key,
        "seed": config.seed,
        "code": code_version(problem, _TIMED, config.method),
    }
    needs = (str(data["data"]), *([] if encoder is None else [encoder.key]))
    return Task("throughput", f"{problem}-{config.method}-{config.features}", spec, needs)


def do(context: Context) -> Outcome:
    """Time rollouts and updates, then test episodes of the agent so far."""
    import torch

    from lagco.agents.agent import Agent
    from lagco.agents.registry import method_of
    from lagco.bench.training import cartpole_rate, time_training
    from lagco.embedding.pretraining.pretrain import problem_environments
    from lagco.latent.space import LatentSpace

    torch.set_num_threads(1)
    spec = context.spec
    cls = problem_class(spec["problem"])
    data = list(context.ledger.data(context.task))
    config = train_config(**spec["config"])
    method = method_of(config.method)
    began = time.process_time()
    space = None
    encoder = load_encoder(context.ledger, spec["encoder"])
    if encoder is not None:
        sources = problem_environments(cls, data, config.features)
        space = LatentSpace.fit(encoder, sources, seed=config.seed)
    space_s = time.process_time() - began
    rate, model, env = time_training(cls, data, space, config, spec["steps"])
    context.report({})
    description = {
        "config": config.as_dict(),
        "facts": method.facts(env),
        "training": {"instances": []},
    }
    agent = Agent(cls, method, method.weights(model), description, space)
    began = time.process_time()
    tested = evaluate(agent, data, episodes=2, problem=cls, progress=False)
    seconds = time.process_time() - began
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
