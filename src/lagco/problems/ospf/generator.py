"""Random `ospf` instances over the paper's ranges."""

from __future__ import annotations

import numpy as np

from lagco.instances import Instance
from lagco.problems.networks.generator import Ranges, draw_instance

RANGES = Ranges(nodes=(10, 30), link_ratio=(0.1, 0.3), demand_ratio=(0.1, 0.3))
_TRIAL_SWEEPS = 40


def draw_weighted_network(rng: np.random.Generator, size: int | None = None) -> Instance:
    """A network of `size` nodes, routed with ECMP."""
    from lagco.problems.ospf.sweeps import sweep_weights

    return draw_instance(
        "ospf",
        RANGES,
        rng,
        size,
        {"ecmp": True, "min_weight": 1, "max_weight": 5},
        lambda instance, seed: sweep_weights(instance, _TRIAL_SWEEPS, seed),
    )
