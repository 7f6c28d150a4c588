"""Link states of a network, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

#: a link counts as hot from this share of the largest utilisation on
HOT = 0.9


@njit(cache=True)
def largest_utilisation(loads, capacities):  # type: ignore[no-untyped-def]
    """Largest load over capacity of any arc."""
    largest = 0.0
    for e in range(capacities.shape[0]):
        largest = max(largest, max(loads[2 * e], loads[2 * e + 1]) / capacities[e])
    return largest


@njit(cache=True)
def fullest_arc(loads, inverse):  # type: ignore[no-untyped-def]
    """Arc of the largest utilisation; inverse: 1 / capacities."""
    fullest, largest = 0, -1.0
    for arc in range(loads.shape[0]):
        use = loads[arc] * inverse[arc >> 1]
        if use > largest:
            fullest, largest = arc, use
    return fullest


@njit(cache=True)
def plain_link_state(loads, capacities, load, utilisation):  # type: ignore[no-untyped-def]
    """Load and utilisation of the busier direction of every link, in the instance's units."""
    for e in range(capacities.shape[0]):
        busier = max(loads[2 * e], loads[2 * e + 1])
        load[e] = busier
        utilisation[e] = busier / capacities[e]


@njit(cache=True)
def relative_link_state(  # type: ignore[no-untyped-def]
    loads, capacities, edges, largest, utilisation, return_utilisation, peak, hot
):
    """Utilisations over the largest one; per node its busiest link and whether that one is hot."""
    unit = 1.0 / largest if largest > 0.0 else 0.0
    for v in range(peak.shape[0]):
        peak[v] = 0.0
    for e in range(capacities.shape[0]):
        there, back = loads[2 * e], loads[2 * e + 1]
        scale = unit / capacities[e]
        busier = min(np.float32(1.0), np.float32(max(there, back) * scale))
        utilisation[e] = busier
        return_utilisation[e] = min(np.float32(1.0), np.float32(min(there, back) * scale))
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
        scale = unit / capacities[arc >> 1]
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
        use = loads[arc] / capacities[arc >> 1]
        if use > largest:
            largest, fullest = use, arc
    if largest == 0.0:
        return 0.0, 0.0, 0
    total = 0.0
    for arc in range(loads.shape[0]):
        total += eighth_power(loads[arc] / (capacities[arc >> 1] * largest))
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
    for e in range(capacities.shape[0]):
        for arc in range(2 * e, 2 * e + 2):
            total += sixteenth_power(loads[arc], capacities[e])
    return total ** (1.0 / 16.0) if total > 0.0 else 0.0


@njit(cache=True)
def sixteenth_power(load, capacity):  # type: ignore[no-untyped-def]
    """The 16th power of a utilisation."""
    power = eighth_power(load / capacity)
    return power * power
