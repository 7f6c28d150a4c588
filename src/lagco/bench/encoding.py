"""Encoding times: one decision after another, and a batch of environments."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import numpy as np

from lagco.bench.timing import median_us, timed
from lagco.bench.untrained import brief_encoder
from lagco.core.env import draw_valid_action
from lagco.core.problem import Problem
from lagco.embedding.embedder import Embedder
from lagco.embedding.encoder import Encoder
from lagco.policies import RandomPolicy
from lagco.rollout import Episode


def bench_encode(
    problem: type[Problem] | None = None,
    *,
    size: int = 100,
    features: str = "full",
    encoder: Encoder | None = None,
    batch: int = 32,
    rounds: int = 5,
    torch_too: bool = True,
) -> dict[str, Any]:
    """Median microseconds to encode a graph that one step has changed, features included.

    Args:
        problem: ``tsp`` by default.
        size: of the instances.
        features: feature set.
        encoder: a briefly trained one by default (the time does not depend on the weights).
        batch: number of environments that are encoded in turn, for ``batch_us``.
        rounds: episodes; the best median over them is reported.
        torch_too: also time the torch pass.

    Returns:
        ``encode_us`` (compiled, one environment), ``batch_us`` (per environment of a batch),
        ``full_us`` (a whole pass over a new graph), ``torch_us``.
    """
    if problem is None:
        from lagco.problems.tsp import TSP

        problem = TSP
    if encoder is None:
        data = [problem.generate(20, index=index) for index in range(3)]
        encoder = brief_encoder(problem, data, features)
    instances = [problem.generate(size, index=100 + index) for index in range(batch)]
    envs = [problem(instance, features=features, rewards=False) for instance in instances]
    single = [_episode(encoder.embedder(), envs[0], seed) for seed in range(rounds + 1)][1:]
    result: dict[str, Any] = {
        "problem": problem.name,
        "size": size,
        "features": features,
        "encode_us": round(min(single), 1),
        "batch": batch,
        "batch_us": round(_batch(encoder, envs, rounds), 1),
        "full_us": round(_whole(encoder, envs[0], rounds), 1),
    }
    if torch_too:
        times = [_episode(encoder.embedder(compiled=False), envs[0], s) for s in range(2)]
        result["torch_us"] = round(min(times), 1)
    return result


def _episode(embedder: Embedder, env: Problem, seed: int) -> float:
    """Median over the decisions of one random episode."""
    states = islice(Episode(env, seed).states(RandomPolicy()), 100)
    times = [timed(lambda _: embedder(env.graph_views()), 1)[1][0] for _ in states]
    return median_us(times[1:])


def _batch(encoder: Encoder, envs: list[Problem], rounds: int) -> float:
    """Best over rounds of the median time per environment when all are encoded in turn."""
    rng = np.random.default_rng(0)
    embedders = [encoder.embedder() for _ in envs]
    medians = []
    for seed in range(rounds):
        for env in envs:
            env.reset(seed=seed)
        times = []
        for _ in range(12):
            for env in envs:
                env.step(draw_valid_action(env, rng))
            began = time.perf_counter()
            for embedder, env in zip(embedders, envs, strict=True):
                embedder(env.graph_views())
            times.append((time.perf_counter() - began) / len(envs))
        medians.append(median_us(times[1:]))
    return min(medians)


def _whole(encoder: Encoder, env: Problem, rounds: int) -> float:
    times = []
    for _ in range(3 * rounds):
        embedder = encoder.embedder()
        began = time.perf_counter()
        embedder(env.graph_views())
        times.append(time.perf_counter() - began)
    return median_us(times)
