"""Paths of a whole instance: limits, checks, and the utilisation they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import Instance
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import Network, network_of
from lagco.problems.traffic.kernels import add_loads
from lagco.problems.traffic.paths import (
    MAX_PATH_LEN,
    all_arcs,
    hop_limits,
    mend_paths,
    shortest_paths,
)
from lagco.results.numbers import of_things


def longest_path(instance: Instance) -> int:
    """Most hops of a path, unless the ends are farther apart."""
    longest = int(instance.params.get("max_path_len", MAX_PATH_LEN))
    if longest < 1:
        raise InstanceError(f"instance {instance.name!r}: max_path_len is {longest}, not positive")
    return longest


def limits_of(instance: Instance, network: Network) -> Array:
    """Most hops of a path of each demand: (D,); a present path may be longer than others."""
    limits = hop_limits(network, longest_path(instance))
    present = instance.arrays.get("paths")
    if present is not None and present.ndim == 2 and len(present) == len(limits):
        limits = np.maximum(limits, (present < network.num_nodes).sum(axis=1) - 1)
    return np.minimum(limits, network.num_nodes - 1)


def paths_network(instance: Instance) -> Network:
    """The network that paths lead over: links of both directions, each with its capacities."""
    return network_of(instance, joined=True)


def checked_paths(
    paths: Any, instance: Instance, network: Network, limits: Array
) -> tuple[Array, Array]:
    """Paths (D, T) and the arcs they use (D, T - 1), or an error that names the wrong one."""
    error: type[LagcoError] = UsageError
    if paths is instance.arrays.get("paths"):
        error = InstanceError
    n, demands, positions = network.num_nodes, network.num_demands, int(limits.max()) + 1
    given = np.asarray(paths)
    if given.ndim != 2 or len(given) != demands or given.dtype.kind not in "iu":
        raise error(
            f"paths of {instance.name!r} must be {of_things(demands, 'rows')} of node ids "
            f"padded with {n}, got {given.dtype} of shape {given.shape}"
        )
    width = min(given.shape[1], positions)
    rows = np.full((demands, positions), n, dtype=np.int64)
    rows[:, :width] = given[:, :width]
    arcs = np.empty((demands, positions - 1), dtype=np.int64)
    wrong = all_arcs(rows, network, limits, arcs)
    cut = np.flatnonzero((given[:, width:] != n).any(axis=1))
    if wrong < 0 and len(cut):
        wrong = cut[0]
    if wrong >= 0:
        source, target = network.sources[wrong], network.targets[wrong]
        raise error(
            f"paths of {instance.name!r}: row {wrong} is {given[wrong].tolist()}, not a simple "
            f"path from {source} to {target} of at most {limits[wrong]} hops"
        )
    return rows, arcs


def default_paths(network: Network, limits: Array) -> Array:
    """Paths with the fewest hops: (D, T)."""
    paths = np.empty((network.num_demands, int(limits.max()) + 1), dtype=np.int64)
    shortest_paths(network, paths)
    return paths


def mended_paths(instance: Instance) -> Array:
    """The paths of an instance, those that are not admissible replaced by the fewest hops."""
    network = paths_network(instance)
    limits = limits_of(instance, network)
    paths, given = default_paths(network, limits), instance.array("paths")
    width = min(given.shape[1], paths.shape[1])
    rows = np.full(paths.shape, network.num_nodes, dtype=np.int64)
    rows[:, :width] = given[:, :width]
    rows[(given[:, width:] != network.num_nodes).any(axis=1)] = network.num_nodes
    mend_paths(rows, network, limits, paths)
    return rows


def loads_of(network: Network, arcs: Array) -> Array:
    """Load of every arc (2 E,) when demands use these arcs (D, T - 1), from scratch."""
    loads = np.empty(2 * network.num_links)
    add_loads(arcs, network.volumes, loads)
    return loads


def utilisation_of(network: Network, arcs: Array) -> float:
    """Largest link utilisation when demands use these arcs (D, T - 1), from scratch."""
    loads = loads_of(network, arcs)
    return float(largest_utilisation(loads, network.capacities))
