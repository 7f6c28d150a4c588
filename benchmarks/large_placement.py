"""A decision of `projection` on a placement instance with a hundred million actions.

python benchmarks/large_placement.py [--vms 10000] [--pms 10000] [--decisions 30] [--json]

Draws a cloud in which every VM talks to 10 others, embeds it once, and times decisions along random
valid moves; latencies are shortest paths, found on demand. The encoder is pre-trained for a moment
on small instances, which does not matter for time. One thread.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np

from lagco.agents.config import train_config
from lagco.agents.registry import method_of
from lagco.embedding.config import PretrainConfig
from lagco.embedding.pretraining.pretrain import pretrain
from lagco.latent.space import LatentSpace
from lagco.problems.placement import Placement
from lagco.problems.placement.generator import draw_cloud

PEERS = 10


def measure(vms: int, pms: int, decisions: int, seed: int = 0) -> dict[str, Any]:
    """Seconds and milliseconds of everything that happens, and the most memory taken."""
    import torch

    torch.set_num_threads(1)
    data = [Placement.generate(size, index=size) for size in (10, 12)]
    brief = PretrainConfig(max_steps=5, states=30)
    encoder = pretrain(Placement, data, training=brief, progress=False)
    space = LatentSpace.fit(encoder, [Placement(instance) for instance in data], states=24)
    method, config = method_of("projection"), train_config(method="projection", seed=seed)
    small = method.env(Placement, [Placement.generate(10)], space, config)
    weights = method.weights(method.model(small, config))
    before = _megabytes()
    rng = np.random.default_rng(seed)
    instance, drawing = _timed(lambda: draw_cloud(rng, vms, pms, PEERS))
    env, loading = _timed(lambda: Placement(instance, rewards=False, start="default"))
    _, starting = _timed(lambda: env.reset(seed=seed))
    actor: Any = method.actor(env, weights, {}, space, None)
    _, first = _timed(lambda: actor.act(rng, False))
    parts: list[dict[str, float]] = []
    steps: list[float] = []
    for _ in range(decisions):
        action = env.sample_valid_action(rng)
        steps.append(_timed(lambda action=action: env.step(action))[1])
        parts.append(actor.timed(rng))
    whole = [1e3 * sum(part.values()) for part in parts]
    return {
        "vms": vms,
        "pms": pms,
        "actions": vms * pms,
        "draw_s": round(drawing, 2),
        "load_s": round(loading, 2),
        "start_s": round(starting, 2),
        "first_decision_s": round(first, 3),
        "decision_ms": round(float(np.median(whole)), 2),
        "decision_max_ms": round(max(whole), 2),
        "parts_ms": {p: round(1e3 * float(np.median([t[p] for t in parts])), 2) for p in parts[0]},
        "step_ms": round(1e3 * float(np.median(steps)), 2),
        "memory_mb": round(_megabytes()),
        "memory_without_mb": round(before),
    }


def _timed(call: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    found = call()
    return found, time.perf_counter() - began


def _megabytes() -> float:
    """The most memory this process has taken so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print one record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vms", type=int, default=10_000)
    parser.add_argument("--pms", type=int, default=10_000)
    parser.add_argument("--decisions", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    record = measure(arguments.vms, arguments.pms, arguments.decisions)
    if arguments.json:
        print(json.dumps(record, indent=1))
    else:
        for name, value in record.items():
            print(f"{name:20} {value}")


if __name__ == "__main__":
    main()
