"""Paths of a whole instance: limits, checks, and the utilisation they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, LagcoError, UsageError
from lagco.instances import Instance
from lagco.problems.networks.kernels import largest_utilisation
from lagco.problems.networks.network import Network
from lagco.problems.traffic.kernels import add_loads
from lagco.problems.traffic.paths import MAX_PATH_LEN, all_arcs, hop_limits, shortest_paths


def longest_path(instance: Instance) -> int:
    """Most hops of a path, unless the ends are farther apart."""
    longest = int(instance.params.get("max_path_len", MAX_PATH_LEN))
    if longest < 1:
        raise InstanceError(f"instance {instance.name!r}: max_path_len is {longest}, not positive")
    return longest


def limits_of(instance: Instance, network: Network) -> Array:
    """Most hops of a path of each demand: (D,)."""
    return hop_limits(network, longest_path(instance))


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
            f"paths of {instance.name!r} must be {demands} rows of node ids padded with {n}, got "
            f"{given.dtype} of shape {given.shape}"
        )
    width = min(given.shape[1], positions)
    rows = np.full((demands, positions), n, dtype=np.int64)
    rows[:, :width] = given[:, :width]
    arcs = np.empty((demands, positions - 1), dtype=np.int64)
    ends = network.sources, network.targets, limits
    wrong = all_arcs(rows, n, network.arc_of, *ends, arcs)
    cut = np.flatnonzero((given[:, width:] != n).any(axis=1))
    if wrong < 0 and len(cut):
        wrong = cut[0]
    if wrong >= 0:
        source, target, limit = (values[wrong] for values in ends)
        raise error(
            f"paths of {instance.name!r}: row {wrong} is {given[wrong].tolist()}, not a simple "
            f"path from {source} to {target} of at most {limit} hops"
        )
    return rows, arcs


def default_paths(network: Network, limits: Array) -> Array:
    """Paths with the fewest hops: (D, T)."""
    paths = np.empty((network.num_demands, int(limits.max()) + 1), dtype=np.int64)
    ends = network.sources, network.targets
    shortest_paths(network.num_nodes, network.first, network.heads, network.hops, *ends, paths)
    return paths


def utilisation_of(network: Network, arcs: Array) -> float:
    """Largest link utilisation when demands use these arcs (D, T - 1), from scratch."""
    loads = np.empty(2 * network.num_links)
    add_loads(arcs, network.volumes, loads)
    return float(largest_utilisation(loads, network.capacities))
