"""Bounds on the largest link utilisation: multi-commodity-flow linear programmes.

Flow may be split at will, so no routing, with or without ECMP, can do better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.instances import SolverReference
from lagco.instances.instance import Status
from lagco.problems.networks.core import core_of
from lagco.problems.networks.network import Network, heads_of, tails_of

#: a value meets a bound up to this relative difference
MEETS = 1e-6
_OUT_OF_TIME = 1  # scipy's word for it
#: what a programme takes at least, times the square of capacities x variables
_SECONDS = 1e-13


def annealed(value: float, bound: float | None, solution: Array) -> SolverReference:
    """Result of annealing: optimal where it meets the bound, else best-known."""
    if bound is None:
        return SolverReference(value, "best-known", "annealing", solution)
    status: Status = "optimal" if value <= bound * (1.0 + MEETS) else "best-known"
    return SolverReference(value, status, f"annealing (flow bound {bound:.6g})", solution)


def flow_bound(network: Network, seconds: float | None = None) -> float | None:
    """Least largest utilisation when every demand may be split over all ways.

    None if it is not found within that time.

    One commodity per destination of the core, so there are (destinations x arcs + 1) variables.
    """
    if not network.volumes.any():
        return 0.0
    core = core_of(network)
    if core.network is None:
        return core.floor
    found = _core_bound(core.network, seconds)
    return None if found is None else max(found[0], core.floor)


def _core_bound(network: Network, seconds: float | None) -> tuple[float, Array] | None:
    from scipy import sparse

    n, arcs = network.num_nodes, len(network.arcs)
    there = np.sort(network.arcs)
    tails, heads = tails_of(network.edges, there), heads_of(network.edges, there)
    targets = np.unique(network.targets)
    amount = np.zeros((n, n))
    np.add.at(amount, (network.targets, network.sources), _relative_volumes(network))
    column = np.arange(arcs)
    leave = sparse.csr_array((np.ones(arcs), (tails, column)), shape=(n, arcs))
    enter = sparse.csr_array((np.ones(arcs), (heads, column)), shape=(n, arcs))
    balance = (leave - enter).tocsr()
    rows, supply = [], []
    for target in targets:
        kept = np.arange(n) != target
        rows.append(balance[kept])
        supply.append(amount[target, kept])
    conserve = sparse.hstack(
        [sparse.block_diag(rows), sparse.csr_array((len(targets) * (n - 1), 1))]
    )
    carried = sparse.hstack([sparse.eye_array(arcs)] * len(targets))
    capacities, supplies = network.capacities[there], np.concatenate(supply)
    return _least_utilisation(network, capacities, carried, conserve, supplies, seconds)


def path_bound(
    network: Network, rows: Array, seconds: float | None = None
) -> tuple[float, Array] | None:
    """Least largest utilisation when every demand may be split over the paths listed for it.

    With the share of the demand that each path (N,) carries.

    Args:
        network: the network.
        rows: (N, 1 + T) demand and path as node ids, padded with n.
        seconds: None is returned where they do not suffice.
    """
    from scipy import sparse

    if not network.volumes.any():
        return 0.0, np.ones(len(rows))
    n, arc_of = network.num_nodes, network.arc_of
    demand, paths = rows[:, 0], rows[:, 1:]
    there = paths[:, 1:] < n
    path_of = np.broadcast_to(np.arange(len(rows))[:, None], there.shape)[there]
    arcs = arc_of[paths[:, :-1][there], paths[:, 1:][there]]
    shape = (2 * network.num_links, len(rows))
    carried = sparse.csr_array(
        (_relative_volumes(network)[demand[path_of]], (arcs, path_of)), shape=shape
    )
    shape = (network.num_demands, len(rows))
    once = sparse.csr_array((np.ones(len(rows)), (demand, np.arange(len(rows)))), shape=shape)
    conserve = sparse.hstack([once, sparse.csr_array((network.num_demands, 1))])
    capacities, supplies = network.capacities, np.zeros(network.num_demands)
    supplies[demand] = 1.0  # what failures cut off has no path
    return _least_utilisation(network, capacities, carried, conserve, supplies, seconds)


def _least_utilisation(
    network: Network,
    capacities: Array,
    carried: Any,
    conserve: Any,
    supply: Array,
    seconds: float | None,
) -> tuple[float, Array] | None:
    """Least u such that carried @ flow <= u x capacities and conserve @ (flow, u) = supply.

    With the flow; None where it would take longer than `seconds`.

    Volumes are over the largest one and so are capacities: solvers work with absolute tolerances.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    work = float(carried.shape[0] * carried.shape[1])
    if seconds is not None and _SECONDS * work**2 > seconds:  # it would be in vain
        return None
    largest = network.capacities.max()
    capacities = capacities / largest
    limit = sparse.hstack([carried, sparse.csr_array(-capacities[:, None])])
    cost = np.zeros(limit.shape[1])
    cost[-1] = 1.0
    found: Any = linprog(
        cost,
        A_ub=limit.tocsr(),
        b_ub=np.zeros(len(capacities)),
        A_eq=conserve.tocsr(),
        b_eq=supply,
        method="highs",
        options={} if seconds is None else {"time_limit": seconds},
    )
    if found.status == _OUT_OF_TIME and seconds is not None:
        return None
    if found.status != 0:
        raise LagcoError(f"the flow bound was not found: {found.message}")
    return float(found.fun * network.volumes.max() / largest), found.x[:-1]


def _relative_volumes(network: Network) -> Array:
    found: Array = network.volumes / network.volumes.max()
    return found
