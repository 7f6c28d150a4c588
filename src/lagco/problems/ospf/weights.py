"""Link weights of an instance: bounds, checks, and the utilisation they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import Instance
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import Network
from lagco.problems.ospf.routing import Routes, empty_routes, grouped_demands, route

MIN_WEIGHT = 1
MAX_WEIGHT = 5


def weight_bounds(instance: Instance) -> tuple[int, int]:
    """Smallest and largest weight of a link."""
    low = int(instance.params.get("min_weight", MIN_WEIGHT))
    high = int(instance.params.get("max_weight", MAX_WEIGHT))
    if not 1 <= low <= high:
        raise InstanceError(
            f"instance {instance.name!r}: weights from {low} to {high}; they start at 1 or more"
        )
    return low, high


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


def routed_network(
    instance: Instance, network: Network
) -> tuple[Array, Array, Array, Array, Array, bool, Any]:
    """Input of compiled searches over weights: the network, whether flow splits, demands."""
    return (
        network.first,
        network.heads,
        network.arcs,
        network.edges,
        network.capacities,
        bool(instance.params.get("ecmp", True)),
        grouped_demands(network),
    )


def routes_of(instance: Instance, network: Network, weights: Array) -> Routes:
    """Routes under `weights`, from scratch."""
    routes = empty_routes(network)
    route(
        network.first,
        network.heads,
        network.arcs,
        network.edges,
        weights,
        bool(instance.params.get("ecmp", True)),
        grouped_demands(network),
        -1,
        0,
        routes,
        *scratch(network, weight_bounds(instance)[1]),
    )
    return routes


def utilisation_of(instance: Instance, network: Network, weights: Array) -> float:
    """Largest link utilisation under `weights`, from scratch."""
    routes = routes_of(instance, network, weights)
    return float(largest_utilisation(routes.loads, network.capacities))


def scratch(network: Network, max_weight: int) -> tuple[Array, Array]:
    """Buckets and entries for `settle`."""
    return (
        np.full(max_weight + 1, -1, dtype=np.int64),
        np.empty((2, 2 * network.num_links + 1), dtype=np.int64),
    )
