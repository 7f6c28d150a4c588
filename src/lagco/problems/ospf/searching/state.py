"""Routes of all scenarios under one set of weights, compiled, brought up to date change by change.

A failed link is as long as no way is, so a scenario differs from another by the weights along its
arcs and by its volumes alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.core.scenarios import joins_by_mean, scenario_shares, variants
from lagco.core.scenarios.variants import has_scenarios
from lagco.errors import InstanceError
from lagco.instances import Instance
from lagco.problems.networks.kernels import eighth_power
from lagco.problems.networks.network import Network, failed_links, network_of
from lagco.problems.networks.search import copy_values
from lagco.problems.ospf.routing.resettling import resettle
from lagco.problems.ospf.routing.shortest_paths import (
    Queue,
    clear,
    grouped_demands,
    is_affected,
    settle,
    spread,
    star_of,
)

#: weight of a failed link: longer than any way
CUT = np.int64(1) << 34
#: numbers that the loads of all scenarios may take
_MOST = 60_000_000


class Scenarios(NamedTuple):
    """What differs between scenarios, and how they count.

    Attributes:
        network: all links, none of which has failed
        ecmp: whether flow splits evenly over all next hops
        first: (n + 1,) demands by destination
        sources: (D,)
        volumes: (S, D), 0 where nothing is demanded or can be carried
        failed: (S, E) bool
        shares: (S,)
        mean: whether the mean over scenarios counts instead of the worst
        places: (E, 2) where the arcs of a link stand among those that leave nodes, -1: nowhere
        back_places: (E, 2) and among those that reach them
        targets: destinations of any demand, the largest volume first
    """

    network: Network
    ecmp: bool
    first: Array
    sources: Array
    volumes: Array
    failed: Array
    shares: Array
    mean: bool
    places: Array
    back_places: Array
    targets: Array


class Routing(NamedTuple):
    """Routes under the present weights, per scenario, and scratch of the same for a trial.

    Attributes:
        steps: (S, A) weights along the arcs that leave nodes
        back: (S, A) and along those that reach them
        distance: (S, n, n), row t: from every node to destination t
        order: (S, n, n), row t: nodes by distance
        reached: (n,) from how many nodes links lead to each destination, itself among them
        parts: (S, n, 2 E), row t: loads of the demands to t
        loads: (S, 2 E)
        powers: (S,) sums of the 16th powers of utilisations
        largest: (S,) utilisation
        trial: distance, order (n, n) and parts (n, 2 E) of one scenario after changes
        touched: (n,) bool, which rows of `trial` are meant
        total: (2 E,) loads after changes
        scratch: of `resettle`: distance, order, nodes (n,) and flags (n,)
        flow: (n,) zeros
        tight: (n + 1,)
    """

    steps: Array
    back: Array
    distance: Array
    order: Array
    reached: Array
    parts: Array
    loads: Array
    powers: Array
    largest: Array
    trial: tuple[Array, Array, Array]
    touched: Array
    total: Array
    scratch: tuple[Array, Array, Array, Array]
    flow: Array
    tight: Array


def scenarios_of(instance: Instance) -> Scenarios:
    """The scenarios of an instance; one where it is plain.

    Raises:
        InstanceError: they are too many to be kept up to date together.
    """
    plain = {name: array for name, array in instance.arrays.items() if name != "failed"}
    whole = network_of(replace(instance, arrays=plain))
    links, arcs = whole.num_links, 2 * whole.num_links
    cases = variants(instance)
    if len(cases) * whole.num_nodes * arcs > _MOST:
        raise InstanceError(
            f"instance {instance.name!r}: {len(cases)} scenarios of {links} links are too many "
            "to be searched together; leave some out"
        )
    order = np.lexsort((whole.sources, whole.targets))
    volumes = np.empty((len(cases), whole.num_demands))
    failed = np.zeros((len(cases), links), dtype=np.bool_)
    for s, case in enumerate(cases):
        gone = failed_links(case)
        volumes[s] = case.array("volumes")[order]
        if gone is not None:
            failed[s] = gone
            volumes[s] = network_of(case).volumes[order]
    demands = grouped_demands(whole)
    sums = np.zeros(whole.num_nodes)
    np.add.at(sums, whole.targets[order], volumes.sum(axis=0))
    targets = np.argsort(-sums, kind="stable")[: np.count_nonzero(sums)]
    shares = scenario_shares(instance) if has_scenarios(instance) else np.ones(1)
    return Scenarios(
        whole,
        bool(instance.params.get("ecmp", True)),
        demands.first,
        demands.sources,
        volumes,
        failed,
        shares,
        has_scenarios(instance) and joins_by_mean(instance),
        _places(whole.arcs, links),
        _places(whole.back_arcs, links),
        targets,
    )


def _places(arcs: Array, links: int) -> Array:
    """Where the arcs of every link stand among others: (E, 2), -1 where they do not."""
    places = np.full(2 * links, -1, dtype=np.int64)
    places[arcs] = np.arange(len(arcs))
    return places.reshape(-1, 2)


def new_routing(scenarios: Scenarios) -> Routing:
    """Arrays of the right shapes."""
    network = scenarios.network
    s, n, arcs = len(scenarios.volumes), network.num_nodes, 2 * network.num_links
    tree = np.zeros((s, n, n), dtype=np.int64)
    row = np.zeros(n, dtype=np.int64)
    trial = np.zeros((n, n), dtype=np.int64), np.zeros((n, n), dtype=np.int64), np.zeros((n, arcs))
    steps = np.zeros((s, len(network.arcs)), dtype=np.int64)
    return Routing(
        steps,
        steps if not network.directed else steps.copy(),
        tree,
        tree.copy(),
        row.copy(),
        np.zeros((s, n, arcs)),
        np.zeros((s, arcs)),
        np.zeros(s),
        np.zeros(s),
        trial,
        np.zeros(n, dtype=np.bool_),
        np.zeros(arcs),
        (row, row.copy(), row.copy(), np.zeros(n, dtype=np.bool_)),
        np.zeros(n),
        np.zeros(n + 1, dtype=np.int64),
    )


def heap_of(network: Network) -> Queue:
    """Scratch of `settle` for weights of any size."""
    entries = np.empty((2, 2 * network.num_links + 1), dtype=np.int64)
    return Queue(np.full(1, -1, dtype=np.int64), entries)


@njit(cache=True)
def route_all(scenarios, routing, weights, queue):  # type: ignore[no-untyped-def]
    """Routes of all scenarios from scratch."""
    network = scenarios.network
    n = network.num_nodes
    for s in range(scenarios.volumes.shape[0]):
        for e in range(weights.shape[0]):
            _set_steps(scenarios, routing, s, e, weights[e])
        for t in scenarios.targets:
            routing.reached[t] = settle(
                t, network.back_first, network.tails, routing.back[s], queue,
                routing.distance[s, t], routing.order[s, t],
            )  # fmt: skip
    load(scenarios, routing, scenarios.targets)
    for v in range(n):
        routing.touched[v] = False


@njit(cache=True)
def load(scenarios, routing, targets):  # type: ignore[no-untyped-def]
    """Loads of all scenarios where the demands to some targets are others, routes as they are."""
    for s in range(scenarios.volumes.shape[0]):
        for t in targets:
            tree = routing.distance[s, t], routing.order[s, t]
            _load(scenarios, routing, s, t, tree, routing.parts[s, t])
        clear(routing.loads[s])
        for t in scenarios.targets:
            for arc in range(routing.loads.shape[1]):
                routing.loads[s, arc] += routing.parts[s, t, arc]
        power, largest = _measured(routing.loads[s], scenarios.network.capacities)
        routing.powers[s], routing.largest[s] = power, largest


@njit(cache=True)
def _set_steps(scenarios, routing, s, link, weight):  # type: ignore[no-untyped-def]
    """Weight of a link along its arcs in a scenario."""
    step = CUT if scenarios.failed[s, link] else weight
    for side in range(2):
        if scenarios.places[link, side] >= 0:
            routing.steps[s, scenarios.places[link, side]] = step
        if scenarios.back_places[link, side] >= 0:
            routing.back[s, scenarios.back_places[link, side]] = step


@njit(cache=True)
def _load(scenarios, routing, s, target, tree, part):  # type: ignore[no-untyped-def]
    """Loads of the demands to a destination in a scenario, to `part` (2 E,)."""
    first, sources, volumes = scenarios.first, scenarios.sources, scenarios.volumes
    clear(part)
    for d in range(first[target], first[target + 1]):
        routing.flow[sources[d]] += volumes[s, d]
    spread(
        routing.reached[target] - 1, star_of(scenarios.network), routing.steps[s], scenarios.ecmp,
        tree, routing.flow, routing.tight, part,
    )  # fmt: skip


@njit(cache=True)
def _measured(loads, capacities):  # type: ignore[no-untyped-def]
    """Sum of the 16th powers of utilisations, and the largest."""
    total, largest = 0.0, 0.0
    for arc in range(loads.shape[0]):
        use = loads[arc] / capacities[arc]
        largest = max(largest, use)
        power = eighth_power(use)
        total += power * power
    return total, largest


@njit(cache=True)
def change(scenarios, routing, s, weights, links, news, commit):  # type: ignore[no-untyped-def]
    """Sum of powers and largest utilisation of a scenario after changes of weights.

    weights: before them. links, news: what changes, in turn. commit: whether they stay.
    """
    network, directed = scenarios.network, scenarios.network.directed
    edges = network.edges
    distance, order, parts = routing.distance[s], routing.order[s], routing.parts[s]
    trial_distance, trial_order, trial_parts = routing.trial
    row, row_order, moved, is_moved = routing.scratch
    touched, any_touched = routing.touched, False
    ways = (
        network.first, network.heads, routing.steps[s],
        network.back_first, network.tails, routing.back[s],
    )  # fmt: skip
    for i in range(links.shape[0]):
        e, new, old = links[i], news[i], weights[links[i]]
        if scenarios.failed[s, e] or new == old:
            continue
        _set_steps(scenarios, routing, s, e, new)
        u, v = edges[0, e], edges[1, e]
        for t in scenarios.targets:
            far = trial_distance[t] if touched[t] else distance[t]
            near = trial_order[t] if touched[t] else order[t]
            if not is_affected(far, u, v, old, new, directed):
                continue
            if resettle(
                (u, v, new, old, directed), ways, (far, near), routing.reached[t],
                (row, row_order), (moved, is_moved),
            ):  # fmt: skip
                copy_values(trial_distance[t], row)
                copy_values(trial_order[t], row_order)
            elif not touched[t]:
                copy_values(trial_distance[t], far)
                copy_values(trial_order[t], near)
            touched[t] = True
            any_touched = True
    power, largest = routing.powers[s], routing.largest[s]
    if any_touched:
        copy_values(routing.total, routing.loads[s])
        for t in scenarios.targets:
            if touched[t]:
                tree = trial_distance[t], trial_order[t]
                _load(scenarios, routing, s, t, tree, trial_parts[t])
                for arc in range(routing.total.shape[0]):
                    routing.total[arc] += trial_parts[t, arc] - parts[t, arc]
        power, largest = _measured(routing.total, network.capacities)
    if commit and any_touched:
        copy_values(routing.loads[s], routing.total)
        routing.powers[s], routing.largest[s] = power, largest
    for t in scenarios.targets:
        if touched[t] and commit:
            copy_values(distance[t], trial_distance[t])
            copy_values(order[t], trial_order[t])
            copy_values(parts[t], trial_parts[t])
        touched[t] = False
    if not commit:
        for i in range(links.shape[0]):
            _set_steps(scenarios, routing, s, links[i], weights[links[i]])
    return power, largest


@njit(cache=True)
def follow(scenarios, routing, weights, wanted):  # type: ignore[no-untyped-def]
    """Bring routes, and the `weights` that they are of, to others."""
    links = np.flatnonzero(weights != wanted)
    if links.shape[0] > 0:
        news = wanted[links]
        for s in range(routing.powers.shape[0]):
            change(scenarios, routing, s, weights, links, news, True)
        copy_values(weights, wanted)


@njit(cache=True)
def joint(scenarios, values):  # type: ignore[no-untyped-def]
    """The worst, or the mean, of the values (S,) of scenarios."""
    if scenarios.mean:
        return (scenarios.shares * values).sum()
    return values.max()
