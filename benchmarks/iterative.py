"""Cost of the best action of a state in `iterative`, on 20 instances of sizes from LOW to HIGH.

    python benchmarks/iterative.py maxima placement 10 50 --steps 2500

Share of the actions of a state that are passed to find its best one, and microseconds of processor
time per state of passing all and of passing these.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from lagco.agents.bench import brief_space
from lagco.agents.config import train_config
from lagco.agents.lean import lean_torch
from lagco.agents.registry import method_of
from lagco.problems import problem_class


def make(problem: str, method: str, low: int, high: int) -> tuple[Any, Any]:
    """A model and its environment, as in a run."""
    cls, chosen = problem_class(problem), method_of(method)
    sizes = np.linspace(low, high, 20).astype(int).tolist()
    drawn = [cls.generate(size, index=index) for index, size in enumerate(sizes)]
    instances = [d.with_references(cls.sweep(d, 30, 0)) for d in drawn]
    space = brief_space(cls, "full") if chosen.latent else None
    config = train_config(method=method)
    env = chosen.env(cls, instances, space, config)
    return chosen.model(env, config), env


def maxima(problem: str, low: int, high: int, steps: int) -> str:
    """Passing all actions, and those that can be the best."""
    model, _ = make(problem, "iterative", low, high)
    model.learn(steps)
    q, spent, counts = model.split_q, np.zeros(2), np.zeros(2)
    for _ in range(6):
        batch = model.replay_buffer.sample(64)
        observations, sets = model.replay_buffer.states(batch.places[batch.places >= 0])
        began = time.process_time()
        every = [float(v.max()) for v in q.values(observations, sets)]
        between = time.process_time()
        found = q.maxima(observations, sets)
        spent += between - began, time.process_time() - between
        assert np.allclose(every, found, atol=1e-4)
        counts += sum(map(len, sets)), q.search(observations, sets)[2]
    per_state = 1e6 * spent / (6 * 64)
    return (
        f"{counts[0] / (6 * 64):.0f} actions per state, {counts[1] / counts[0]:.3f} are passed; "
        f"{per_state[0]:.0f} us per state for all, {per_state[1]:.0f} us for these"
    )


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["maxima"])
    parser.add_argument("problem")
    parser.add_argument("low", type=int)
    parser.add_argument("high", type=int)
    parser.add_argument("--steps", type=int, default=2500)
    given = parser.parse_args()
    with lean_torch():
        print(given.problem, maxima(given.problem, given.low, given.high, given.steps), flush=True)


if __name__ == "__main__":
    main()
