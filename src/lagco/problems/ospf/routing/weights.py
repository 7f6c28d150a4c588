"""Link weights of an instance: bounds, checks, and the utilisation they lead to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import Instance
from lagco.instances.formats.networks.topology import weight_params
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import Network
from lagco.problems.ospf.routing.shortest_paths import (
    Queue,
    Routes,
    Setting,
    empty_routes,
    grouped_demands,
    route,
)

MIN_WEIGHT = 1
MAX_WEIGHT = 5
#: what routers accept
LARGEST_WEIGHT = 65535
#: arrays (E,) with the range of each link, instead of the bounds of all
LOWEST, HIGHEST = "lowest_weights", "highest_weights"
#: more weights than these are a wide range: most of them are alike
WIDE = 64
#: changes that lead to a large weight then
SPAN = 8


def weight_bounds(instance: Instance) -> tuple[int, int]:
    """Smallest and largest weight of any link."""
    low = int(instance.params.get("min_weight", MIN_WEIGHT))
    high = int(instance.params.get("max_weight", MAX_WEIGHT))
    if not 1 <= low <= high:
        raise InstanceError(
            f"instance {instance.name!r}: weights from {low} to {high}; they start at 1 or more"
        )
    if LOWEST in instance.arrays:
        low = min(low, int(instance.arrays[LOWEST].min()))
    if HIGHEST in instance.arrays:
        high = max(high, int(instance.arrays[HIGHEST].max()))
    return low, high


def weight_ranges(instance: Instance) -> tuple[Array, Array]:
    """Smallest and largest weight that each link may get: (E,) each."""
    low = int(instance.params.get("min_weight", MIN_WEIGHT))
    high = int(instance.params.get("max_weight", MAX_WEIGHT))
    links = instance.array("edges").shape[1]
    lowest = instance.arrays.get(LOWEST, np.full(links, low))
    highest = instance.arrays.get(HIGHEST, np.full(links, high))
    crossed = np.flatnonzero(lowest > highest)
    if len(crossed):
        e = int(crossed[0])
        raise InstanceError(
            f"instance {instance.name!r}: link {e + 1} may have weights from {lowest[e]} to "
            f"{highest[e]}; give a smallest one that is not above the largest"
        )
    return lowest.astype(np.int64), highest.astype(np.int64)


def with_weights(instance: Instance, weights: Array) -> Instance:
    """The instance with present weights, which may be any that routers accept."""
    params = dict(instance.params)
    if weights.size and weights.dtype.kind in "iuf":
        low, high = weight_bounds(instance)
        if weights.min() < low or weights.max() > high:
            params |= weight_params(weights)
    return replace(instance, arrays={**instance.arrays, "weights": weights}, params=params)


def is_wide(instance: Instance) -> bool:
    """Whether weights have a wide range, of which a search tries those that matter."""
    low, high = weight_bounds(instance)
    return high - low > WIDE


def checked_weights(weights: Any, instance: Instance, links: int) -> Array:
    """Weights as an array (E,), or an error that says what is wrong with them."""
    low, high = weight_bounds(instance)
    array = np.asarray(weights)
    error: type[LagcoError] = UsageError
    if weights is instance.arrays.get("weights"):
        error = InstanceError
    if array.shape != (links,) or array.dtype.kind not in "iuf" or (array != array.round()).any():
        raise error(
            f"weights of {instance.name!r} must be {links} whole numbers, got {array.dtype} of "
            f"shape {array.shape}"
        )
    if array.min() < low or array.max() > high:
        bad = array.min() if array.min() < low else array.max()
        raise error(f"weights of {instance.name!r} are {low} to {high}, got {bad}")
    return array.astype(np.int64)


def setting_of(instance: Instance, network: Network) -> Setting:
    """Input of compiled code that works on weights: the network, or its core, and the rules."""
    low, high = weight_bounds(instance)
    wide = high - low > WIDE
    queue = Queue(
        np.full(1 if wide else high + 1, -1, dtype=np.int64),
        np.empty((2, 2 * network.num_links + 1), dtype=np.int64),
    )
    ecmp = bool(instance.params.get("ecmp", True))
    step = int(instance.params.get("weight_step", 1))
    span = SPAN if wide else max(1, (high - low) // step)
    return Setting(network, grouped_demands(network), ecmp, low, high, queue, step, span)


def routes_of(instance: Instance, network: Network, weights: Array) -> Routes:
    """Routes under `weights`, from scratch."""
    routes = empty_routes(network)
    route(setting_of(instance, network), weights, -1, 0, routes)
    return routes


def utilisation_of(instance: Instance, network: Network, weights: Array) -> float:
    """Largest link utilisation under `weights`, from scratch."""
    routes = routes_of(instance, network, weights)
    return float(largest_utilisation(routes.loads, network.capacities))
