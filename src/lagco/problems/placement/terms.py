"""The terms of an allocation, their bounds and weights, and J, the mean of the normalised terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.placement.cloud import Cloud, weights_of
from lagco.problems.placement.latency import Latencies

TERMS = ("utilisation", "energy", "packing", "network", "security")
#: and one that counts where it is given a weight: the share of the free cores in pieces too small
NAMES = (*TERMS, "fragments")
COUNT = len(NAMES)


class Objective(NamedTuple):
    """J as a function of the allocation, for instances whose latencies are all kept.

    Attributes:
        cloud: VMs and PMs
        latencies: (P, P) between the PMs
        bounds: (6, 3) low, high and weight of each term
    """

    cloud: Cloud
    latencies: Array
    bounds: Array


@njit(cache=True, forceinline=True)
def mean_of_terms(terms, bounds):  # type: ignore[no-untyped-def]
    """J: every term (6,) between its bounds, 1 at the better end (the first one goes up, the others
    down), 1 if it never varies; by the weights.

    bounds: (6, 3) low, high, and weight; weights sum to 5.
    """
    total = 0.0
    for k in range(COUNT):
        low, high, weight = bounds[k, 0], bounds[k, 1], bounds[k, 2]
        if weight == 0.0:
            continue
        if high <= low:
            total += weight
        elif k == 0:
            total += weight * ((terms[k] - low) / (high - low))
        else:
            total += weight * ((high - terms[k]) / (high - low))
    return total / 5.0


@njit(cache=True)
def normalised_terms(terms, bounds):  # type: ignore[no-untyped-def]
    """The five terms of the paper between their bounds."""
    found = np.ones(5)
    for k in range(5):
        low, high = bounds[k, 0], bounds[k, 1]
        if high > low:
            found[k] = (terms[k] - low if k == 0 else high - terms[k]) / (high - low)
    return found


def worth_of_units(bounds: Array) -> Array:
    """By how much a unit of each term of the paper moves J: (5,), 0 for one that never varies."""
    span, weights = np.diff(bounds[: len(TERMS), :2])[:, 0], bounds[: len(TERMS), 2]
    return np.divide(weights / len(TERMS), span, out=np.zeros(len(TERMS)), where=span > 0)


def bounds_of(instance: Instance, cloud: Cloud, latencies: Latencies) -> Array:
    """The sweeps' bounds of the terms, plain ones without sweeps, and weights: (6, 3)."""
    sweeps = instance.references.sweeps
    bounds = plain_bounds(cloud, latencies)
    if sweeps is not None and all(name in sweeps.bounds for name in TERMS):
        bounds[: len(TERMS)] = [sweeps.bounds[name] for name in TERMS]
    return np.column_stack([bounds, weights_of(instance)])


def plain_bounds(cloud: Cloud, latencies: Latencies) -> Array:
    """Bounds that hold for any allocation: (6, 2)."""
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
            (0.0, 1.0),
        ]
    )
