"""Random `traffic` instances over the paper's ranges."""

from __future__ import annotations

import numpy as np

from lagco.instances import Instance
from lagco.problems.networks.generator import Ranges, draw_instance
from lagco.problems.traffic.paths import MAX_PATH_LEN

RANGES = Ranges(nodes=(10, 25), link_ratio=(0.1, 0.2), demand_ratio=(0.1, 0.2))
_TRIAL_SWEEPS = 40


def draw_routed_network(
    rng: np.random.Generator, size: int | None = None, episode_coefficient: int | None = None
) -> Instance:
    """A network of `size` nodes whose demands have a choice of paths."""
    from lagco.problems.traffic.sweeps import sweep_paths

    params = {"max_path_len": MAX_PATH_LEN}
    if episode_coefficient is not None:
        params["episode_coefficient"] = episode_coefficient

    return draw_instance(
        "traffic",
        RANGES,
        rng,
        size,
        params,
        lambda instance, seed: sweep_paths(instance, _TRIAL_SWEEPS, seed),
    )
