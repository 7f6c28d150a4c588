"""Flows through networks by HiGHS: the bound of all routings, and paths chosen from a few each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np
from answering import Arrays, Solver, answer
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

#: shortest paths among which HiGHS chooses for each demand
PATHS = 30


def flow_bound(instance: Arrays) -> Solver:
    """The least largest utilisation when every demand may be split over all ways.

    A commodity per source: what leaves a node less what enters it is what the node sends less what
    it receives of that commodity.
    """
    n, arcs, capacities = int(instance["nodes"]), instance["arcs"], instance["capacities"]
    (sources, targets), volumes = instance["demands"], instance["volumes"]
    count, kinds = arcs.shape[1], np.unique(sources)
    rows, columns = np.concatenate([arcs[0], arcs[1]]), np.tile(np.arange(count), 2)
    signs = np.repeat([1.0, -1.0], count)
    balance = sparse.csr_array((signs, (rows, columns)), shape=(n, count))
    supply = np.zeros((len(kinds), n))
    place = np.searchsorted(kinds, sources)
    np.add.at(supply, (place, sources), volumes)
    np.add.at(supply, (place, targets), -volumes)
    conserve = sparse.block_diag([balance] * len(kinds))
    conserve = sparse.hstack([conserve, sparse.csr_array((len(kinds) * n, 1))]).tocsr()
    carried = sparse.hstack([sparse.eye_array(count)] * len(kinds))
    scale = capacities.max()
    limit = sparse.hstack([carried, sparse.csr_array(-capacities[:, None] / scale)]).tocsr()
    cost = np.zeros(limit.shape[1])
    cost[-1] = 1.0

    def solve(_: float) -> dict[str, Any]:
        unit = volumes.max()
        found = linprog(
            cost,
            A_ub=limit,
            b_ub=np.zeros(count),
            A_eq=conserve,
            b_eq=supply.ravel() / unit,
            method="highs",
        )
        return {"bound": float(found.fun * unit / scale)} if found.status == 0 else {}

    return solve


def chosen_paths(instance: Arrays) -> Solver:
    """One of the paths with the fewest hops for every demand, by branch and bound.

    The paths and the matrices of the model are made before the time begins.
    """
    n, arcs, capacities = int(instance["nodes"]), instance["arcs"], instance["capacities"]
    volumes, unit = instance["volumes"], instance["volumes"].max()
    paths, demand_of, entries = [], [], []
    arc_of = {pair: k for k, pair in enumerate(map(tuple, arcs.T.tolist()))}
    for d, path in _paths(instance):
        for pair in pairwise(path):
            entries.append((arc_of[pair], len(paths), volumes[d] / unit))
        demand_of.append(d)
        paths.append(path)
    rows, columns, values = zip(*entries, strict=True)
    shape = (arcs.shape[1], len(paths))
    carried = sparse.csr_array((values, (rows, columns)), shape=shape)
    scale = capacities.max()
    limit = sparse.hstack([carried, sparse.csr_array(-capacities[:, None] / scale)])
    once = sparse.csr_array(
        (np.ones(len(paths)), (demand_of, np.arange(len(paths)))), shape=(len(volumes), len(paths))
    )
    once = sparse.hstack([once, sparse.csr_array((len(volumes), 1))])

    def solve(seconds: float) -> dict[str, Any]:
        found = milp(
            np.concatenate([np.zeros(len(paths)), [1.0]]),
            integrality=np.concatenate([np.ones(len(paths)), [0]]),
            bounds=Bounds(0.0, np.concatenate([np.ones(len(paths)), [np.inf]])),
            constraints=[
                LinearConstraint(limit.tocsr(), -np.inf, 0.0),
                LinearConstraint(once.tocsr(), 1.0, 1.0),
            ],
            options={"time_limit": seconds},
        )
        if found.x is None:
            return {}
        taken = {demand_of[k]: paths[k] for k in np.flatnonzero(found.x[:-1] > 0.5)}
        width = max(map(len, taken.values()))
        padded = [taken[d] + [n] * (width - len(taken[d])) for d in range(len(volumes))]
        return {"solution": padded}

    return solve


def _paths(instance: Arrays) -> Iterator[tuple[int, list[int]]]:
    """Demands and their paths, by the number of hops."""
    import networkx

    graph = networkx.DiGraph(map(tuple, instance["arcs"].T.tolist()))
    for d, (source, target) in enumerate(instance["demands"].T.tolist()):
        most = int(instance["hops"][d])
        for path in islice(networkx.shortest_simple_paths(graph, source, target), PATHS):
            if len(path) - 1 <= most:
                yield d, path


if __name__ == "__main__":
    answer({"flow LP (bound)": flow_bound, "HiGHS on paths": chosen_paths})
