"""Columns of the graph view of `placement`: VMs, then PMs, and edges of three kinds."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.instances import Instance
from lagco.problems.placement.cloud import Cloud

#: kinds of edges, in the order in which they stand
ALLOCATION, TRAFFIC, LATENCY = range(3)


def fixed_nodes(cloud: Cloud, full: bool) -> dict[str, Array]:
    """Node columns that stay the same; with `full` features amounts are relative."""
    vms, pms = cloud.num_vms, cloud.num_pms
    unit = cloud.capacities.mean(axis=0) if full else np.ones(4)
    largest = cloud.capacities.max(axis=0) if full else np.ones(4)
    capacity = cloud.capacities / np.where(largest > 0, largest, 1.0)
    found: dict[str, Array] = {
        "is_pm": np.repeat(np.array([0, 1], dtype=np.int8), [vms, pms]),
        "demand": _stacked(cloud.demands / np.where(unit > 0, unit, 1.0), np.zeros((pms, 4))),
        "capacity": _stacked(np.zeros((vms, 4)), capacity),
    }
    if full:
        found["risk"] = np.append(cloud.vulnerability, cloud.escape).astype(np.float32)
    return found


def edges_of_cloud(instance: Instance, full: bool) -> tuple[Array, dict[str, Array]]:
    """Ends (2, E) and columns of allocations (all to the first PM), traffic and links."""
    pairs, links = instance.array("traffic_pairs"), instance.array("latency_links")
    vms = instance.size
    hosts = np.stack([np.arange(vms), np.full(vms, vms)])
    ends = np.concatenate([hosts, pairs, links + vms], axis=1).astype(np.int64)
    counts = vms, pairs.shape[1], links.shape[1]
    return ends, {
        "kind": np.repeat(np.arange(3, dtype=np.int8), counts),
        "traffic": _on_edges(instance.array("traffic"), counts, TRAFFIC, full),
        "latency": _on_edges(instance.array("latencies"), counts, LATENCY, full),
    }


def _stacked(vms: Array, pms: Array) -> Array:
    """A node column from its VM rows and its PM rows."""
    return np.concatenate([vms, pms]).astype(np.float32)


def _on_edges(values: Array, counts: tuple[int, int, int], kind: int, relative: bool) -> Array:
    """Values of one kind of edges, over their mean where `relative`; 0 on the others."""
    column = np.zeros(sum(counts), dtype=np.float32)
    begin = sum(counts[:kind])
    unit = (float(values.mean()) or 1.0) if relative and len(values) else 1.0
    column[begin : begin + counts[kind]] = values / unit
    return column
