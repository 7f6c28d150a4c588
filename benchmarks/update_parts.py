"""Parts of one gradient step of PPO, microseconds of processor time.

    python -m benchmarks.update_parts [PROBLEM] [METHOD]

Every part is repeated alone, on transitions of a rollout, and the median of five times printed:
both networks and their gradients, head and loss with their gradients, clipping, Adam, and the whole
update by gradient step. Last, products of matrices of the first layer, and how many thousand
million multiplications and additions they do in a second. One thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import nn

from benchmarks.against_base_training import SIZES
from lagco.agents.config import train_config
from lagco.agents.learning.networks import clip_norm_
from lagco.agents.learning.ppo import PPO, Weighting
from lagco.agents.registry import method_of
from lagco.bench.decisions import brief_space
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread


def trained(problem: str, method: str) -> PPO:
    """A model after a rollout and its update."""
    cls, chosen = problem_class(problem), method_of(method)
    drawn = [cls.generate(SIZES[problem], index=index) for index in range(4)]
    instances = [instance.with_references(cls.sweep(instance, 10, 0)) for instance in drawn]
    config = train_config(method=method, features="full", seed=0)
    space = brief_space(cls, "full") if chosen.latent else None
    model: Any = chosen.model(chosen.env(cls, instances, space, config), config)
    model.learn(config.rollout, reset_num_timesteps=False)
    return model


def microseconds(part: Callable[[], Any], times: int = 200) -> float:
    """Processor time of a part."""
    found = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(times):
            part()
        found.append(1e6 * (time.process_time() - began) / times)
    return median(found)


def measure(model: PPO) -> dict[str, float]:
    """Microseconds of every part."""
    policy, optimiser = model.policy, model.policy.optimizer
    gradient = optimiser.param_groups[0]["params"][0].grad
    policy.train()
    observations, transitions = model.rollout()
    chosen = next(transitions.split(model.batch_size))
    seen = observations.index_select(0, chosen.numbers)
    outputs, values = [found.detach().requires_grad_() for found in policy(seen)]
    directions = [torch.randn_like(found) for found in (outputs, values)]
    weighting = Weighting(0.2, model.ent_coef, model.vf_coef)
    first = next(layer for layer in policy.modules() if isinstance(layer, nn.Linear))

    def networks() -> None:
        torch.autograd.backward(policy(seen), directions)

    def head_and_loss() -> None:
        log_probs, entropies = policy.head.evaluate(outputs, chosen.actions, chosen.numbers)
        batch = model.minibatch(observations, chosen)._replace(
            log_probs=log_probs, entropies=entropies, values=values
        )
        model.loss(batch, weighting)[0].backward()

    evaluated = microseconds(lambda: model.minibatch(observations, chosen))
    steps = model.n_epochs * -(-len(observations) // model.batch_size)
    with torch.no_grad():
        product = microseconds(lambda: nn.functional.linear(seen, first.weight, first.bias))
    return {
        "networks": microseconds(networks),
        "head and loss": microseconds(head_and_loss) - evaluated,
        "clipping": microseconds(lambda: clip_norm_(gradient, model.max_grad_norm)),
        "Adam": microseconds(optimiser.step),
        "whole update": microseconds(model.train, 1) / steps,
        "product of the first layer": product,
        "its 10^9 multiplications and additions per second": (
            2e-3 * len(seen) * first.weight.numel() / product
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem", nargs="?", default="tsp", choices=list(SIZES))
    parser.add_argument("method", nargs="?", default="projection")
    options = parser.parse_args()
    with one_thread():
        for part, found in measure(trained(options.problem, options.method)).items():
            print(f"{part}: {found:.0f}")


if __name__ == "__main__":
    main()
