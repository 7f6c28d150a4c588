"""First fit: the plain allocation, and the test whether there is one at all."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.problems.placement.cloud import Cloud


def first_fit(cloud: Cloud) -> Array | None:
    """Every VM on the first PM with room for it, (V,).

    In the order of the VMs; if that leaves one out, large VMs first; None if that does too.
    """
    rising = np.arange(cloud.num_vms)
    found = _fill(rising, cloud.demands, cloud.capacities)
    if found[0] >= 0:
        return found
    found = _fill(by_demand(cloud), cloud.demands, cloud.capacities)
    return found if found[0] >= 0 else None


def by_demand(cloud: Cloud) -> Array:
    """VMs by their largest demand over the mean capacity, largest first."""
    return np.argsort(-dominant_demand(cloud), kind="stable")


def dominant_demand(cloud: Cloud) -> Array:
    """Largest demand of each VM over the mean capacity of that resource: (V,)."""
    mean = cloud.capacities.mean(axis=0)
    return np.asarray((cloud.demands / np.where(mean > 0, mean, 1.0)).max(axis=1))


@njit(cache=True)
def _fill(order, demands, capacities):  # type: ignore[no-untyped-def]
    """Hosts of all VMs, all -1 if one finds no room."""
    free = capacities.copy()
    hosts = np.full(order.shape[0], -1, dtype=np.int64)
    for v in order:
        for p in range(free.shape[0]):
            fits = True
            for r in range(free.shape[1]):
                if demands[v, r] > free[p, r]:
                    fits = False
                    break
            if fits:
                hosts[v] = p
                for r in range(free.shape[1]):
                    free[p, r] -= demands[v, r]
                break
        if hosts[v] < 0:
            hosts[:] = -1
            return hosts
    return hosts
