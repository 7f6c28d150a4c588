"""Link states of a network, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array

#: a link counts as hot from this share of the largest utilisation on
HOT = 0.9
#: how much small gains are stretched
_SHARP = 20.0
_STRETCH = float(np.arcsinh(_SHARP))


class LinkColumns(NamedTuple):
    """Columns of links and of nodes that follow from the loads, with `full` features.

    Attributes:
        utilisation: (E,) of the busier direction over the largest of all
        return_utilisation: (E,) of the other direction
        peak: (n,) of the node's busiest link
        hot: (n,) whether that one is hot
    """

    utilisation: Array
    return_utilisation: Array
    peak: Array
    hot: Array


@njit(cache=True)
def largest_utilisation(loads, capacities):  # type: ignore[no-untyped-def]
    """Largest load over capacity of any arc."""
    largest = 0.0
    for arc in range(loads.shape[0]):
        largest = max(largest, loads[arc] / capacities[arc])
    return largest


@njit(cache=True)
def fullest_arc(loads, inverse):  # type: ignore[no-untyped-def]
    """Arc of the largest utilisation; inverse: 1 / capacities."""
    fullest, largest = 0, -1.0
    for arc in range(loads.shape[0]):
        use = loads[arc] * inverse[arc]
        if use > largest:
            fullest, largest = arc, use
    return fullest


@njit(cache=True)
def plain_link_state(loads, capacities, load, utilisation):  # type: ignore[no-untyped-def]
    """Load and utilisation of the busier direction of every link, in the instance's units."""
    for e in range(load.shape[0]):
        there, back = loads[2 * e] / capacities[2 * e], loads[2 * e + 1] / capacities[2 * e + 1]
        load[e] = max(loads[2 * e], loads[2 * e + 1])
        utilisation[e] = max(there, back)


@njit(cache=True)
def relative_link_state(network, loads, largest, columns):  # type: ignore[no-untyped-def]
    """Utilisations over the largest one; per node its busiest link and whether that one is hot."""
    capacities, edges = network.capacities, network.edges
    utilisation, return_utilisation, peak, hot = columns
    unit = 1.0 / largest if largest > 0.0 else 0.0
    for v in range(peak.shape[0]):
        peak[v] = 0.0
    for e in range(utilisation.shape[0]):
        there = loads[2 * e] * (unit / capacities[2 * e])
        return_arc = 2 * e + 1
        if network.directed:  # of the link that leads back, if there is one
            return_arc = network.arc_of[edges[1, e], edges[0, e]]
        back = loads[return_arc] * (unit / capacities[return_arc]) if return_arc >= 0 else 0.0
        busier = min(np.float32(1.0), np.float32(max(there, back)))
        other = min(np.float32(1.0), np.float32(min(there, back)))
        own_first = network.directed and there < back
        utilisation[e] = other if own_first else busier
        return_utilisation[e] = busier if own_first else other
        for end in range(2):
            v = edges[end, e]
            peak[v] = max(peak[v], busier)
    for v in range(peak.shape[0]):
        hot[v] = 1 if peak[v] >= HOT else 0


@njit(cache=True)
def marginal_costs(loads, capacities, largest, marginal):  # type: ignore[no-untyped-def]
    """What a unit more on each arc (2 E,) adds to the sum of the 8th powers of utilisations over
    the largest one, over 8; return that sum.
    """
    unit = 1.0 / largest if largest > 0.0 else 0.0
    total = 0.0
    for arc in range(loads.shape[0]):
        scale = unit / capacities[arc]
        use = loads[arc] * scale
        power = use * use
        power = power * power * power * use
        marginal[arc] = power * scale
        total += power * use
    return total


@njit(cache=True)
def level_of(largest, total):  # type: ignore[no-untyped-def]
    """Geometric mean of the largest utilisation and of the 8-norm of all, from `marginal_costs`."""
    return largest * total**0.0625


@njit(cache=True)
def measure(loads, capacities):  # type: ignore[no-untyped-def]
    """Largest utilisation, the 8-norm of all, and the fullest arc."""
    largest, fullest = 0.0, 0
    for arc in range(loads.shape[0]):
        use = loads[arc] / capacities[arc]
        if use > largest:
            largest, fullest = use, arc
    if largest == 0.0:
        return 0.0, 0.0, 0
    total = 0.0
    for arc in range(loads.shape[0]):
        total += eighth_power(loads[arc] / (capacities[arc] * largest))
    return largest, largest * total**0.125, fullest


@njit(cache=True)
def eighth_power(use):  # type: ignore[no-untyped-def]
    """The 8th power of a number."""
    use *= use
    use *= use
    return use * use


@njit(cache=True)
def smooth_utilisation(loads, capacities):  # type: ignore[no-untyped-def]
    """The 16-norm of all utilisations: close to the largest, and moved by the next ones too."""
    total = 0.0
    for arc in range(loads.shape[0]):
        total += sixteenth_power(loads[arc], capacities[arc])
    return total ** (1.0 / 16.0) if total > 0.0 else 0.0


@njit(cache=True)
def sixteenth_power(load, capacity):  # type: ignore[no-untyped-def]
    """The 16th power of a utilisation."""
    power = eighth_power(load / capacity)
    return power * power


@njit(cache=True)
def top_uses(loads, inverse, directed):  # type: ignore[no-untyped-def]
    """Utilisation of the second and of the fourth fullest link; inverse: 1 / capacities."""
    top = np.zeros(4)
    for e in range(loads.shape[0] // 2):
        use = loads[2 * e] * inverse[2 * e]
        if not directed:
            use = max(use, loads[2 * e + 1] * inverse[2 * e + 1])
        for place in range(4):
            if use > top[place]:
                use, top[place] = top[place], use
    return top[1], top[3]


@njit(cache=True)
def stretched(gain):  # type: ignore[no-untyped-def]
    """A relative gain mapped to -1 … 1, so that small ones differ clearly from none."""
    if gain == 0.0:  # as most are
        return gain
    return np.arcsinh(_SHARP * np.tanh(gain)) / _STRETCH
