"""Bound on fragments: free cores in pieces too small for another VM."""

from __future__ import annotations

import numpy as np

from lagco.core.changes import MAX_CHANGES
from lagco.instances import Instance
from lagco.problems.placement.cloud import FRAGMENT, PE, cloud_of

_ROUNDING = 1e-6


def fewest_fragments(instance: Instance) -> float:
    """A share of the free cores in pieces too small that no allocation can be below.

    There are at most as many whole blocks as fit into all that is free, and into each empty PM.
    A VM that goes from one PM to another adds at most one whole block: with q whole blocks and a
    rest of its own, its source gains q or q + 1 of them, its target loses q or q + 1.
    """
    cloud = cloud_of(instance)
    if cloud.spare <= 0.0:
        return 0.0
    open_to = cloud.room[:, PE] >= 0.0
    capacities = cloud.capacities[open_to, PE]
    most = min(_whole(cloud.spare), float(np.floor((capacities + _ROUNDING) / FRAGMENT).sum()))
    budget, hosts = instance.params.get(MAX_CHANGES), instance.arrays.get("allocation")
    if budget is not None and hosts is not None and open_to.all():
        free = cloud.capacities[:, PE].copy()
        np.subtract.at(free, hosts, cloud.demands[:, PE])
        most = min(most, float(np.floor((free + _ROUNDING) / FRAGMENT).sum()) + budget)
    return max(0.0, 1.0 - most * FRAGMENT / cloud.spare)


def _whole(cores: float) -> float:
    return float(np.floor((cores + _ROUNDING) / FRAGMENT))
