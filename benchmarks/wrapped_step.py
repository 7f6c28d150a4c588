"""Time of a step of a wrapped environment, beyond the environment's own code.

python benchmarks/wrapped_step.py [--clients 60] [--steps 300] [--json]

The facility-location environment of ``examples/facility.py`` (60 clients, 20 sites, two networkx
graphs) is wrapped into its latent space and takes random points as actions. A whole step of the
wrapper decodes the point, steps the environment, reads its graphs, encodes what changed and
observes. Printed are microseconds, medians and 99th percentiles: the whole step, the environment's
own ``step``, ``get_graphs`` and ``is_valid_action`` within it, and the difference.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import lagco
from examples.facility import Facility
from lagco.embedding.config import PretrainConfig


class Timed(Facility):
    """The same, adding up the time that its own code takes."""

    own = 0.0

    def step(self, action: Any) -> Any:
        return self._timed(super().step, action)

    def get_graphs(self) -> Any:
        return self._timed(super().get_graphs)

    def is_valid_action(self, action: Any) -> Any:
        return self._timed(super().is_valid_action, action)

    def _timed(self, method: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        found = method(*arguments)
        self.own += time.perf_counter() - began
        return found


def measure(clients: int, steps: int) -> dict[str, float]:
    """Microseconds of steps along episodes of random points."""
    brief = PretrainConfig(max_steps=5, states=30)
    encoder = lagco.pretrain(Facility, seeds=range(4), training=brief, progress=False)
    env = Timed()
    wrapped = lagco.wrap(env, encoder)
    rng = np.random.default_rng(0)
    whole, own = [], []
    ended = True
    for number in range(steps + 20):
        if ended:
            wrapped.reset(seed=number, options={"clients": clients})
            wrapped.step(_point(wrapped, rng))  # the first one reads the graphs as a whole
        env.own = 0.0
        point = _point(wrapped, rng)
        began = time.perf_counter()
        *_, ended, _, _ = wrapped.step(point)
        if number >= 20:
            whole.append(time.perf_counter() - began)
            own.append(env.own)
    beyond = np.array(whole) - np.array(own)
    return {
        "whole_us": _microseconds(whole),
        "own_us": _microseconds(own),
        "beyond_us": _microseconds(beyond),
        "beyond_p99_us": round(1e6 * float(np.percentile(beyond, 99)), 1),
    }


def _point(wrapped: Any, rng: np.random.Generator) -> Any:
    space = wrapped.action_space
    return rng.uniform(space.low, space.high).astype(np.float32)


def _microseconds(times: Any) -> float:
    return round(1e6 * float(np.median(times)), 1)


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=60)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measure(given.clients, given.steps)
    print(json.dumps(found) if given.json else found)


if __name__ == "__main__":
    main()
