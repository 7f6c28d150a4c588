"""The five terms of an allocation, their bounds, and J, the mean of the normalised terms."""

from __future__ import annotations

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.placement.cloud import Cloud
from lagco.problems.placement.latency import Latencies

TERMS = ("utilisation", "energy", "packing", "network", "security")


@njit(cache=True, forceinline=True)
def mean_of_terms(terms, bounds):  # type: ignore[no-untyped-def]
    """J: every term between its bounds (5, 2), 1 at the better end (the first one goes up, the
    others down); 1 if it never varies.
    """
    total = 0.0
    for k in range(5):
        low, high = bounds[k, 0], bounds[k, 1]
        if high <= low:
            total += 1.0
        elif k == 0:
            total += (terms[k] - low) / (high - low)
        else:
            total += (high - terms[k]) / (high - low)
    return total / 5.0


@njit(cache=True)
def normalised_terms(terms, bounds):  # type: ignore[no-untyped-def]
    """The five summands of J, before the mean."""
    found = np.ones(5)
    for k in range(5):
        low, high = bounds[k, 0], bounds[k, 1]
        if high > low:
            found[k] = (terms[k] - low if k == 0 else high - terms[k]) / (high - low)
    return found


def worth_of_units(bounds: Array) -> Array:
    """By how much a unit of each term moves J: (5,), 0 for one that never varies."""
    span = bounds[:, 1] - bounds[:, 0]
    return np.divide(1.0 / len(TERMS), span, out=np.zeros(len(TERMS)), where=span > 0)


def bounds_of(instance: Instance, cloud: Cloud, latencies: Latencies) -> Array:
    """The sweeps' bounds of the terms (5, 2); plain ones for an instance without sweeps."""
    sweeps = instance.references.sweeps
    if sweeps is not None and all(name in sweeps.bounds for name in TERMS):
        return np.array([sweeps.bounds[name] for name in TERMS], dtype=np.float64)
    return plain_bounds(cloud, latencies)


def plain_bounds(cloud: Cloud, latencies: Latencies) -> Array:
    """Bounds that hold for any allocation: (5, 2)."""
    vms, pms = cloud.num_vms, cloud.num_pms
    farthest = 2.0 * float(latencies.row(0).max())  # over PM 0 at the latest
    per_tenant = np.bincount(cloud.tenants)
    strangers = vms - per_tenant[cloud.tenants]
    return np.array(
        [
            (0.0, 1.0),
            (float(cloud.idle.min()), float(np.maximum(cloud.peak, cloud.idle).sum())),
            (1.0, float(min(vms, pms))),
            (0.0, float(cloud.volumes.sum()) / 2.0 * farthest * cloud.tenant_share),
            (0.0, float((cloud.vulnerability * strangers).sum() * cloud.escape.max())),
        ]
    )
