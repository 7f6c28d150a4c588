"""All that follows from a changed weight in `ospf`, compiled: one call from weights to columns."""

from __future__ import annotations

from numba import njit

from lagco.bound_arguments import opened
from lagco.problems.networks.kernels import measure, plain_link_state, relative_link_state
from lagco.problems.ospf.foresight import foresee
from lagco.problems.ospf.kernels import demand_shares
from lagco.problems.ospf.routing import route


@njit(cache=True)
def reroute(arguments, link, old):  # type: ignore[no-untyped-def]
    """Routes, loads and the columns of `paper` features, as `Routes` and the problem name them.

    Args:
        arguments: bound; see the problem.
        link: whose weight was changed, and the weight that it had; -1 for any change.

    Returns:
        What `measure` finds, and 0.
    """
    graph, known, weights, routes, scratch, columns = opened(arguments)
    capacities, demands, ecmp, _, _ = known
    load, utilisation, weight = columns
    route(*graph, weights, ecmp, demands, link, old, routes, *scratch)  # type: ignore[call-arg]
    plain_link_state(routes.loads, capacities, load, utilisation)
    for e in range(weights.shape[0]):
        weight[e] = weights[e]
    return measure(routes.loads, capacities), 0.0


@njit(cache=True)
def reroute_and_foresee(arguments, link, old):  # type: ignore[no-untyped-def]
    """The same with the columns of `full` features, and the level of the network."""
    (
        graph, known, weights, routes, scratch, columns,
        return_utilisation, peak, hot, room, shares, ahead,
    ) = opened(arguments)  # fmt: skip
    first, heads, arcs, edges = graph
    capacities, demands, ecmp, low, high = known
    _, utilisation, weight = columns
    loads = routes.loads
    route(*graph, weights, ecmp, demands, link, old, routes, *scratch)  # type: ignore[call-arg]
    measures = measure(loads, capacities)
    largest, _, fullest = measures
    relative_link_state(
        loads, capacities, edges, largest, utilisation, return_utilisation, peak, hot
    )
    demand_shares(loads, routes.shares, shares)
    level = foresee(
        first, heads, arcs, weights, ecmp, demands, capacities, routes, largest, fullest, low, high,
        ahead,
    )  # fmt: skip
    unit = max(high - low, 1)
    for e in range(weights.shape[0]):
        weight[e] = (weights[e] - low) / unit
        room[e] = (high - weights[e]) / unit
    return measures, level
