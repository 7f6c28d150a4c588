"""First fit: the plain allocation, and the test whether there is one at all."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.state import empty_state, fits, link_vm


def first_fit(cloud: Cloud) -> Array | None:
    """Every VM on the first PM that may take it, (V,).

    In the order of the VMs; if that leaves one out, large VMs first; None if that does too.
    """
    for order in (np.arange(cloud.num_vms), by_demand(cloud)):
        state = empty_state(cloud)
        if _fill(order, cloud, state):
            return state.allocation
    return None


def by_demand(cloud: Cloud) -> Array:
    """VMs by their largest demand over the mean capacity, largest first."""
    return np.argsort(-dominant_demand(cloud), kind="stable")


def dominant_demand(cloud: Cloud) -> Array:
    """Largest demand of each VM over the mean capacity of that resource: (V,)."""
    mean = cloud.capacities.mean(axis=0)
    return np.asarray((cloud.demands / np.where(mean > 0, mean, 1.0)).max(axis=1))


@njit(cache=True)
def _fill(order, cloud, state):  # type: ignore[no-untyped-def]
    """Find a host for every VM; False if one finds no room."""
    for v in order:
        for p in range(cloud.capacities.shape[0]):
            if fits(v, p, cloud, state):
                link_vm(v, p, cloud, state)
                break
        if state.allocation[v] < 0:
            return False
    return True
