"""All that follows from a changed weight in `ospf`, compiled: one call from weights to columns."""

from __future__ import annotations

from numba import njit

from lagco.problems.networks.kernels import measure, plain_link_state, relative_link_state
from lagco.problems.ospf.foresight import foresee
from lagco.problems.ospf.kernels import demand_shares
from lagco.problems.ospf.routing.shortest_paths import route
from lagco.runtime.bound_arguments import opened


@njit(cache=True)
def reroute(arguments, link, old):  # type: ignore[no-untyped-def]
    """Routes, loads and the columns of `paper` features, as `Routes` and the problem name them.

    Args:
        arguments: bound; see the problem.
        link: whose weight was changed, and the weight that it had; -1 for any change.

    Returns:
        What `measure` finds, and 0.
    """
    setting, weights, routes, (load, utilisation, weight) = opened(arguments)
    capacities = setting.network.capacities
    route(setting, weights, link, old, routes)
    plain_link_state(routes.loads, capacities, load, utilisation)
    for e in range(weights.shape[0]):
        weight[e] = weights[e]
    return measure(routes.loads, capacities), 0.0


@njit(cache=True)
def reroute_and_foresee(arguments, link, old):  # type: ignore[no-untyped-def]
    """The same with the columns of `full` features, and the level of the network."""
    setting, weights, routes, links, (weight, room, shares, ahead) = opened(arguments)
    network, loads = setting.network, routes.loads
    low, high = setting.low, setting.high
    route(setting, weights, link, old, routes)
    measures = measure(loads, network.capacities)
    largest, _, fullest = measures
    relative_link_state(network, loads, largest, links)
    demand_shares(loads, routes.shares, shares)
    level = foresee(setting, weights, routes, largest, fullest, ahead)
    unit = max(setting.span * setting.step, 1)
    for e in range(weights.shape[0]):
        weight[e] = min(1.0, (weights[e] - low) / unit)
        room[e] = min(1.0, (high - weights[e]) / unit)
    return measures, level
