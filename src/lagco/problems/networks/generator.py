"""Random networks with demands, over the paper's ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances import Instance, SweepReference
from lagco.results.numbers import of_things

MIN_CAPACITY = (10, 100)
MAX_CAPACITY = (500, 1000)
MAX_TRAFFIC = (25, 50)
#: an instance is drawn again while (worst - best) / worst is below this
MIN_SPREAD = 0.05
_SMALLEST = 4
_ATTEMPTS = 1000


@dataclass(frozen=True)
class Ranges:
    """Ranges that differ between the two problems.

    Attributes:
        nodes: fewest and most nodes.
        link_ratio: links beyond the spanning tree over all pairs.
        demand_ratio: demands over all ordered pairs.
    """

    nodes: tuple[int, int]
    link_ratio: tuple[float, float]
    demand_ratio: tuple[float, float]


def draw_instance(
    problem: str,
    ranges: Ranges,
    rng: np.random.Generator,
    size: int | None,
    params: Mapping[str, Any],
    run_trial: Callable[[Instance, int], SweepReference],
) -> Instance:
    """A network of `size` nodes (drawn too where None) on which decisions matter.

    Args:
        problem: name of the problem; decides what counts as its size.
        ranges: of the problem.
        rng: source of everything random.
        size: number of nodes.
        params: further parameters of the problem.
        run_trial: a short sweep of an instance, from a seed; decides whether to draw again.
    """
    n = int(rng.integers(*ranges.nodes, endpoint=True)) if size is None else size
    if n < _SMALLEST:
        raise InstanceError(f"{problem}: size {n} is too small, give at least {_SMALLEST} nodes")
    for _ in range(_ATTEMPTS):
        instance = _draw_network(problem, ranges, rng, n, params)
        found = run_trial(instance, int(rng.integers(2**32)))
        if found.worst - found.best >= MIN_SPREAD * found.worst:
            return instance
    raise InstanceError(
        f"{problem}: in {_ATTEMPTS} networks of {of_things(n, 'nodes')} routing made no "
        "difference; give a larger size"
    )


def _draw_network(
    problem: str, ranges: Ranges, rng: np.random.Generator, n: int, params: Mapping[str, Any]
) -> Instance:
    link_ratio = float(rng.uniform(*ranges.link_ratio))
    demand_ratio = float(rng.uniform(*ranges.demand_ratio))
    low = int(rng.integers(*MIN_CAPACITY, endpoint=True))
    high = int(rng.integers(*MAX_CAPACITY, endpoint=True))
    most = int(rng.integers(*MAX_TRAFFIC, endpoint=True))
    edges = draw_links(rng, n, round(link_ratio * n * (n - 1) / 2))
    demands = draw_demands(rng, n, max(1, round(demand_ratio * n * (n - 1))))
    capacities: Array = rng.uniform(low, high, size=(edges.shape[1],))
    volumes: Array = rng.uniform(1.0, most, size=(demands.shape[1],))
    return Instance(
        problem=problem,
        name="",
        size=int((edges if problem == "ospf" else demands).shape[1]),
        arrays={
            "edges": edges.astype(np.int32),
            "capacities": capacities,
            "demands": demands.astype(np.int32),
            "volumes": volumes,
        },
        params={
            "nodes": n,
            "communication_edge_ratio": link_ratio,
            "non_zero_traffic_ratio": demand_ratio,
            "min_capacity": low,
            "max_capacity": high,
            "max_traffic": most,
            **params,
        },
    )


def draw_links(rng: np.random.Generator, n: int, extra: int) -> Array:
    """A uniformly random spanning tree and `extra` further links (as far as there are pairs)."""
    tree = draw_tree(rng, n)
    taken = np.zeros((n, n), dtype=bool)
    taken[tree[0], tree[1]] = True
    u, v = np.triu_indices(n, k=1)
    left = np.flatnonzero(~taken[u, v])
    chosen = rng.choice(left, size=min(extra, len(left)), replace=False)
    edges = np.concatenate([tree, np.stack([u[chosen], v[chosen]])], axis=1)
    return np.asarray(edges[:, np.lexsort((edges[1], edges[0]))])


def draw_tree(rng: np.random.Generator, n: int) -> Array:
    """A tree uniform over all labelled trees, from its Prüfer sequence: (2, n - 1), u < v."""
    sequence = rng.integers(n, size=max(n - 2, 0))
    degree = np.bincount(sequence, minlength=n) + 1
    edges = np.empty((2, n - 1), dtype=np.int64)
    lowest = leaf = int(np.argmax(degree == 1))
    for k, v in enumerate(sequence.tolist()):
        edges[:, k] = leaf, v
        degree[v] -= 1
        if degree[v] == 1 and v < lowest:
            leaf = v
        else:
            lowest += 1
            while degree[lowest] != 1:
                lowest += 1
            leaf = lowest
    edges[:, n - 2] = leaf, n - 1
    return np.sort(edges, axis=0)


def draw_demands(rng: np.random.Generator, n: int, count: int) -> Array:
    """`count` different ordered pairs of nodes, sorted."""
    codes = np.sort(rng.choice(n * (n - 1), size=min(count, n * (n - 1)), replace=False))
    source, target = np.divmod(codes, n - 1)
    return np.stack([source, target + (target >= source)])
